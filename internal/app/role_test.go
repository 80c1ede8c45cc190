package app_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/shopper"
	"agegate/internal/store/pgtest"
)

// roles are gateways of every role on one database.
type roles struct{ all, api, pages *gatewaytest.Gateway }

// startRoles starts a gateway of each role. The API's is configured to estimate, but has no models.
func startRoles(t *testing.T) roles {
	t.Helper()
	db, key := pgtest.URL(t), "AGEGATE_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	const metrics = "AGEGATE_METRICS_LISTEN=127.0.0.1:0"
	start := func(more ...string) *gatewaytest.Gateway {
		return gatewaytest.Start(t, db, append(more, key, metrics,
			"AGEGATE_SECURITY_CONTACT=mailto:security@gateway.example", "AGEGATE_SECURITY_CONTACT_UNTIL=2099-12-31")...)
	}
	return roles{
		all:   start(),
		api:   start("AGEGATE_ROLE=api", "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR="+t.TempDir()),
		pages: start("AGEGATE_ROLE=pages"),
	}
}

// ofEvery reports whether every role serves the path: the health checks and security.txt.
func ofEvery(path string) bool {
	return strings.HasSuffix(path, "z") || strings.HasPrefix(path, "/.well-known/")
}

// TestRolesTogether: a session created at the API, test or live, is opened and
// finished at the hosted page, and the API delivers its webhook.
func TestRolesTogether(t *testing.T) {
	g, receiver := startRoles(t), gatewaytest.NewReceiver(t)
	shop := g.api.Shop(t, receiver.URL, nil)
	live := g.api.Create(t, shop.Live.APIKey, 18)
	if res, err := gatewaytest.Browser().Get(g.pages.Path(live.VerificationURL)); err != nil ||
		res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a live session without an estimator: %v, %v", res, err) // as with one process for everything
	}
	made := g.api.Create(t, shop.Test.APIKey, 18)
	if res, _ := g.pages.Force(t, gatewaytest.Browser(), made, "verified"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the forced pass: %d", res.StatusCode)
	}
	if got := receiver.Wait(t, 1); !strings.Contains(string(got[0].Body), made.SessionID) {
		t.Errorf("the webhook is about another session: %s", got[0].Body)
	}
	if status := g.api.StatusOf(t, shop.Test.APIKey, made); status != "PASSED" {
		t.Errorf("the status is %s", status)
	}
	op := g.api.SignIn(t, true, account.ByPasskey)
	gatewaytest.WaitFor(t, "every replica reports", func() bool {
		_, body := op.Get(t, "/operator/system?part=system")
		return strings.Count(body, `data-testid="replica"`) == 3
	})
}

// TestRolePaths: the answer of each path in each role, and the form of refusals.
func TestRolePaths(t *testing.T) {
	g := startRoles(t)
	shop := g.api.Shop(t, "", nil)
	made := g.api.Create(t, shop.Test.APIKey, 18)
	link := strings.TrimPrefix(made.VerificationURL, "http://verify.gateway.example")
	_, page := get(t, g.pages, link)
	script := regexp.MustCompile(`/static/[0-9a-f]+/[a-z-]+\.css`).FindString(page)
	const security = "/.well-known/security.txt"
	const json, html, text = "application/json", "text/html; charset=UTF-8", "text/plain; charset=UTF-8"
	for _, tt := range []struct {
		path                   string
		all, api, pages        int
		formOfAPI, formOfPages string // empty: not checked
	}{
		{"/api/v1/sessions/" + made.SessionID + "/status", 401, 401, 404, json, json},
		{"/api/v1/nothing", 404, 404, 404, json, json},
		{"/openapi.yaml", 200, 200, 404, "", html},
		{"/docs", 200, 200, 404, html, html},
		{"/llms.txt", 200, 200, 404, "", html},
		{"/arazzo.yaml", 200, 200, 404, "", html},
		{"/dashboard/login", 200, 200, 404, html, html},
		{"/dashboard/nothing", 404, 404, 404, html, html},
		{"/operator", 303, 303, 404, "", html},
		{link, 200, 404, 200, text, html},
		{link + "/camera", 303, 404, 303, text, ""}, // before the start
		{link + "/stream", 403, 404, 403, text, html},
		{"/docs/nothing", 404, 404, 404, html, html},
		{"/nothing/at/all", 404, 404, 404, html, html},
		{"/v/" + strings.Repeat("A", 43), 404, 404, 404, text, html},
		{"/h/" + strings.Repeat("A", 43), 410, 404, 410, text, html},
		{"/sample-wallet/AAAA", 404, 404, 404, text, html},
		{script, 200, 404, 200, text, "text/css; charset=utf-8"},
		{"/brand/ffd400-0.css", 200, 404, 200, text, "text/css; charset=utf-8"},
		{"/", 200, 200, 404, html, html},
		{"/healthz", 200, 200, 200, json, json},
		{"/readyz", 200, 200, 200, json, json},
		{security, 200, 200, 200, text, text},
	} {
		for _, role := range []struct {
			name    string
			gateway *gatewaytest.Gateway
			status  int
			form    string
		}{{"all", g.all, tt.all, ""}, {"api", g.api, tt.api, tt.formOfAPI}, {"pages", g.pages, tt.pages, tt.formOfPages}} {
			res, body := get(t, role.gateway, tt.path)
			if form := res.Header.Get("Content-Type"); res.StatusCode != role.status || role.form != "" && form != role.form {
				t.Errorf("%s of %s: %d %s, want %d %s", tt.path, role.name, res.StatusCode, form, role.status, role.form)
			}
			if tt.path == security && !strings.Contains(body, "Contact: mailto:security@gateway.example\nExpires: 2099-") {
				t.Errorf("%s of %s: %s", tt.path, role.name, body)
			}
			if tt.path == "/readyz" && strings.Contains(body, "models") != (role.name != "api") {
				t.Errorf("%s of %s: %s", tt.path, role.name, body)
			}
			if tt.path == "/readyz" && !strings.Contains(body, `"database_writes":"ok"`) {
				t.Errorf("%s of %s says nothing of a read-only database: %s", tt.path, role.name, body)
			}
		}
	}
}

