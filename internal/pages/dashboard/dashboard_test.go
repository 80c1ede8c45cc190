package dashboard_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
	"agegate/internal/pages/dashboard/desk"

	"github.com/google/uuid"
)

const passphrase = "four owls under a blue moon"

// setupPath returns the path of a new setup link.
func setupPath(t *testing.T, g *gatewaytest.Gateway, owned *uuid.UUID) string {
	t.Helper()
	link, err := g.App.Accounts.NewSetupLink(t.Context(), owned)
	if err != nil {
		t.Fatal(err)
	}
	path, found := strings.CutPrefix(link, "http://localhost:8080")
	if !found || len(path) != len(account.LinkPath)+43 {
		t.Fatalf("the link is not at the dashboard's address: %d characters", len(link))
	}
	return path
}

func person(name string) url.Values {
	return url.Values{"name": {name}, "email": {name + "@shop.example"}, "password": {passphrase}}
}

func want(t *testing.T, what string, res *http.Response, status int, location string) {
	t.Helper()
	if got := res.Header.Get("Location"); res.StatusCode != status || got != location {
		t.Errorf("%s: %d to %q, want %d to %q", what, res.StatusCode, got, status, location)
	}
}

func TestSetupLinkMakesOneOperator(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		path := setupPath(t, g, &shop.Tenant.ID)
		for range 3 {
			res, _ := g.Nobody().Get(t, path) // previews do not use it up
			want(t, "the link", res, 200, "")
		}
		names := []string{"ada", "bob", "cyd", "dee"}
		answers := atOnce(len(names), func(i int) *http.Response {
			res, _ := g.Nobody().Post(t, path, person(names[i]))
			return res
		})
		if answers[http.StatusSeeOther] != 1 || answers[http.StatusGone] != 3 {
			t.Errorf("one link at the same time: %v", answers)
		}
		res, _ := g.Nobody().Get(t, path)
		want(t, "the used link", res, 410, "")
		if _, err := g.App.Accounts.NewSetupLink(t.Context(), nil); err == nil {
			t.Error("there is a setup link although there is an operator")
		}
	})
}

func TestSetupLinkExpiresAndIsReplaced(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		first := setupPath(t, g, nil)
		second := setupPath(t, g, nil)
		res, _ := g.Nobody().Post(t, first, person("ada"))
		want(t, "the replaced link", res, 410, "")
		g.Clock.Advance(account.SetupTTL)
		for _, path := range []string{second, account.LinkPath + strings.Repeat("A", 43), account.LinkPath + "x"} {
			res, _ = g.Nobody().Get(t, path)
			want(t, "GET", res, 410, "")
			res, _ = g.Nobody().Post(t, path, person("ada"))
			want(t, "POST", res, 410, "")
		}
	})
}

func TestSetupFormAnswersByField(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	path := setupPath(t, g, nil)
	for _, tt := range []struct{ field, value, problem string }{
		{"name", "", "is needed"}, {"name", "A\u202eB", "visible characters"},
		{"email", "ada", "is not an e-mail address"}, {"email", "Ada <ada@shop.example>", "is not an e-mail address"},
		{"password", "short", "at least 12 characters"}, {"password", strings.Repeat("aé", 65), "at most 128 characters"},
		{"password", "Password123456", "easily guessed"}, {"password", "111111111111111", "easily guessed"},
		{"password", "my lovelace password", "easily guessed"},
	} {
		form := url.Values{"name": {"lovelace"}, "email": {"x@shop.example"}, "password": {passphrase}}
		form.Set(tt.field, tt.value)
		res, body := g.Nobody().Post(t, path, form)
		_, after, found := strings.Cut(body, `id="p-`+tt.field+`">`)
		problem, _, _ := strings.Cut(after, "<")
		if res.StatusCode != 422 || !found || !strings.Contains(problem, tt.problem) {
			t.Errorf("%s=%q: %d %q, want %q", tt.field, tt.value, res.StatusCode, problem, tt.problem)
		}
		if strings.Contains(body, form.Get("password")) && form.Get("password") != "" {
			t.Errorf("%s=%q: the page repeats the password", tt.field, tt.value)
		}
		if tt.field != "email" && !strings.Contains(body, `value="x@shop.example"`) {
			t.Errorf("%s=%q: the page forgets the address", tt.field, tt.value)
		}
	}
}

