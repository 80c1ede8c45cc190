package dashboard_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/insight"
	"agegate/templates"

	"golang.org/x/net/html"
)

// Maximum sizes on the network, in bytes: of one page with a full list, and of
// all style sheets and all scripts of the dashboard together.
const (
	maxPage    = 16 << 10
	maxStyles  = 8 << 10
	maxScripts = 8 << 10
)

// TestPagesAreSmall covers every page and all that pages load.
func TestPagesAreSmall(t *testing.T) {
	c := newCrowd(t, insight.PageSize, func(i int) string {
		return fmt.Sprintf("Søren’s wine & spirits, %d, branch of the old town", i*7919)
	})
	loaded := map[string]bool{}
	largest, where := 0, ""
	for _, p := range c.pages(t) {
		for _, language := range []string{"en", "de"} {
			res, body := p.by.Send(t, http.MethodGet, p.path+"?lang="+language, nil,
				map[string]string{"Accept-Encoding": "gzip"})
			kind := res.Header.Get("Content-Type")
			if res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/html") {
				continue
			}
			if len(body) > maxPage {
				t.Errorf("%s in %s: %d bytes", p.Path, language, len(body))
			}
			if len(body) > largest {
				largest, where = len(body), p.Path
			}
			for _, file := range files(t, res, body) {
				loaded[path.Base(file)] = true
			}
		}
	}
	t.Logf("the largest page is %s with %d bytes", where, largest)
	for kind, most := range map[string]int{".css": maxStyles, ".js": maxScripts} {
		sum := 0
		for _, name := range static(t, kind) {
			if kind == ".css" && !loaded[name] {
				t.Errorf("no page loads %s", name)
			}
			sum += size(t, c, name)
		}
		t.Logf("all *%s: %d bytes", kind, sum)
		if sum <= 0 || sum > most {
			t.Errorf("all *%s together: %d bytes, at most %d", kind, sum, most)
		}
	}
}

// files returns what a page loads from the dashboard.
func files(t *testing.T, res *http.Response, body string) (found []string) {
	t.Helper()
	if res.Header.Get("Content-Encoding") == "gzip" {
		r, err := gzip.NewReader(bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		body = string(plain)
	}
	page, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range page.Descendants() {
		if n.Type == html.ElementNode && (n.Data == "link" || n.Data == "script") {
			found = append(found, attribute(n, "href")+attribute(n, "src"))
		}
	}
	return found
}

// static returns the names of all files of a kind that pages can load.
func static(t *testing.T, kind string) (names []string) {
	t.Helper()
	own, err := fs.Sub(templates.Dashboard(), "static")
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []fs.FS{own, templates.SharedStatic()} {
		found, err := fs.Glob(place, "*"+kind)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return names
}

// size returns how many bytes a static file takes on the network.
func size(t *testing.T, c *crowd, name string) int {
	t.Helper()
	_, page := c.Nobody().Get(t, "/dashboard/login")
	base, _, _ := strings.Cut(between(t, page, `src="`, `"`), "/dashboard.js")
	res, body := c.Nobody().Send(t, http.MethodGet, base+"/"+name, nil, map[string]string{"Accept-Encoding": "gzip"})
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%s: %d", name, res.StatusCode)
	}
	return len(body)
}
