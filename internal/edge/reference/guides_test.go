package reference_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// outlineOf returns the list of a page's parts, or "".
func outlineOf(page string) string {
	_, outline, _ := strings.Cut(page, `<nav aria-label="On this page">`)
	outline, _, _ = strings.Cut(outline, "</nav>")
	return outline
}

// TestGuides: each guide leads to those before and after it, and to its parts if it has
// several.
func TestGuides(t *testing.T) {
	base := serve(t)
	for i, path := range pages[1:] {
		page := get(t, base+path)
		for rel, at := range map[string]int{"prev": i, "next": i + 2} {
			want := at > 0 && at < len(pages)
			link := `<a rel="` + rel + `" href="`
			if strings.Contains(page, link) != want || want && !strings.Contains(page, link+pages[at]+`"`) {
				t.Errorf("%s: wrong %s", path, rel)
			}
		}
		parts := regexp.MustCompile(`<h2 id="([^"]+)"`).FindAllStringSubmatch(page, -1)
		if listed := strings.Contains(page, "On this page"); listed != (len(parts) >= 2) {
			t.Errorf("%s has %d parts; they are listed: %v", path, len(parts), listed)
		}
		if strings.Contains(page, `aria-label="Operations"`) {
			t.Errorf("%s: its navigation lists the operations above the guides", path)
		}
		if n := strings.Count(outlineOf(page), "<li>"); n > 0 && n != len(parts) {
			t.Errorf("%s lists %d of %d parts", path, n, len(parts))
		}
	}
}

// TestErrorsOfAStatus: the guide to errors lists statuses with what they mean, at the
// anchors of the numbers alone, to which others link.
func TestErrorsOfAStatus(t *testing.T) {
	page := get(t, serve(t)+"/docs/errors")
	entries := regexp.MustCompile(`<a href="#([^"]+)">([^<]+)</a>`).FindAllStringSubmatch(outlineOf(page), -1)
	if len(entries) < 10 {
		t.Errorf("the guide to errors lists %d statuses", len(entries))
	}
	for _, e := range entries {
		if status, meaning, _ := strings.Cut(e[2], ": "); status != e[1] || meaning == "" {
			t.Errorf("the entry %q leads to %q", e[2], e[1])
		}
	}
}

// TestUnknownField: the explanation of the error for an unknown field names the members
// that people try for their order, and leads to where an order goes.
func TestUnknownField(t *testing.T) {
	_, explained, _ := strings.Cut(get(t, serve(t)+"/docs/errors"), `<h3 id="extra_forbidden">`)
	explained, _, _ = strings.Cut(explained, "<h3 ")
	for _, want := range []string{"reference", "order_id", "metadata", "?order=1042",
		`href="/docs/integrate#find-the-session-of-an-order"`} {
		if !strings.Contains(explained, want) {
			t.Errorf("the explanation lacks %s", want)
		}
	}
}

// TestTables: tables of texts can become lists on a small screen, with the titles of
// their columns, and those of many figures scroll.
func TestTables(t *testing.T) {
	base := serve(t)
	for path, want := range map[string][]string{
		"/docs/staging": {`<div class="scroll stack" tabindex="0"`, `<td data-title="Production">its own</td>`},
		"/docs/expect":  {`<div class="scroll wide" tabindex="0"`, `<td data-title="error, years (95 %)">`},
		"/docs/privacy": {`<div class="scroll" tabindex="0"`, `<td data-title="What">pictures of the face</td>`},
	} {
		page := get(t, base+path)
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %s", path, text)
			}
		}
	}
	if got := regexp.MustCompile(`<p>(.*)\n`).FindStringSubmatch(get(t, base+"/docs/expect")); !strings.Contains(got[1],
		"6 to 7 seconds") {
		t.Errorf("what to expect begins with %s", got[1])
	}
}

// TestPictures: a guide shows its pictures, which are served as such.
func TestPictures(t *testing.T) {
	base := serve(t)
	page := get(t, base+"/docs/expect")
	if n := strings.Count(page, "<img "); n != 2 || strings.Contains(page, "<!-- ") {
		t.Errorf("%d pictures, or a comment", n)
	}
	res, err := http.Get(base + "/docs/pictures/groups-dark.svg")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "image/svg+xml" {
		t.Errorf("%d, %s", res.StatusCode, got)
	}
}