func TestLogInAndOut(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		overview := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		ada := g.Nobody()
		res, _ := ada.Post(t, setupPath(t, g, &shop.Tenant.ID), person("ada"))
		want(t, "set up", res, 303, "/dashboard")
		res, _ = ada.Get(t, "/dashboard")
		want(t, "home of one tenant", res, 303, overview)
		res, _ = ada.Get(t, overview)
		want(t, "overview", res, 200, "")
		res, body := ada.Get(t, strings.TrimSuffix(overview, "test")+"live")
		want(t, "live with a password alone", res, 403, "")
		if !strings.Contains(body, "A second factor is needed") {
			t.Error("the page does not ask for a second factor")
		}

		other := g.Nobody()
		res, _ = other.Get(t, overview)
		want(t, "nobody", res, 303, "/dashboard/login?next="+url.QueryEscape(overview))
		form := url.Values{"email": {" Ada@Shop.example"}, "password": {"wrong"}, "next": {overview}}
		res, known := other.Post(t, "/dashboard/login", form)
		want(t, "wrong password", res, 422, "")
		form.Set("email", "eve@shop.example")
		res, unknown := other.Post(t, "/dashboard/login", form)
		want(t, "unknown address", res, 422, "")
		nonce := func(body string) string {
			_, after, _ := strings.Cut(body, `name="nonce" value="`)
			return after[:43]
		}
		options := func(body string) string { // have different challenges
			_, after, _ := strings.Cut(body, `data-options="`)
			challenge, _, _ := strings.Cut(after, `"`)
			return challenge
		}
		known = strings.NewReplacer(options(known), "", nonce(known), "", "Ada@Shop.example", "").Replace(known)
		if unknown = strings.NewReplacer(options(unknown), "", nonce(unknown), "", "eve@shop.example",
			"").Replace(unknown); known != unknown {
			t.Error("the page shows whether an address is known")
		}
		form = url.Values{"email": {"ADA@shop.example"}, "password": {passphrase}, "next": {overview}}
		res, _ = other.Post(t, "/dashboard/login", form)
		want(t, "log-in", res, 303, overview)
		res, _ = other.Get(t, overview)
		want(t, "after the log-in", res, 200, "")
		res, _ = other.Post(t, "/dashboard/logout", nil)
		want(t, "log-out", res, 303, "/dashboard/login")
		res, _ = other.Get(t, overview)
		want(t, "after the log-out", res, 303, "/dashboard/login?next="+url.QueryEscape(overview))
		res, _ = ada.Get(t, overview)
		want(t, "the other browser", res, 200, "")

		g.Clock.Advance(account.LoginIdle - time.Minute) // the test takes less
		res, _ = ada.Get(t, overview)
		want(t, "just before the limit", res, 200, "")
		g.Clock.Advance(account.LoginIdle)
		res, _ = ada.Get(t, overview)
		want(t, "after a day without use", res, 303, "/dashboard/login?next="+url.QueryEscape(overview))
		if strings.Contains(g.Log.String(), "ada@") || strings.Contains(strings.ToLower(g.Log.String()), passphrase) {
			t.Error("the log has what was typed")
		}
	})
}

// TestLogInEndsTheLogInBefore: a log-in ends the log-in whose cookie was in the
// browser before.
func TestLogInEndsTheLogInBefore(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	ada := g.Nobody()
	ada.Fill(t, setupPath(t, g, nil), person("ada"))
	res, _ := ada.Post(t, "/dashboard/login", url.Values{"email": {"ada@shop.example"}, "password": {passphrase}})
	want(t, "log-in", res, 303, "/dashboard")
	before := res.Request.Header.Get("Cookie")
	res, _ = g.Nobody().Send(t, http.MethodGet, "/dashboard", nil, map[string]string{"Cookie": before})
	want(t, "the cookie before", res, 303, "/dashboard/login?next=%2Fdashboard")
}

// TestForeignTenantLooksMissing: the answer is the same, byte for byte, on every
// route with a tenant.
func TestForeignTenantLooksMissing(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		own, foreign := g.Shop(t, "", nil), g.Shop(t, "", nil)
		staff := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, staff, own.Tenant.ID, account.Owner)
		rows, err := dashboard.Table()
		if err != nil {
			t.Fatal(err)
		}
		answer := func(row dashboard.Row, tenant, mode string) (string, http.Header) {
			path := strings.NewReplacer(":tenant", tenant, ":mode", mode).Replace(row.Path)
			res, body := staff.Send(t, row.Method, path, url.Values{}, map[string]string{"Sec-Fetch-Site": "same-origin"})
			want(t, row.Method+" "+path, res, 404, "")
			res.Header.Del("X-Request-Id")
			res.Header.Del("Date")
			return body, res.Header
		}
		for _, row := range rows {
			if !strings.Contains(row.Path, ":tenant") {
				continue
			}
			missing, header := answer(row, uuid.Must(uuid.NewV7()).String(), "test")
			for _, other := range []struct{ tenant, mode string }{
				{foreign.Tenant.ID.String(), "test"}, {foreign.Tenant.ID.String(), "live"}, {"x", "test"},
				{strings.ToUpper(own.Tenant.ID.String()), "test"}, {own.Tenant.ID.String(), "prod"},
			} {
				if other.mode == "prod" && !strings.Contains(row.Path, ":mode") {
					continue
				}
				body, got := answer(row, other.tenant, other.mode)
				if body != missing || !equal(header, got) {
					t.Errorf("%s %s: %v differs from a missing tenant", row.Method, row.Path, other)
				}
			}
		}
	})
}

