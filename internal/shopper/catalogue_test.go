package shopper

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"agegate/internal/tenant"
	"agegate/templates"
)

func TestCatalogueRefusesWhatIsIncomplete(t *testing.T) {
	tests := map[string]string{
		"a missing key":          `{"a":"A {n}"}`,
		"an empty text":          `{"a":"A {n}","b":" "}`,
		"a key of its own":       `{"a":"A {n}","b":"B","c":"C"}`,
		"a missing placeholder":  `{"a":"A","b":"B"}`,
		"a mistyped placeholder": `{"a":"A {m}","b":"B"}`,
		"no JSON":                `{`,
	}
	for name, de := range tests {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{
				"locales/en.json": {Data: []byte(`{"a":"a {n}","b":"b"}`)},
				"locales/de.json": {Data: []byte(de)},
			}
			if _, err := loadCatalogue(files); err == nil {
				t.Error("no error")
			}
		})
	}
	if _, err := loadCatalogue(fstest.MapFS{"locales/de.json": {Data: []byte(`{}`)}}); err == nil {
		t.Error("a catalogue without the reference")
	}
}

func TestTemplatesMayNotNameUnknownTexts(t *testing.T) {
	c, err := loadCatalogue(fstest.MapFS{"locales/en.json": {Data: []byte(`{"known":"text"}`)}})
	must(t, err)
	for _, page := range []string{`{{t "nope"}}`, `{{if .X}}{{t "nope"}}{{end}}`, `{{range .X}}{{else}}{{print (t "nope" "a" 1)}}{{end}}`, `{{with t "nope"}}{{end}}`} {
		files := fstest.MapFS{"layout.html": {Data: []byte(`{{t "known"}}`)}, "page.html": {Data: []byte(page)}}
		if _, err := parseScreens(files, c); err == nil || !strings.Contains(err.Error(), "nope") {
			t.Errorf("%s: %v", page, err)
		}
	}
}

func TestLanguageFollowsTheBrowser(t *testing.T) {
	c, err := loadCatalogue(templates.Shopper())
	must(t, err)
	for header, want := range map[string]string{
		"":                          "en",
		"fr-CH, fr;q=0.9, en;q=0.8": "fr",
		"sv, de;q=0.5":              "de",
		"pt-BR":                     "pt",
		"zh-CN":                     "zh-Hans",
		"ar-EG":                     "ar",
		"en-GB, es;q=0.9":           "en",
		"sw":                        "en",
		"not a header; q=":          "en",
		"ja":                        "ja",
		"nl-BE":                     "nl",
		"pl":                        "pl",
		"it-CH":                     "it",
		"tr":                        "tr",
		"es-419, en;q=0.5":          "es",
	} {
		if got := c.match(header).Tag; got != want {
			t.Errorf("%q gives %s, want %s", header, got, want)
		}
	}
}

func TestLanguageIsChosen(t *testing.T) {
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(true)
	shopper := f.browser()
	for _, l := range f.pages.catalogue.locales {
		a := shopper.get(link + "?lang=" + l.Tag)
		if !strings.Contains(a.body, `<html lang="`+l.Tag+`" dir="`+l.Dir+`">`) {
			t.Errorf("%s was not chosen", l.Tag)
		}
		if again := shopper.get(link); again.Header.Get("Content-Language") != l.Tag {
			t.Errorf("%s was not remembered", l.Tag)
		}
	}
	if a := shopper.get(link + "?lang=xx"); a.StatusCode != http.StatusOK {
		t.Errorf("unknown language: %d", a.StatusCode)
	}
}

// Every word the camera check can answer with must have its text in the
// catalogues: the constants of the types in the source are the list.
func TestEveryGuidanceAndPromptHasAText(t *testing.T) {
	c, err := loadCatalogue(templates.Shopper())
	must(t, err)
	var sources []string
	for _, room := range []string{"vision", "liveness"} {
		files, err := filepath.Glob("../" + room + "/*.go")
		must(t, err)
		sources = append(sources, files...)
	}
	constant := regexp.MustCompile(`(?m)^\s*(?:const )?(Guidance|Prompt)\w+\s+(?:Guidance|Prompt)\s*=\s*"(\w+)"`)
	known := map[string]int{}
	for _, source := range sources {
		code, err := os.ReadFile(source)
		must(t, err)
		for _, m := range constant.FindAllStringSubmatch(string(code), -1) {
			known[m[1]]++
			if _, err := c.locales[0].text(strings.ToLower(m[1]) + "." + m[2]); err != nil {
				t.Error(err)
			}
		}
	}
	if known["Guidance"] < 10 || known["Prompt"] < 1 {
		t.Errorf("found only %v in the source", known)
	}
}
