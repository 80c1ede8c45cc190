package dashboard_test

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/audit"
	"agegate/internal/store/pgtest"

	"github.com/google/uuid"
)

// TestReplicasShareLogins: a log-in that ends at one replica has ended at the
// other by the next request.
func TestReplicasShareLogins(t *testing.T) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	database, secret := pgtest.URL(t), "AGEGATE_SECRET_KEY="+base64.StdEncoding.EncodeToString(key)
	here, there := gatewaytest.Start(t, database, secret), gatewaytest.Start(t, database, secret)
	owner(t, here, "ada")
	user, err := here.App.Accounts.UserByEmail(t.Context(), "ada@shop.example")
	if err != nil {
		t.Fatal(err)
	}
	const page, toLogin = "/dashboard/account", "/dashboard/login?next=%2Fdashboard%2Faccount"
	logIn := func(at *gatewaytest.Gateway) *gatewaytest.Staff {
		s := at.Nobody()
		res, _ := s.Post(t, "/dashboard/login", credentials("ada"))
		want(t, "log-in", res, 303, "/dashboard")
		return s
	}
	for _, tt := range []struct {
		what string
		end  func(s *gatewaytest.Staff) // s is signed in at this replica
	}{
		{"log-out", func(s *gatewaytest.Staff) { s.Post(t, "/dashboard/logout", nil) }},
		{"end of the others", func(*gatewaytest.Staff) { logIn(here).Post(t, "/dashboard/account/sessions", nil) }},
		{"new password", func(*gatewaytest.Staff) {
			res, _ := logIn(here).Post(t, "/dashboard/account/password", url.Values{"password": {passphrase}})
			want(t, "a new password", res, 303, page)
		}},
		{"disabling", func(*gatewaytest.Staff) {
			if err := here.App.Accounts.Disable(t.Context(), audit.System("test"), user.ID); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		s := logIn(here)
		res, _ := s.Get(t, page)
		want(t, tt.what+": before, here", res, 200, "")
		cookie := map[string]string{"Cookie": res.Request.Header.Get("Cookie")}
		res, _ = there.Nobody().Send(t, http.MethodGet, page, nil, cookie)
		want(t, tt.what+": before, there", res, 200, "")
		tt.end(s)
		for _, g := range []*gatewaytest.Gateway{here, there} {
			res, _ = g.Nobody().Send(t, http.MethodGet, page, nil, cookie)
			want(t, tt.what+": after", res, 303, toLogin)
		}
	}
}

var tokens = regexp.MustCompile(`(name="nonce" value|data-options)="[^"]*"`)

// TestRefusedLogInsAreAlike: refused log-ins have the same status, headers and
// page, with or without an account of that address. For the time that they take, see
// account.TestLogInCostsTheSame.
func TestRefusedLogInsAreAlike(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, _ := owner(t, g, "adaa")
		enrol(t, g, ada) // an app
		g.SignIn(t, false)
		for name, columns := range map[string]string{"pass": "", "gone": ", disabled_at = created_at"} {
			s := g.SignIn(t, false) // without a password
			g.Exec(t, "UPDATE users SET email = '"+name+"@shop.example'"+columns+" WHERE id = '"+s.User.ID.String()+"'")
		}
		answer := func(name string) (int, http.Header, string) {
			form := credentials(name)
			form.Set("password", "not the password")
			res, body := g.Nobody().Post(t, "/dashboard/login", form)
			for _, varies := range []string{"Date", "X-Request-Id"} {
				res.Header.Del(varies)
			}
			return res.StatusCode, res.Header, strings.ReplaceAll(tokens.ReplaceAllString(body, ""), name+"@shop.example", "")
		}
		status, header, page := answer("nobo")
		if status != 422 || page == "" {
			t.Errorf("an unknown address: %d", status)
		}
		for _, name := range []string{"adaa", "pass", "gone", "none"} {
			if s, h, p := answer(name); s != status || !equal(header, h) || p != page {
				t.Errorf("%s: %d, %v, or another page than of an unknown address: %d, %v", name, s, h, status, header)
			}
		}
	})
}

