package reference_test

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"agegate"
	"agegate/internal/pages/page"
)

// TestColours: examples in every language are in colours, by classes, and their text
// is that of the sample.
func TestColours(t *testing.T) {
	if coloured := string(page.Colour("curl", "curl http://localhost:8080/v1/7")); strings.Contains(coloured, "<span") {
		t.Errorf("numbers of an address are coloured: %s", coloured)
	}
	base := serve(t)
	page := get(t, base+"/docs/reference")
	for _, want := range []string{`<span class="k">`, `<span class="s">`, `<span class="m">`, `<span class="f">`} {
		if !strings.Contains(page, want) {
			t.Errorf("the reference lacks %s", want)
		}
	}
	texts := map[string]bool{}
	for _, n := range elements(t, page) {
		if n.Data == "code" {
			var text strings.Builder
			for inner := range n.Descendants() {
				if inner.Type == html.TextNode {
					text.WriteString(inner.Data)
				}
			}
			texts[text.String()] = true
		}
	}
	for _, ending := range []string{"sh", "py", "mjs", "go", "php"} {
		code, err := agegate.Docs.ReadFile("docs/samples/createSession/request." + ending)
		if err != nil || !texts[strings.TrimSuffix(string(code), "\n")] {
			t.Errorf("the reference does not show request.%s as it is, %v", ending, err)
		}
	}
}

// TestColoursOfEveryLanguage: each program on each page has its keywords and strings in
// colours, and a string of several lines is one string.
func TestColoursOfEveryLanguage(t *testing.T) {
	base := serve(t)
	program := regexp.MustCompile(`(?s)<pre tabindex="0" data-language="(Python|JavaScript|Go|PHP)">(.*?)</pre>`)
	paths := []string{"/docs/reference", "/docs/clients", "/docs/verify-token", "/docs/verify-webhook"}
	shown := map[string]bool{}
	for _, path := range paths {
		for _, m := range program.FindAllStringSubmatch(get(t, base+path), -1) {
			shown[path+" "+m[1]] = true
			if !strings.Contains(m[2], `<span class="k">`) || !strings.Contains(m[2], `<span class="s">`) {
				t.Errorf("%s: a program in %s has no colours", path, m[1])
			}
			if text := "The event of a webhook, or None"; m[1] == "Python" && strings.Contains(m[2], text) &&
				!strings.Contains(m[2], `<span class="s">&#34;&#34;&#34;`+text) {
				t.Errorf("%s: the words of a docstring are coloured as code", path)
			}
		}
	}
	for _, path := range paths {
		for _, language := range []string{"Python", "JavaScript", "Go", "PHP"} {
			if !shown[path+" "+language] {
				t.Errorf("%s has no program in %s", path, language)
			}
		}
	}
}
