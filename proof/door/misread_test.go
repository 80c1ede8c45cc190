package door

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// misreadings are headers by which some servers read another path or method.
var misreadings = []string{"X-Original-URL: /secret", "X-Rewrite-URL: /secret", "X_Original_URL: /secret",
	"X-HTTP-Method-Override: POST", "X_HTTP_Method_Override: POST", "X-HTTP-Method: POST", "X-Method-Override: POST"}

// spoofs are headers that CGI, and so PHP, reads as X-Age-Over.
var spoofs = []string{"X-Age-Over: 18", "X_Age_Over: 18", "X-Age_Over: 18", "x_age-over: 18", "X.Age.Over: 18"}

// TestOnlyTheDoorTellsAges: a visitor names no age, on a free page or with a pass that
// an outage gave.
func TestOnlyTheDoorTellsAges(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_FREE=/free", "DOOR_OUTAGE=allow")
	v := s.visitor(t)
	s.Stop()
	http.DefaultClient.CloseIdleConnections()
	v.do(http.MethodPost, "/_door/begin", url.Values{})
	for _, target := range []string{"/free", "/secret"} {
		if res := v.get(target); res.status != http.StatusOK || res.header.Get("Age-Over") != "0" {
			t.Errorf("%s is answered %d, age %q", target, res.status, res.header.Get("Age-Over"))
		}
		for _, spoof := range spoofs {
			if age := v.get(target, spoof).header.Get("Age-Over"); age != "" && age != "0" {
				t.Errorf("%s: %s reaches the site as %s", target, spoof, age)
			}
		}
	}
}

// echo is a site that answers with the request as it came.
func echo(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("the site at " + r.RequestURI + "\n"))
		_ = r.Header.Write(w)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestMisreadRequests: where the site could read another path or method than the door,
// a request that looks free needs a pass.
func TestMisreadRequests(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_FREE=/free, OPTIONS /api, POST /api?a&_method", "DOOR_UPSTREAM="+echo(t))
	v := s.visitor(t)
	for _, header := range misreadings {
		free := "/api"
		if strings.Contains(header, "/secret") {
			free = "/free"
		}
		if res := v.do(http.MethodOptions, free, nil, header); res.status != http.StatusForbidden {
			t.Errorf("%s: %d", header, res.status)
		}
	}
	for _, target := range []string{"/api?_method=GET", "/api?a=b&%5fmethod=GET"} {
		if res := v.do(http.MethodPost, target, url.Values{}); res.status != http.StatusForbidden {
			t.Errorf("POST %s: %d", target, res.status)
		}
	}
}

// TestHeadersOfTheSite: the site learns the age from the door alone, and the request as
// the visitor made it.
func TestHeadersOfTheSite(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_FREE=/free", "DOOR_UPSTREAM="+echo(t))
	v := s.visitor(t)
	headers := []string{"Connection: X-Age-Over", "X-Forwarded-Uri: /"}
	for _, header := range append(headers, "X-Age-Over: 18") {
		if body := v.get("/free", header).body; !strings.Contains(body, "X-Age-Over: 0\r\n") {
			t.Errorf("%s: the site reads\n%s", header, body)
		}
	}
	body := v.get("/free", "X-Forwarded-For: 192.0.2.7").body
	if !strings.Contains(body, "X-Forwarded-For: 192.0.2.7\r\n") {
		t.Errorf("a proxy of ours names the visitor, and the site reads\n%s", body)
	}
	s.pass(t, v, "/page")
	for _, header := range headers {
		body := v.get("/page?a=1;b=2&c=%zz", header).body
		if !strings.HasPrefix(body, "the site at /page?a=1;b=2&c=%zz\n") || !strings.Contains(body, "X-Age-Over: 18\r\n") {
			t.Errorf("%s: the site reads\n%s", header, body)
		}
	}
	secure := s.newDoor(t, "DOOR_URL=https://forum.example", "DOOR_FREE=/free", "DOOR_UPSTREAM="+echo(t))
	w := httptest.NewRecorder()
	secure.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/free", nil))
	if !strings.Contains(w.Body.String(), "X-Forwarded-Proto: https\r\n") {
		t.Errorf("a site on https reads\n%s", w.Body)
	}
}

// TestFoldedPaths: a free path ends where servers fold characters.
func TestFoldedPaths(t *testing.T) {
	t.Parallel()
	address := func(s *site) string { return strings.TrimPrefix(s.url, "http://") }
	for setting, targets := range map[string][]string{
		"DOOR_FREE=/free": {"/free/%c0%ae%c0%ae/secret", "/free/%c0%af../secret", "/free/%e0%80%ae%e0%80%ae/secret",
			"/free/%ff", "/free/%ef%bc%8e%ef%bc%8e/secret", "/free/%ef%bc%8e%ef%bc%8e%ef%bc%8fsecret",
			"/free/..%ef%bc%8fsecret", "/free/%e2%80%a5/secret", "/free/..%20/secret", "/free/.../secret",
			"/free/.%20./secret", "/free/%u002e%u002e/secret"},
		"DOOR_NEED=/secret": {"/%ef%bd%93ecret", "/%c5%bfecret", "/secret.", "/secret./x", "/secret%20",
			"/secret%20/x", "/SECRET"},
	} {
		s := startSite(t, setting)
		for _, target := range targets {
			if status := rawStatus(t, address(s), target); status < 400 {
				t.Errorf("%s: %s is answered %d", setting, target, status)
			}
		}
		if status := rawStatus(t, address(s), "/free/caf%C3%A9.html"); status != http.StatusOK {
			t.Errorf("%s: a plain path is answered %d", setting, status)
		}
	}
}
