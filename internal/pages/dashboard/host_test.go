package dashboard_test

import (
	"net/http"
	"regexp"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"

	"github.com/google/uuid"
)

// ask sends a request under a host and returns the answer.
func ask(t *testing.T, browser *http.Client, method, url, host string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	return res
}

// TestHost: requests for pages are redirected to the dashboard's own address,
// other requests are refused, and a proxy that replaces the host is detected.
func TestHost(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	const own = "http://localhost:8080"
	shop := uuid.NewString()
	for _, tt := range []struct {
		method, path, host string
		status             int
		location           string
	}{
		{"GET", "/dashboard/login", "localhost:8080", 200, ""},
		{"GET", "/dashboard/login", "LOCALHOST:8080", 200, ""},
		{"GET", "/dashboard/login", "127.0.0.1:8080", 302, own + "/dashboard"},
		{"GET", "/dashboard/login", "localhost:8080.evil.example", 302, own + "/dashboard"},
		{"GET", "/dashboard/" + shop + "/live/keys?x=1", "evil.example", 302, own + "/dashboard/" + shop + "/live/keys"},
		{"GET", "/dashboard/x/live/keys", "evil.example", 302, own + "/dashboard"},
		{"HEAD", "/operator", "evil.example", 302, own + "/operator"},
		{"POST", "/dashboard/login", "evil.example", 403, ""},
		{"GET", "/dashboard/nothing", "evil.example", 404, ""},
	} {
		res := ask(t, gatewaytest.Browser(), tt.method, g.URL+tt.path, tt.host)
		want(t, tt.method+" "+tt.path+" at "+tt.host, res, tt.status, tt.location)
	}
	circling := gatewaytest.Browser()
	for _, status := range []int{302, 421} {
		if res := ask(t, circling, "GET", g.URL+"/dashboard", "upstream"); res.StatusCode != status {
			t.Errorf("behind a proxy that replaces the host: %d, want %d", res.StatusCode, status)
		}
	}
	if res := ask(t, gatewaytest.Browser(), "GET", g.URL+"/healthz", "evil.example"); res.StatusCode != 200 {
		t.Errorf("the rest of the gateway: %d", res.StatusCode)
	}
}

// TestOwnListener: a dashboard with its own address is served only there, and not
// at the public address.
func TestOwnListener(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_DASHBOARD_LISTEN=127.0.0.1:0")
	found := regexp.MustCompile(`msg="serving the dashboard" address=(\S+)`).FindStringSubmatch("")
	gatewaytest.WaitFor(t, "the dashboard's address", func() bool {
		found = regexp.MustCompile(`msg="serving the dashboard" address=(\S+)`).FindStringSubmatch(g.Log.String())
		return found != nil
	})
	apart := "http://" + found[1]
	for _, path := range []string{"/dashboard", "/dashboard/login", "/operator", "/dashboard/static/icon.svg"} {
		if res := ask(t, gatewaytest.Browser(), "GET", g.URL+path, "localhost:8080"); res.StatusCode != 404 {
			t.Errorf("%s at the public address: %d", path, res.StatusCode)
		}
	}
	for path, status := range map[string]int{
		"/dashboard/login": 200, "/healthz": 200, "/readyz": 200, "/docs": 404, "/openapi.yaml": 404,
		"/v/" + uuid.NewString(): 404, "/api/v1/sessions/" + uuid.NewString() + "/status": 404,
	} {
		if res := ask(t, gatewaytest.Browser(), "GET", apart+path, "localhost:8080"); res.StatusCode != status {
			t.Errorf("%s at the dashboard's address: %d, want %d", path, res.StatusCode, status)
		}
	}
	if res, _ := g.SignIn(t, true, account.ByPasskey).At(apart).Get(t, "/operator"); res.StatusCode != 200 {
		t.Errorf("the console: %d", res.StatusCode)
	}
}