// TestRecoveryCodeIsUsedOnce: a recovery code works once, even if it is sent
// several times at once.
func TestRecoveryCodeIsUsedOnce(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, _ := owner(t, g, "ada")
		_, codes := enrol(t, g, ada)
		answers := atOnce(4, func(int) *http.Response {
			res, _ := logIn(t, g.Nobody(), "ada", codes[0])
			return res
		})
		if answers[303] != 1 || answers[422] != 3 {
			t.Errorf("one code at the same time: %v", answers)
		}
	})
}

// TestCookieOfSomebodyElse: a cookie that an attacker put into the browser before
// the log-in opens nothing afterwards.
func TestCookieOfSomebodyElse(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	owner(t, g, "ada")
	planted := map[string]string{
		"Cookie":         "agegate-user=" + strings.Repeat("p", 43),
		"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded",
	}
	res, _ := g.Nobody().Send(t, http.MethodPost, "/dashboard/login", credentials("ada"), planted)
	want(t, "log-in", res, 303, "/dashboard")
	for _, c := range res.Cookies() {
		if c.Name == "agegate-user" && strings.Contains(planted["Cookie"], c.Value) {
			t.Error("the planted cookie was taken over")
		}
	}
	res, _ = g.Nobody().Send(t, http.MethodGet, "/dashboard/account", nil, planted)
	want(t, "the planted cookie", res, 303, "/dashboard/login?next=%2Fdashboard%2Faccount")
}

// TestNoFormRaisesARole: fields about roles, tenants and users in a form give no
// rights.
func TestNoFormRaisesARole(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
	rows, err := dashboard.Table()
	if err != nil {
		t.Fatal(err)
	}
	var s *gatewaytest.Staff
	for _, row := range rows {
		if row.Method != http.MethodPost {
			continue
		}
		if s == nil {
			s = member(t, g, shop.Tenant.ID, account.Developer)
			g.StepUp(t, s)
		}
		form := url.Values{"nonce": {strings.Repeat("n", 43)}, "reason": {"x"}, "units": {"5"}, "name": {"x"},
			"confirm": {"yes"}}
		for name, value := range map[string]string{
			"role": "owner", "operator": "true", "tenant": other.Tenant.ID.String(), "tenant_id": other.Tenant.ID.String(),
			"user": s.User.ID.String(), "user_id": s.User.ID.String(), "kind": "setup",
		} {
			form.Set(name, value)
		}
		path := strings.Replace(row.Path, ":user", s.User.ID.String(), 1)
		s.Post(t, fillIn(path, shop.Tenant.ID.String(), "test"), form)
		user, err := g.App.Store.UserByID(t.Context(), s.User.ID)
		if err != nil || user.Operator {
			t.Errorf("%s made an operator, or nobody: %v", row.Path, err)
		}
		joined, err := g.App.Store.MembershipsOf(t.Context(), s.User.ID)
		raised := slices.ContainsFunc(joined, func(m account.Membership) bool {
			return m.TenantID != shop.Tenant.ID ||
				m.Role != account.Developer
		})
		if err != nil || raised {
			t.Errorf("%s made the developer %+v, %v", row.Path, joined, err)
		}
		if logins, err := g.App.Store.LoginsOf(t.Context(), s.User.ID, g.Clock.Now()); err != nil || len(logins) == 0 ||
			len(joined) == 0 {
			s = nil // this user has left or logged out; the next step uses another
		}
	}
}