// TestRoleMetrics: every role serves its metrics.
func TestRoleMetrics(t *testing.T) {
	g := startRoles(t)
	address := regexp.MustCompile(`msg="serving metrics" address=(\S+)`)
	for name, gateway := range map[string]*gatewaytest.Gateway{"all": g.all, "api": g.api, "pages": g.pages} {
		gatewaytest.WaitFor(t, name+" serves metrics", func() bool { return address.MatchString(gateway.Log.String()) })
		_, body := gateway.Nobody().At("http://"+address.FindStringSubmatch(gateway.Log.String())[1]).Get(t, "/metrics")
		for _, figure := range []string{"agegate_sessions_total", "agegate_database_connections_open",
			"agegate_webhook_queue_depth"} {
			if !strings.Contains(body, figure) {
				t.Errorf("%s has no %s", name, figure)
			}
		}
	}
}

func get(t *testing.T, g *gatewaytest.Gateway, path string) (*http.Response, string) {
	t.Helper()
	return g.Nobody().Get(t, path)
}

// TestRoleRoutes: the two parts share only what every role serves, and together have all routes.
func TestRoleRoutes(t *testing.T) {
	g := startRoles(t)
	routesOf := func(g *gatewaytest.Gateway) map[string]bool {
		set := map[string]bool{}
		for _, r := range g.App.Routes() {
			set[r.Method+" "+r.Path] = true
		}
		return set
	}
	all, api, pages := routesOf(g.all), routesOf(g.api), routesOf(g.pages)
	for route := range pages {
		if _, path, _ := strings.Cut(route, " "); ofEvery(path) != api[route] {
			t.Errorf("%s: served by both, or by one alone", route)
		}
		api[route] = true
	}
	if got, want := slices.Sorted(maps.Keys(api)), slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Errorf("together they have %d routes, a gateway with all has %d", len(got), len(want))
	}
}

// TestUnknownAddresses: what nobody serves is answered by the pages around it. A
// session's link that is wrong leads nowhere but back.
func TestUnknownAddresses(t *testing.T) {
	g := startRoles(t)
	const lost, docs, desk = "This page does not exist", `data-testid="ways-on"`, "There is nothing here"
	for _, tt := range []struct{ path, all, api, pages string }{
		{"/docs/nothing", docs, docs, lost},
		{"/docs/pictures/nothing.svg", docs, docs, lost},
		{"/docs/static/nothing/nothing.js", docs, docs, lost},
		{"/nothing", docs, docs, lost},
		{"/index.php", docs, docs, lost},
		{"/verify/nothing", docs, docs, lost},
		{"/openapi", docs, docs, lost},
		{"/dashboard/nothing", desk, desk, lost},
		{"/operator/nothing", desk, desk, lost},
		{"/dashboards", docs, docs, lost},
		{"/v/nothing", lost, "Not Found", lost},
		{"/v", lost, "Not Found", lost},
		{"/static/nothing.css", lost, "Not Found", lost},
		{"/privacy/nothing", lost, "Not Found", lost},
		{"/api/nothing", `{"detail":"Not Found"}`, `{"detail":"Not Found"}`, `{"detail":"Not Found"}`},
	} {
		for gateway, want := range map[*gatewaytest.Gateway]string{g.all: tt.all, g.api: tt.api, g.pages: tt.pages} {
			res, body := get(t, gateway, tt.path)
			if res.StatusCode != http.StatusNotFound || !strings.Contains(body, want) {
				t.Errorf("%s: %d, without %q:\n%.300s", tt.path, res.StatusCode, want, body)
			}
		}
	}
	for _, r := range g.pages.App.Routes() {
		if !ofEvery(r.Path) && !shopper.Owns(r.Path) {
			t.Errorf("%s: an error there has no page for shoppers", r.Path)
		}
	}
}
