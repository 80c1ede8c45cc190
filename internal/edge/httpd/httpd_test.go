package httpd_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"agegate/gen"
	"agegate/internal/edge/httpd"
)

func TestPanicIsAnswered(t *testing.T) {
	e, log := newEdge(t, &stub{panics: canary}, nil)
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, row{body: `{"target_age":18}`}.request())
	if got := strings.TrimSpace(rec.Body.String()); rec.Code != 500 || got != detail("Internal Server Error") {
		t.Errorf("got %d %s", rec.Code, got)
	}
	id := rec.Header().Get("X-Request-ID")
	for _, want := range []string{"panic: string", "CreateSession:", id} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log)
		}
	}
	if strings.Contains(log.String(), canary) {
		t.Errorf("the panic's value was logged: %s", log)
	}
}

// TestRequestID: a request's ID is ours, except a usable one that a trusted proxy gives.
func TestRequestID(t *testing.T) {
	e, log := newEdge(t, &stub{}, func(c *httpd.Config) {
		c.Proxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	const usable = "4bf92f3577b34da6.a3ce_929d-0e0e"
	for _, tt := range []struct {
		from, id string
		kept     bool
	}{
		{"192.0.2.1:80", usable, true},
		{"[::ffff:192.0.2.1]:80", usable, true},
		{"198.51.100.1:80", usable, false},
		{"", usable, false},
		{"192.0.2.1:80", "someone@shop.example", false},
		{"192.0.2.1:80", "192.0.2.200:443_198.51.100.7", false}, // as HAProxy writes it, with the client's address
		{"192.0.2.1:80", strings.Repeat("a", 65), false},
		{"192.0.2.1:80", "short", false},
	} {
		req := row{body: `{"target_age":18}`}.request()
		req.RemoteAddr = tt.from
		req.Header.Set("X-Request-ID", tt.id)
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, req)
		id := rec.Header().Get("X-Request-ID")
		if len(id) < 20 || (id == tt.id) != tt.kept || !strings.Contains(log.String(), id) {
			t.Errorf("%+v: id %q, log %s", tt, id, log)
		}
	}
}

func TestAccessLogNamesTheRoute(t *testing.T) {
	e, log := newEdge(t, &stub{}, func(c *httpd.Config) {
		c.Mounts = append(c.Mounts, func(e *echo.Echo) {
			e.GET("/v/:token", func(c echo.Context) error { return c.NoContent(204) })
		})
	})
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v/"+canary+"?force="+canary, nil))
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["route"] != "/v/:token" || line["status"] != float64(204) || line["method"] != "GET" ||
		strings.Contains(log.String(), canary) {
		t.Errorf("logged %s", log)
	}
}

func TestPagesRenderTheirErrors(t *testing.T) {
	e, _ := newEdge(t, &stub{}, func(c *httpd.Config) {
		c.Pages = func(c echo.Context, status int, err error) { _ = c.HTML(status, "<p>sorry") }
	})
	for path, want := range map[string]string{"/v/x": "<p>sorry", "/api/x": detail("Not Found")} {
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		if got := strings.TrimSpace(rec.Body.String()); rec.Code != 404 || got != want {
			t.Errorf("%s: got %d %s", path, rec.Code, got)
		}
	}
}

func TestBootFailsOnRoutesOutsideTheContract(t *testing.T) {
	for name, mount := range map[string]func(*echo.Echo){
		"undocumented route":   func(e *echo.Echo) { e.GET("/api/v1/secret", nil) },
		"undocumented method":  func(e *echo.Echo) { e.DELETE("/api/v1/sessions/:session_id/status", nil) },
		"catch-all":            func(e *echo.Echo) { e.GET("/*", nil) },
		"operation not served": func(e *echo.Echo) {},
	} {
		serveAll := func(e *echo.Echo) { gen.RegisterHandlers(e, gen.NewStrictHandler(&stub{}, nil)) }
		mounts := []func(*echo.Echo){serveAll, mount}
		if name == "operation not served" {
			mounts = mounts[1:]
		}
		if _, err := httpd.New(httpd.Config{Mounts: mounts}); err == nil {
			t.Errorf("%s: the boot did not fail", name)
		}
	}
}

func TestHealth(t *testing.T) {
	failing := errors.New(canary)
	e, log := newEdge(t, &stub{}, func(c *httpd.Config) {
		c.Checks = map[string]func(context.Context) error{
			"database": func(context.Context) error { return failing },
			"models":   func(context.Context) error { return nil },
		}
	})
	get := func(path string) (int, string) {
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		return rec.Code, strings.TrimSpace(rec.Body.String())
	}
	if code, body := get("/healthz"); code != 200 || body != `{"status":"ok"}` {
		t.Errorf("healthz: %d %s", code, body)
	}
	if code, body := get("/readyz"); code != 503 || body != `{"checks":{"database":"failed","models":"ok"}}` {
		t.Errorf("readyz: %d %s", code, body)
	}
	failing = nil
	if code, _ := get("/readyz"); code != 200 {
		t.Errorf("readyz after recovery: %d", code)
	}
	if n := strings.Count(log.String(), `"msg":"request"`); n != 1 {
		t.Errorf("%d lines of access log, want that of the failure alone", n)
	}
}

// TestFilesOfPagesAreNoNews: a page is a line of the log, and the files that it loads are none.
func TestFilesOfPagesAreNoNews(t *testing.T) {
	e, log := newEdge(t, &stub{}, nil)
	page, file := httptest.NewRecorder(), httptest.NewRecorder()
	e.ServeHTTP(page, httptest.NewRequest("GET", "/docs/errors", nil))
	path := regexp.MustCompile(`/docs/static/[^"]+\.css`).FindString(page.Body.String())
	e.ServeHTTP(file, httptest.NewRequest("GET", path, nil))
	if n := strings.Count(log.String(), `"msg":"request"`); file.Code != 200 || n != 1 {
		t.Errorf("%s: %d, and %d lines of access log", path, file.Code, n)
	}
}

const completionEvent = "#/components/schemas/CompletionEvent"

func TestPublishedDocuments(t *testing.T) {
	e, _ := newEdge(t, &stub{}, nil)
	for path, version := range map[string]string{
		"/openapi.yaml": "3.1.0", "/openapi.json": "3.1.0", "/openapi-3.0.yaml": "3.0.3", "/openapi-3.0.json": "3.0.3",
	} {
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		doc, err := openapi3.NewLoader().LoadFromData(rec.Body.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if doc.OpenAPI != version || len(doc.Servers) != 1 || doc.Servers[0].URL != baseURL {
			t.Errorf("%s: version %s, servers %v", path, doc.OpenAPI, doc.Servers)
		}
		// A delivery is described once: as a webhook, or as a callback where there are no webhooks.
		item := doc.Webhooks["sessionCompleted"]
		callbacks := doc.Paths.Find(createPath).Post.Callbacks
		if version == "3.0.3" {
			if item != nil || len(callbacks) != 1 {
				t.Fatalf("%s: webhooks %v, callbacks %v", path, doc.Webhooks, callbacks)
			}
			item = callbacks["sessionCompleted"].Value.Value("https://shop.example.com/webhooks/agegate")
		} else if len(callbacks) != 0 {
			t.Errorf("%s: a delivery is also a callback", path)
		}
		if ref := item.Post.RequestBody.Value.Content["application/json"].Schema.Ref; ref != completionEvent {
			t.Errorf("%s: the delivery's schema is %q", path, ref)
		}
		// Generators drop a schema that no answer refers to.
		if ref := doc.Components.Schemas["TestEvent"].Value.Properties["event"].Ref; ref != completionEvent {
			t.Errorf("%s: no answer refers to the delivery's schema", path)
		}
	}
}

func TestPublishedDocumentsAreNotSentTwice(t *testing.T) {
	e, log := newEdge(t, &stub{}, nil)
	get := func(path, known string) *httptest.ResponseRecorder {
		rec, req := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
		if known != "" {
			req.Header.Set("If-None-Match", known)
		}
		e.ServeHTTP(rec, req)
		return rec
	}
	tags := map[string]bool{}
	for _, path := range []string{"/openapi.yaml", "/openapi.json", "/openapi-3.0.yaml", "/openapi-3.0.json"} {
		tag := get(path, "").Header().Get("ETag")
		tags[tag] = true
		if rec := get(path, `"other"`); rec.Code != 200 || rec.Body.Len() == 0 {
			t.Errorf("%s: %d to a client with another version", path, rec.Code)
		}
		if rec := get(path, `"other", `+tag); tag == "" || rec.Code != 304 || rec.Body.Len() != 0 ||
			rec.Header().Get("ETag") != tag {
			t.Errorf("%s: %d %q to a client with the same version", path, rec.Code, tag)
		}
	}
	if strings.Contains(log.String(), `"status":304`) || !strings.Contains(log.String(), `"status":200`) {
		t.Error("what has not changed is logged as other requests are, each time that a page asks")
	}
	if len(tags) != 4 {
		t.Errorf("four documents have the tags %v", tags)
	}
}

func TestWhatIsPublishedAnswersHead(t *testing.T) {
	e, _ := newEdge(t, &stub{}, nil)
	for _, path := range []string{"/openapi.yaml", "/openapi.json", "/openapi-3.0.yaml", "/openapi-3.0.json",
		"/arazzo.yaml", "/llms.txt", "/docs", "/docs/errors", "/docs/errors.md",
		"/docs/static/0/reference.js", "/healthz", "/readyz"} {
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequest("HEAD", path, nil))
		if rec.Code != 200 {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
}

func TestReferenceIsServedByUsAlone(t *testing.T) {
	e, _ := newEdge(t, &stub{}, nil)
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest("GET", "/docs", nil))
	index := rec.Body.String()
	if !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") || strings.Contains(index, "<script>") {
		t.Errorf("the page loads from elsewhere or has an inline script: %s", index)
	}
	types := map[string]string{".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", "/docs": "text/html"}
	named := regexp.MustCompile(`(?:src|href)="(/docs/static/[^"]+)"`).FindAllStringSubmatch(index, -1)
	if len(named) != 4 {
		t.Fatalf("the page names %d files: %s", len(named), index)
	}
	paths := []string{"/docs"}
	for _, n := range named {
		paths = append(paths, n[1])
	}
	for _, p := range paths {
		bodies := map[string]string{}
		for _, encoding := range []string{"", "gzip"} {
			rec := httptest.NewRecorder()
			req := httptest.NewRequest("GET", p, nil)
			req.Header.Set("Accept-Encoding", encoding)
			e.ServeHTTP(rec, req)
			if want := types[cmp.Or(path.Ext(p), p)]; rec.Code != 200 ||
				!strings.HasPrefix(rec.Header().Get("Content-Type"), want) {
				t.Errorf("%s: %d %s", p, rec.Code, rec.Header().Get("Content-Type"))
			}
			if policy := rec.Header().Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") ||
				!strings.HasPrefix(policy, "default-src 'none'") {
				t.Errorf("%s: policy %s", p, policy)
			}
			if kept := strings.Contains(rec.Header().Get("Cache-Control"), "immutable"); kept != (p != "/docs") {
				t.Errorf("%s: Cache-Control %s", p, rec.Header().Get("Cache-Control"))
			}
			bodies[encoding] = rec.Body.String()
			if rec.Header().Get("Content-Encoding") == "gzip" {
				unpacked, err := gzip.NewReader(rec.Body)
				if err != nil {
					t.Fatal(err)
				}
				plain, err := io.ReadAll(unpacked)
				if err != nil {
					t.Fatal(err)
				}
				bodies[encoding] = string(plain)
			}
		}
		if bodies[""] == "" || bodies[""] != bodies["gzip"] {
			t.Errorf("%s differs when compressed", p)
		}
	}
}

// Below the handlers: a broken chunked body is the client's error, and headers
// over the limit never reach a handler. Each answer, including net/http's own,
// carries one request ID.
func TestWire(t *testing.T) {
	e, log := newEdge(t, &stub{}, nil)
	server := serve(t, e)

	head := "POST " + createPath + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + goodKey +
		"\r\nContent-Type: application/json\r\nConnection: close\r\n"
	for name, tt := range map[string]struct{ request, status string }{
		"chunked":       {head + "Transfer-Encoding: chunked\r\n\r\n11\r\n{\"target_age\":18}\r\n0\r\n\r\n", "201"},
		"broken chunks": {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + canary + "\r\n", "400"},
		"huge header":   {head + "X-Big: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431"},
		"empty path id": {"GET /api/v1/sessions//status HTTP/1.1\r\nHost: x\r\nX-API-Key: " + goodKey +
			"\r\nConnection: close\r\n\r\n", "422"},
		"declared large":  {head + "Content-Length: 99999999\r\n\r\n", "413"},
		"not HTTP":        {canary + "\r\n\r\n", "400"},
		"no host":         {"GET " + statusPath + " HTTP/1.1\r\n\r\n", "400"},
		"header and none": {head + "Broken\r\n\r\n", "400"},
		"later HTTP":      {"GET " + statusPath + " HTTP/3.0\r\nHost: x\r\n\r\n", "505"},
		"unknown coding":  {head + "Transfer-Encoding: " + canary + "\r\n\r\n", "501"},
		"expectation":     {head + "Expect: " + canary + "\r\nContent-Length: 0\r\n\r\n", "417"},
		"options of all":  {"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "404"},
	} {
		conn, err := net.Dial("tcp", server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		go io.WriteString(conn, tt.request)
		answer, err := io.ReadAll(conn)
		conn.Close()
		if line := string(answer); !strings.HasPrefix(line, "HTTP/1.1 "+tt.status) {
			t.Errorf("%s: got %.60q, %v", name, line, err)
		}
		header, body, ok := bytes.Cut(answer, []byte("\r\n\r\n"))
		if n := bytes.Count(header, []byte("X-Request-Id: ")); n != 1 || !ok || len(body) == 0 && tt.status != "417" {
			t.Errorf("%s: %d request IDs in %q, body %q", name, n, header, body)
		}
	}
	if strings.Contains(log.String(), canary) {
		t.Errorf("input was logged: %s", log)
	}
}

// TestFinalSlash: an address that ends with a slash answers like the one without it, and leads nowhere. The API answers
// as the contract says.
func TestFinalSlash(t *testing.T) {
	e, _ := newEdge(t, &stub{}, nil)
	for _, tt := range []struct {
		method, target string
		status         int
	}{
		{http.MethodGet, "/healthz/", 200},
		{http.MethodHead, "/healthz/?a=%2F&b", 200},
		{http.MethodGet, "/%2Fhealthz/", 404},
		{http.MethodGet, "//evil.example/", 404},
		{http.MethodGet, "/%2Fevil.example/", 404},
		{http.MethodGet, "//", 200},
		{http.MethodGet, "/", 200},
		{http.MethodPost, "/healthz/", 405},
		{http.MethodGet, "/api/v1/sessions/" + sessionID + "/status/", 404},
	} {
		req := httptest.NewRequest(tt.method, "/", nil)
		var err error
		if req.URL, err = url.ParseRequestURI(tt.target); err != nil {
			t.Fatal(err)
		}
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, req)
		if to := rec.Header().Get("Location"); rec.Code != tt.status || to != "" {
			t.Errorf("%s %s: %d, %q; want %d", tt.method, tt.target, rec.Code, to, tt.status)
		}
	}
}