// TestDemotionHolds: a demotion takes effect with the next request, even on a
// page that is already open.
func TestDemotionHolds(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		base := "/dashboard/" + shop.Tenant.ID.String()
		boss, dev := member(t, g, shop.Tenant.ID, account.Owner), member(t, g, shop.Tenant.ID, account.Developer)
		g.StepUp(t, boss)
		res, page := dev.Get(t, base+"/test/keys/new")
		want(t, "a form of developers", res, 200, "")
		filled := url.Values{"nonce": {nonceOf(t, page)}, "name": {"too late"}}
		res, _ = boss.Post(t, base+"/team/"+dev.User.ID.String(), url.Values{"role": {"viewer"}})
		want(t, "demote", res, 303, base+"/team")
		res, _ = dev.Post(t, base+"/test/keys/new", filled)
		want(t, "the open form", res, 403, "")
		res, _ = dev.Get(t, base+"/test/keys/new")
		want(t, "the form again", res, 403, "")
		res, _ = dev.Get(t, base+"/test")
		want(t, "what viewers see", res, 200, "")
		res, _ = boss.Post(t, base+"/team/"+dev.User.ID.String()+"/remove", nil)
		want(t, "remove", res, 303, base+"/team")
		res, _ = dev.Get(t, base+"/test")
		want(t, "after the removal", res, 404, "")
		keys, err := g.App.Tenants.Keys(t.Context(), shop.Tenant.ID)
		if err != nil || len(keys) != 2 {
			t.Errorf("%d keys, %v: one was made too late", len(keys), err)
		}
	})
}

// TestNoLinkIsMadeOfARequest: no address in a page or redirect contains the host
// named by a request.
func TestNoLinkIsMadeOfARequest(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	boss, op := member(t, g, shop.Tenant.ID, account.Owner), operating(t, g)
	g.StepUp(t, boss)
	team, users := "/dashboard/"+shop.Tenant.ID.String()+"/team", "/operator/users/"+boss.User.ID.String()+"/recover"
	for _, header := range []map[string]string{
		{"Host": "evil.example"}, {"X-Forwarded-Host": "evil.example"}, {"Forwarded": "host=evil.example;proto=https"},
		{"X-Original-Host": "evil.example"}, {"X-Host": "evil.example"}, {"X-Forwarded-Server": "evil.example"},
		{"Host": "evil.example", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "64443"},
		{"Origin": "http://localhost:8080", "Host": "evil.example"},
	} {
		header["Sec-Fetch-Site"] = "same-origin"
		header["Content-Type"] = "application/x-www-form-urlencoded"
		for _, tt := range []struct {
			by           *gatewaytest.Staff
			method, path string
			form         url.Values
		}{
			{boss, http.MethodPost, team + "/invitations/new", url.Values{"role": {"viewer"},
				"nonce": {nonceAfter(t, boss, team+"/invitations/new")}}},
			{op, http.MethodPost, users, url.Values{"nonce": {nonceAfter(t, op, users)}}},
			{boss, http.MethodGet, team, nil},
			{boss, http.MethodGet, "/dashboard", nil},
			{g.Nobody(), http.MethodGet, team, nil},
			{g.Nobody(), http.MethodGet, "/dashboard/login", nil},
			{g.Nobody(), http.MethodGet, "/dashboard/nothing/" + uuid.NewString(), nil},
		} {
			// A browser sends the cookie of the host in its address bar.
			before, _ := tt.by.Get(t, "/dashboard/account")
			if delete(header, "Cookie"); header["Host"] != "" {
				header["Cookie"] = before.Request.Header.Get("Cookie")
			}
			res, body := tt.by.Send(t, tt.method, tt.path, tt.form, header)
			for name, values := range res.Header {
				if strings.Contains(strings.Join(values, " "), "evil.example") {
					t.Errorf("%s %s with %v: the header %s has the host", tt.method, tt.path, header, name)
				}
			}
			if strings.Contains(body, "evil.example") || strings.Contains(body, ":64443") {
				t.Errorf("%s %s with %v: the page has the host", tt.method, tt.path, header)
			}
			switch {
			case tt.method != http.MethodPost:
			case header["Host"] != "":
				if res.StatusCode != 403 {
					t.Errorf("%s under another host: %d", tt.path, res.StatusCode)
				}
			case !strings.Contains(body, "http://localhost:8080"+account.LinkPath):
				t.Errorf("%s with %v: no link of the dashboard's own address: %d", tt.path, header, res.StatusCode)
			}
		}
	}
}

// nonceAfter returns the nonce of the form at a path.
func nonceAfter(t *testing.T, s *gatewaytest.Staff, path string) string {
	t.Helper()
	_, page := s.Get(t, path)
	return nonceOf(t, page)
}
