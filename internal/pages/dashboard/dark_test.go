package dashboard_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

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
