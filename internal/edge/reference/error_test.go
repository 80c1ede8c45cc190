package reference_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestUnknownAddress: an unknown page is answered in the frame of the documentation,
// with the ways on.
func TestUnknownAddress(t *testing.T) {
	base := serve(t)
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/nope", 404},
		{http.MethodHead, "/nope", 404},
		{http.MethodGet, "/webhook", 404},
		{http.MethodGet, "/docs/xqzvw", 404},
		{http.MethodGet, "/docs/webhook-signature", 404},
		{http.MethodGet, "/docs/guides/verify-token.md", 404},
		{http.MethodGet, "/docs/%3Cxqzvw%3E", 404},
		{http.MethodPost, "/docs/errors", 405},
	} {
		req, err := http.NewRequest(tt.method, base+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		page := string(body)
		if err != nil || res.StatusCode != tt.status ||
			!strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'") {
			t.Errorf("%s: %d %v %v", tt.path, res.StatusCode, res.Header, err)
		}
		if tt.method == http.MethodHead {
			continue
		}
		for _, want := range []string{`id="search"`, `id="contents"`, `href="/docs"`, `href="/"`,
			`href="https://desk.example/dashboard"`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %s", tt.path, want)
			}
		}
		if strings.Contains(page, "nope") || strings.Contains(page, "xqzvw") {
			t.Errorf("%s repeats the address", tt.path)
		}
	}
}
