package page

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/labstack/echo/v4"
)

// A gzip writer takes 800 kB: requests share one, and hold none while they wait.
func TestCompressSharesItsWriter(t *testing.T) {
	const requests = 100
	e, text, waiting, release := echo.New(), strings.Repeat("word ", 1000), make(chan bool, requests), make(chan bool)
	e.GET("/", func(c echo.Context) error {
		waiting <- true
		<-release
		return c.HTML(http.StatusOK, text)
	}, Compress)
	ask := func() {
		res := httptest.NewRecorder()
		e.ServeHTTP(res, gzipRequest("/"))
		if plain, err := gunzipped(res.Body.Bytes()); err != nil || string(plain) != text ||
			res.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%d, %v, %d bytes: %v", res.Code, res.Header(), len(plain), err)
		}
	}
	var all sync.WaitGroup
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		all.Go(ask)
	}
	for range requests {
		<-waiting
	}
	close(release)
	all.Wait()
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / requests; each > 200_000 {
		t.Errorf("a request allocates %d bytes", each)
	}
}

// A response is compressed if that makes it shorter and the request allows it;
// what a handler flushes arrives before it returns.
func TestCompressSendsWholeResponses(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	e := echo.New()
	e.GET("/long", func(c echo.Context) error { return c.String(http.StatusAccepted, long) }, Compress)
	e.GET("/short", func(c echo.Context) error { return c.String(http.StatusAccepted, "word") }, Compress)
	e.GET("/empty", func(c echo.Context) error { return c.NoContent(http.StatusNotModified) }, Compress)
	e.GET("/error", func(echo.Context) error { return echo.ErrNotFound }, Compress)
	e.GET("/parts", func(c echo.Context) error {
		_, _ = c.Response().Write([]byte("word "))
		c.Response().Flush()
		return c.String(http.StatusOK, long[len("word "):])
	}, Compress)
	refused := gzipRequest("/long")
	refused.Header.Set("Accept-Encoding", "br, gzip;q=0")
	res := httptest.NewRecorder()
	if e.ServeHTTP(res, refused); res.Header().Get("Content-Encoding") != "" || res.Body.String() != long {
		t.Error("a client that refuses gzip gets it")
	}
	for _, test := range []struct {
		path    string
		code    int
		coding  string
		flushed bool
		body    string
	}{
		{"/long", http.StatusAccepted, "gzip", false, long},
		{"/short", http.StatusAccepted, "", false, "word"},
		{"/empty", http.StatusNotModified, "", false, ""},
		{"/error", http.StatusNotFound, "", false, `{"message":"Not Found"}` + "\n"},
		{"/parts", http.StatusOK, "gzip", true, long},
	} {
		t.Run(test.path, func(t *testing.T) {
			res := httptest.NewRecorder()
			e.ServeHTTP(res, gzipRequest(test.path))
			body := res.Body.Bytes()
			if test.coding == "gzip" {
				var err error
				if body, err = gunzipped(body); err != nil {
					t.Fatal(err)
				}
			}
			coding, vary := res.Header().Get("Content-Encoding"), res.Header().Get("Vary")
			if res.Code != test.code || coding != test.coding || vary != "Accept-Encoding" || res.Flushed != test.flushed ||
				string(body) != test.body {
				t.Errorf("%d, coding %q, Vary %q, flushed %t, %d bytes", res.Code, coding, vary, res.Flushed, len(body))
			}
		})
	}
}

// Gzip is sent to those who accept it.
func TestAcceptsGzip(t *testing.T) {
	for _, tt := range []struct {
		header []string
		want   bool
	}{
		{nil, false}, {[]string{""}, false}, {[]string{"br"}, false}, {[]string{"xgzip"}, false},
		{[]string{"gzip"}, true}, {[]string{"br, GZIP"}, true}, {[]string{"br", "deflate, gzip"}, true},
		{[]string{"gzip;q=1"}, true}, {[]string{"gzip ; Q=0.001, *;q=0"}, true},
		{[]string{"gzip;q=0"}, false}, {[]string{"gzip; q=0.000, br"}, false}, {[]string{"gzip;q=none"}, false},
	} {
		if got := acceptsGzip(http.Header{"Accept-Encoding": tt.header}); got != tt.want {
			t.Errorf("%q: %t", tt.header, got)
		}
	}
}

func gzipRequest(path string) *http.Request {
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Header.Set("Accept-Encoding", "gzip")
	return req
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
		{"gzip refused", http.MethodGet, []string{"Accept-Encoding", "gzip;q=0"}, http.StatusOK, "", content},
		{"only the header", http.MethodHead, []string{"Accept-Encoding", "gzip"}, http.StatusOK, "gzip", ""},
		{"a range of the plain content", http.MethodGet, []string{"Accept-Encoding", "gzip", "Range", "bytes=5-8"},
			http.StatusPartialContent, "", "word"},
		{"unchanged", http.MethodGet, []string{"Accept-Encoding", "gzip", "If-None-Match", tag}, http.StatusNotModified, "",
			""},
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

// TestStaticFilesAreCompressed: static files are compressed only for clients that accept it.
func TestStaticFilesAreCompressed(t *testing.T) {
	assets, err := LoadAssets("/static", Source{Files: fstest.MapFS{"a.css": {Data: []byte("a{}")}}})
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	assets.Register(e)
	for accepts, coding := range map[string]string{
		"gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0": "", "": "", "x-gzip": "",
	} {
		req := httptest.NewRequest(http.MethodGet, assets.Base()+"/a.css", nil)
		req.Header.Set("Accept-Encoding", accepts)
		res := httptest.NewRecorder()
		e.ServeHTTP(res, req)
		if got := res.Header().Get("Content-Encoding"); res.Code != http.StatusOK || got != coding {
			t.Errorf("%q: %d %q, want %q", accepts, res.Code, got, coding)
		}
	}
}
