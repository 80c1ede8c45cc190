package shopper

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/tenant"
	"agegate/templates"
)

func TestLanguageIsChosen(t *testing.T) {
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(true)
	shopper := f.browser()
	for _, l := range f.pages.pages.Languages() {
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

// Every guidance and prompt that the camera check can send needs a text: the
// constants of these types in the source are the list.
func TestEveryGuidanceAndPromptHasAText(t *testing.T) {
	raw, err := fs.ReadFile(templates.Shopper(), "locales/en.json")
	must(t, err)
	var texts map[string]any
	must(t, json.Unmarshal(raw, &texts))
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
			if key := strings.ToLower(m[1]) + "." + m[2]; texts[key] == nil {
				t.Errorf("there is no text %q", key)
			}
		}
	}
	if known["Guidance"] < 10 || known["Prompt"] < 1 {
		t.Errorf("found only %v in the source", known)
	}
}
