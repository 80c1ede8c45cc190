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
