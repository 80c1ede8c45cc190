package web

import (
	"strings"
	"testing"
	"testing/fstest"

	"agegate/internal/tenant"
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
	if a := shopper.get(link + "?lang=xx"); a.StatusCode != 200 {
		t.Errorf("unknown language: %d", a.StatusCode)
	}
}
