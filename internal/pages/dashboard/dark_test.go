package dashboard_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/rules/brand"
	"agegate/templates"
)

// TestDarkThemeIsColours: the browser's tests let axe judge a dark page by its colours
// alone, after it has judged all of the light one.
func TestDarkThemeIsColours(t *testing.T) {
	declaration := regexp.MustCompile(`([\w-]+)\s*:\s*([^;{}]+);`)
	dark, seen := regexp.MustCompile(`prefers-color-scheme: dark\) \{((?:[^{}]*\{[^{}]*\})*)\s*\}`), 0
	for _, files := range []fs.FS{templates.Dashboard(), templates.ReferenceStatic(), templates.SharedStatic()} {
		err := fs.WalkDir(files, ".", func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".css") {
				return err
			}
			sheet, err := fs.ReadFile(files, path)
			if err != nil {
				return err
			}
			blocks := dark.FindAllSubmatch(sheet, -1)
			if n := strings.Count(string(sheet), "prefers-color-scheme"); n != len(blocks) {
				t.Errorf("%s: %d of %d themes can be read", path, len(blocks), n)
			}
			for _, block := range blocks {
				for _, d := range declaration.FindAllSubmatch(block[1], -1) {
					seen++
					property, value := string(d[1]), string(d[2])
					if property != "fill" && !strings.HasPrefix(property, "--") ||
						!strings.HasPrefix(value, "#") && property != "--shadow" {
						t.Errorf("%s: the dark theme sets %s: %s", path, property, value)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen == 0 {
		t.Error("no dark theme was found")
	}
}

// TestTintsStandOutAlike: notes, notices and badges stand out from the page as much in the
// dark theme as in the light one, whatever they say.
func TestTintsStandOutAlike(t *testing.T) {
	shared, err := fs.ReadFile(templates.SharedStatic(), "tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	own, err := fs.ReadFile(templates.Dashboard(), "static/dashboard.css")
	if err != nil {
		t.Fatal(err)
	}
	sheets := string(shared) + string(own)
	const dark = "@media (prefers-color-scheme: dark) {\n  :root {"
	tint := regexp.MustCompile(`--(surface|test-ground|\w*-?tint): #(\w{6});`)
	for theme, blocks := range map[string]*regexp.Regexp{
		"light": regexp.MustCompile(`(?m)^:root \{[^}]*`), "dark": regexp.MustCompile(regexp.QuoteMeta(dark) + `[^}]*`),
	} {
		colours := map[string]brand.Colour{}
		for _, block := range blocks.FindAllString(sheets, -1) {
			for _, m := range tint.FindAllStringSubmatch(block, -1) {
				colours[m[1]] = brand.Colour(m[2])
			}
		}
		if len(colours) != 6 {
			t.Fatalf("%s: found %v", theme, colours)
		}
		surface := colours["surface"]
		delete(colours, "surface")
		for name, colour := range colours {
			if got := brand.Contrast(colour, surface); got < 1.17 || got > 1.23 {
				t.Errorf("%s: --%s has a contrast of %.2f to the page", theme, name, got)
			}
		}
	}
}