func equal(a, b http.Header) bool {
	for name := range a {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return len(a) == len(b)
}

func TestFormIsLetThroughOnce(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		once, err := dashboard.Once(g.App.Accounts)
		if err != nil {
			t.Fatal(err)
		}
		var through atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				switch err := once("nonce"); {
				case err == nil:
					through.Add(1)
				case !errors.Is(err, desk.ErrSent):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if through.Load() != 1 {
			t.Errorf("the form was let through %d times", through.Load())
		}
		if err := once("another"); err != nil {
			t.Error(err)
		}
		if err := once(""); err == nil {
			t.Error("a form without a nonce was let through")
		}
	})
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	rows, err := dashboard.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Method == http.MethodGet {
			continue
		}
		for _, header := range []map[string]string{
			{}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"},
			{"Origin": "null"},
			{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		} {
			res, _ := g.SignIn(t, true).Send(t, row.Method, row.Path, url.Values{}, header)
			if res.StatusCode != 403 {
				t.Errorf("%s %s with %v: %d", row.Method, row.Path, header, res.StatusCode)
			}
		}
		own := g.SignIn(t, true, account.ByPasskey)
		g.StepUp(t, own)
		res, _ := own.Send(t, row.Method, row.Path, url.Values{}, map[string]string{"Origin": "http://localhost:8080"})
		if res.StatusCode == 403 {
			t.Errorf("%s %s from the dashboard itself is refused", row.Method, row.Path)
		}
	}
}

func TestHeaders(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_DASHBOARD_URL=https://gate.example")
	link, err := g.App.Accounts.NewSetupLink(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(link, "https://gate.example")
	for _, page := range []string{path, "/dashboard/login", "/dashboard/nothing", "/operator/nothing"} {
		res, _ := g.Nobody().Get(t, page)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
				"'self'; " +
				"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
			"Permissions-Policy": "camera=(), microphone=(), geolocation=(), display-capture=()",
			"Cache-Control":      "no-store", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "same-origin",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", page, name, got)
			}
		}
	}
	res, _ := g.Nobody().Post(t, path, person("ada"))
	cookie := res.Header.Get("Set-Cookie")
	for _, part := range []string{"__Host-agegate-user=", "Path=/", "HttpOnly", "Secure", "SameSite=Lax"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie lacks %s", part)
		}
	}
}

func TestOnward(t *testing.T) {
	id := uuid.NewString()
	for next, want := range map[string]string{
		"/dashboard/" + id + "/test": "/dashboard/" + id + "/test", "/operator": "/operator", "": "/dashboard",
		"https://evil.example": "/dashboard", "//evil.example": "/dashboard", "/\\evil.example": "/dashboard",
		"/dashboard/" + id + "/prod": "/dashboard", "/dashboard/x/test": "/dashboard",
		"/dashboard//evil.example": "/dashboard",
		"/dashboard/login":         "/dashboard", "/dashboard/" + id + "/test?x=1": "/dashboard",
		"javascript:alert(1)":                 "/dashboard",
		"/dashboard/urn:uuid:" + id + "/live": "/dashboard/" + id + "/live", "/dashboard/../v/x": "/dashboard",
		account.LinkPath + strings.Repeat("A", 43): account.LinkPath + strings.Repeat("A", 43),
	} {
		if got := dashboard.Onward(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

// TestOnwardNeverLeavesTheDashboard covers spellings of addresses of other sites.
func TestOnwardNeverLeavesTheDashboard(t *testing.T) {
	before := []string{"//", "///", "/\\", "\\\\", "/\t/", "/\n/", "\t//", "/%2f", "/%5c", "https:", "http:/", "https://",
		"HTTPS://", "/dashboard/../..//", "/dashboard/..;/", "//dashboard@"}
	for _, start := range before {
		for _, host := range []string{"evil.example", "evil.example/dashboard", "evil.example%2f..",
			"dashboard.evil.example"} {
			if got := dashboard.Onward(start + host); got != "/dashboard" {
				t.Errorf("%q leads to %q", start+host, got)
			}
		}
	}
}
