package page

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

// A gzip writer takes 800 kB, so writers are reused by later requests.
func TestCompressKeepsItsWriters(t *testing.T) {
	e := echo.New()
	e.GET("/", func(c echo.Context) error { return c.HTML(http.StatusOK, strings.Repeat("word ", 1000)) }, Compress)
	ask := func() {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("Accept-Encoding", "gzip")
		res := httptest.NewRecorder()
		if e.ServeHTTP(res, req); res.Header().Get("Content-Encoding") != "gzip" {
			t.Fatalf("%d, %v", res.Code, res.Header())
		}
	}
	ask()
	const requests = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		ask()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / requests; each > 200_000 {
		t.Errorf("a request allocates %d bytes", each)
	}
}

// Content that is kept compressed reaches every client whole.
func TestPackedServesEveryClient(t *testing.T) {
	content := strings.Repeat("word ", 1000)
	e := echo.New()
	e.Match([]string{http.MethodGet, http.MethodHead}, "/", Packed("text/plain; charset=utf-8", []byte(content)))
	ask := func(method string, header ...string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, "/", nil)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res := httptest.NewRecorder()
		e.ServeHTTP(res, req)
		return res
	}
	tag := ask(http.MethodGet).Header().Get("ETag")
	for _, test := range []struct {
		name, method string
		header       []string
		code         int
		coding, body string
	}{
		{"no coding", http.MethodGet, nil, http.StatusOK, "", content},
		{"another coding", http.MethodGet, []string{"Accept-Encoding", "br"}, http.StatusOK, "", content},
		{"gzip", http.MethodGet, []string{"Accept-Encoding", "br, gzip"}, http.StatusOK, "gzip", content},
		{"only the header", http.MethodHead, []string{"Accept-Encoding", "gzip"}, http.StatusOK, "gzip", ""},
		{"a range of the plain content", http.MethodGet, []string{"Accept-Encoding", "gzip", "Range", "bytes=5-8"}, http.StatusPartialContent, "", "word"},
		{"unchanged", http.MethodGet, []string{"Accept-Encoding", "gzip", "If-None-Match", tag}, http.StatusNotModified, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			res := ask(test.method, test.header...)
			body := res.Body.Bytes()
			if test.coding == "gzip" && len(body) > 0 {
				var err error
				if body, err = gunzipped(body); err != nil {
					t.Fatal(err)
				}
			}
			h := res.Header()
			if res.Code != test.code || h.Get("Content-Encoding") != test.coding || string(body) != test.body {
				t.Errorf("%d, coding %q, %d bytes", res.Code, h.Get("Content-Encoding"), len(body))
			}
			if h.Get("ETag") != tag || h.Get("Vary") != "Accept-Encoding" {
				t.Errorf("ETag %q, Vary %q", h.Get("ETag"), h.Get("Vary"))
			}
		})
	}
}
