package reference_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"agegate"
	"agegate/templates"
)

// labelsOf returns the texts in a language of the dashboard and of the shopper's page.
func labelsOf(t *testing.T, language string) map[string]bool {
	t.Helper()
	labels := map[string]bool{}
	for _, in := range []struct {
		files   fs.FS
		pattern string
	}{
		{templates.Dashboard(), "locales/" + language + "/*.json"}, {templates.Shopper(), "locales/" + language + ".json"},
	} {
		names, err := fs.Glob(in.files, in.pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", path.Base(in.pattern), len(names), err)
		}
		for _, name := range names {
			texts := map[string]any{}
			data, err := fs.ReadFile(in.files, name)
			if err != nil || json.Unmarshal(data, &texts) != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, text := range texts {
				labels[fmt.Sprint(text)] = true
			}
		}
	}
	return labels
}

// TestSupportInTwoLanguages: the guide for support has the same parts in German, names each label as the dashboard
// and the shopper's page do in its language, and is a page in its language.
func TestSupportInTwoLanguages(t *testing.T) {
	base := serve(t)
	quotes := regexp.MustCompile(`^(?:\*[^*]+\*[.] )?["„]`)
	alone := regexp.MustCompile(`^(?:\*[^*]+\*[.] )?(?:["„][^"“]+["“] ?)+(?:Auskunft und Löschung nach der DSGVO\.)?$`)
	quote := regexp.MustCompile(`["„][^"“]+["“]`)
	said := map[string]string{"en": "\n**Say", "de": "\n**Sagen"}
	part := regexp.MustCompile(`(?m)^(#+ |\||\d\. |- )`)
	parts := map[string]string{}
	for language, name := range map[string]string{"en": "support", "de": "support.de"} {
		source, err := agegate.Docs.ReadFile("docs/guides/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		text := string(source)
		parts[language] = strings.Join(part.FindAllString(text, -1), "")
		for paragraph := range strings.SplitSeq(text, "\n\n") { // what shoppers say stands by itself
			if quotes.MatchString(paragraph) && !alone.MatchString(paragraph) {
				t.Errorf("%s says more beside what shoppers say: %s", name, paragraph)
			}
			if n := len(quote.FindAllString(paragraph, -1)); quotes.MatchString(paragraph) && n > 3 {
				t.Errorf("%s begins a section with %d quotes, want at most 3: %s", name, n, paragraph)
			}
		}
		if n := strings.Count(text, said[language]); n < 6 {
			t.Errorf("%s has %d replies", name, n)
		}
		known, labels := labelsOf(t, language), 0
		for _, m := range regexp.MustCompile(`\*([^*]+)\*`).FindAllStringSubmatch(strings.ReplaceAll(text, "**", ""), -1) {
			if labels++; !known[strings.Join(strings.Fields(m[1]), " ")] {
				t.Errorf("%s: no page has the label %q", name, m[1])
			}
		}
		if labels < 35 {
			t.Errorf("%s names %d labels", name, labels)
		}
	}
	outcomes, err := agegate.Docs.ReadFile("docs/guides/test-outcomes.md")
	if label := regexp.MustCompile(`page, \*([^*]+)\*`).FindSubmatch(outcomes); err != nil || label == nil ||
		!labelsOf(t, "en")[string(label[1])] {
		t.Errorf("the guide for outcomes names the label %q of a session's page: %v", label, err)
	}
	if parts["en"] != parts["de"] {
		t.Errorf("the guides differ in their headings, rows or points:\n%s\n%s", parts["en"], parts["de"])
	}
	page := get(t, base+"/docs/support.de")
	for _, want := range []string{`<html lang="de">`, `<nav aria-label="Auf dieser Seite">`, `placeholder="Suche"`,
		`<nav class="contents" id="contents" aria-label="Inhalt">`, `<details open lang="en">`,
		`<p>Diese Seiten sind englisch:</p><details lang="en">`,
		`<a href="/docs/support.de" aria-current="page" lang="de">Support: Kunden helfen</a>`,
		`<input type="hidden" name="lang" value="de">`, `>Diese Seite in Markdown<`,
		`<a rel="prev" href="/docs/document" lang="en"><small lang="de">Zurück</small>`,
		`<a rel="next" href="/docs/privacy" lang="en"><small lang="de">Weiter</small>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the guide in German lacks %s", want)
		}
	}
	page = get(t, base+"/docs/support")
	if !strings.Contains(page, `href="/docs/support.de"`) {
		t.Error("the guide in English does not link the one in German")
	}
	opened := regexp.MustCompile(`<details open>\s*<summary>([^<]+)`).FindAllStringSubmatch(page, -1)
	if len(opened) != 1 || opened[0][1] != "For support and data protection" {
		t.Errorf("the guide's navigation opens %q", opened)
	}
}
