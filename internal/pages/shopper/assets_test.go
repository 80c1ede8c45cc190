package shopper

import (
	"compress/gzip"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate/internal/rules/tenant"
	"agegate/templates"
)

// What a browser loads before the camera starts must stay small.
const pageBudget = 60 << 10

func TestStaticFilesAreKeptForEverAndSmall(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(true)
	shopper := f.browser()
	shopper.post(link+"/start", nil)
	page := shopper.get(link).body
	total := len(page)
	files := regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(files) < 4 {
		t.Fatalf("the page names %d files", len(files))
	}
	for _, file := range files {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.server.URL+file[1], nil)
		must(t, err)
		req.Header.Set("Accept-Encoding", "gzip")
		a := shopper.do(req)
		if a.StatusCode != http.StatusOK || !strings.Contains(a.Header.Get("Cache-Control"), "immutable") ||
			a.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d %v", file[1], a.StatusCode, a.Header)
		}
		total += len(a.body)
		plain := shopper.get(f.server.URL + file[1]).body
		unpacked, err := gzip.NewReader(strings.NewReader(a.body))
		must(t, err)
		if body, err := io.ReadAll(unpacked); err != nil || string(body) != plain {
			t.Errorf("%s differs when compressed: %v", file[1], err)
		}
	}
	if total > pageBudget {
		t.Errorf("%d bytes before the camera starts, over %d", total, pageBudget)
	}
}

func TestStaticFilesOfAnotherBuild(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	a := f.browser().get(f.server.URL + "/static/0000000000000000/page.css")
	if a.StatusCode != http.StatusOK || strings.Contains(a.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%d %s", a.StatusCode, a.Header.Get("Cache-Control"))
	}
	for _, path := range []string{"/static/", "/static/page.css", "/static/x/../page.css", "/static/x/nothing.js"} {
		if a := f.browser().get(f.server.URL + path); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
}

// TestCameraFiles: the page names the camera's script and all that it imports,
// and nothing else.
func TestCameraFiles(t *testing.T) {
	t.Parallel()
	imports := regexp.MustCompile(`(?m)^import .* from "\./(.+)";$`)
	found := map[string]bool{"camera.js": true}
	for waiting := []string{"camera.js"}; len(waiting) > 0; waiting = waiting[1:] {
		code, err := fs.ReadFile(templates.Shopper(), "static/"+waiting[0])
		must(t, err)
		for _, m := range imports.FindAllStringSubmatch(string(code), -1) {
			if !found[m[1]] {
				found[m[1]] = true
				waiting = append(waiting, m[1])
			}
		}
	}
	if want := slices.Sorted(maps.Keys(found)); !slices.Equal(slices.Sorted(slices.Values(cameraFiles)), want) {
		t.Errorf("cameraFiles are %v, want %v", cameraFiles, want)
	}
}
