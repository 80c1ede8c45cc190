package reference_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestStart: the first page leads to the dashboard and to the main parts of the
// documentation.
func TestStart(t *testing.T) {
	_, tiles, found := strings.Cut(get(t, serve(t)+"/"), `<ul class="tiles">`)
	tiles, _, _ = strings.Cut(tiles, "</ul>")
	for _, part := range []string{"integrate", "door", "reference", "errors", "operations"} {
		if !found || strings.Count(tiles, `href="/docs/`+part+`"`) != 1 {
			t.Errorf("no tile for %s", part)
		}
	}
	if n := strings.Count(tiles, "<li>"); n != 6 { // rows of three and of two are full
		t.Errorf("%d tiles, want 6", n)
	}
	if !strings.Contains(tiles, "https://desk.example/dashboard") {
		t.Error("no tile for the dashboard")
	}
}

// TestGroups: the navigation and the first page of the documentation lead to all pages,
// in the same groups.
func TestGroups(t *testing.T) {
	page := get(t, serve(t)+"/docs")
	_, nav, _ := strings.Cut(page, `id="contents"`)
	nav, landing, _ := strings.Cut(nav, "<main")
	link := regexp.MustCompile(`<summary>([^<]+)<|<h2 [^>]*><a [^>]*>([^<]+)<|href="(/docs/[a-z-]+)"`)
	for where, text := range map[string]string{"navigation": nav, "first page": landing} {
		text, _, _ = strings.Cut(text, "<footer>")
		var found []string
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			found = append(found, m[1]+m[2]+m[3])
		}
		want := slices.Concat([]string{"Build", pages[1], pages[0]}, pages[2:7], []string{"Test"}, pages[7:11],
			[]string{"Go live"}, pages[11:16], []string{"Operate"}, pages[16:])
		if !slices.Equal(found, want) {
			t.Errorf("the %s has\n%v, want\n%v", where, found, want)
		}
	}
	if strings.Count(landing, "<span>") != len(pages) {
		t.Error("a page is not described")
	}
}
