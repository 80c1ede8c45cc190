package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"

	"github.com/google/uuid"
)

// groups is the claim of a user in these groups.
func groups(names ...string) map[string]any {
	return map[string]any{"groups": append([]string{}, names...)}
}

// and returns claims together with another.
func and(claims map[string]any, name string, value any) map[string]any {
	claims[name] = value
	return claims
}

// TestLogInByTheInstancesProvider: the groups of each log-in decide what the user
// may do, and the account is separate from one with the same address.
func TestLogInByTheInstancesProvider(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, other := g.Shop(t, "", nil).Tenant.ID, g.Shop(t, "", nil).Tenant.ID
		g = g.Restart(t, idp.Settings("ops=operator; cn=shop,ou=groups=owner@"+shop.String()+"; helpers=support@"+
			shop.String()+
			";readers=viewer@"+other.String()+";readers=owner@"+uuid.NewString())...)
		own := g.SignIn(t, true, account.ByPasskey)
		email := own.User.Email
		pages := func(s *gatewaytest.Staff, paths ...string) (status []int) {
			for _, path := range paths {
				res, _ := s.Get(t, path)
				status = append(status, res.StatusCode)
			}
			return status
		}
		all := []string{"/operator", "/dashboard/" + shop.String() + "/team", "/dashboard/" + shop.String() +
			"/live/sessions", "/dashboard/" + other.String() + "/settings"}
		ann := g.Nobody()
		if _, page := ann.Get(t, "/dashboard/login"); !strings.Contains(page, "Log in with Example ID") ||
			strings.Contains(page, "setup-link") {
			t.Error("the log-in page does not offer the provider")
		}
		for _, tt := range []struct {
			name   string
			claims map[string]any
			want   []int  // of all
			notice string // why the log-in is refused
		}{
			{"unmapped at first", groups("everyone"), nil, "sso_no_group"},
			{"owner", and(groups("everyone", "helpers", "cn=shop,ou=groups"), "email", email), []int{404, 200, 200, 404}, ""},
			{"support", groups("helpers"), []int{404, 403, 200, 404}, ""},
			{"operator and viewer", groups("ops", "readers"), []int{200, 404, 404, 200}, ""},
			{"one group as a text", map[string]any{"groups": "helpers"}, []int{404, 403, 200, 404}, ""},
			{"no groups", groups(), nil, "sso_no_group"},
			{"owner again", groups("cn=shop,ou=groups"), []int{404, 200, 200, 404}, ""},
		} {
			before := ann
			ann = g.Nobody()
			res := ann.LogInBy(t, idp, account.SSOPath+"?next=/dashboard/account", tt.claims)
			wantTo := "/dashboard/account"
			if tt.notice != "" {
				wantTo = "/dashboard/login"
			}
			if got := gatewaytest.Notice(res); got != tt.notice || res.StatusCode != 303 ||
				res.Header.Get("Location") != wantTo {
				t.Fatalf("%s: %d to %s, notice %q", tt.name, res.StatusCode, res.Header.Get("Location"), got)
			}
			if tt.notice == "" {
				if got := pages(ann, all...); !slices.Equal(got, tt.want) {
					t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
				}
				continue
			}
			if res, _ := before.Get(t, "/dashboard/account"); res.StatusCode == 200 {
				t.Errorf("%s: an earlier log-in goes on", tt.name)
			}
			ann = g.Nobody()
		}
		if n := g.Count(t, "users WHERE subject = 'ann'"); n != 1 {
			t.Errorf("%d users", n)
		}
		if n := g.Count(t, "users WHERE email = '"+email+"'"); n != 1 {
			t.Errorf("%d users have the operator's address now", n) // ann had it for one log-in
		}
		if res, _ := own.Get(t, "/operator"); res.StatusCode != 200 {
			t.Errorf("the account with the same address: %d", res.StatusCode)
		}
		res := ann.LogInBy(t, idp, account.SSOPath, and(groups("helpers"), "email_verified", false))
		if n := g.Count(t, "users WHERE subject = 'ann' AND email = '-'"); res.StatusCode != 303 || n != 1 {
			t.Error("an address that was not verified is kept")
		}
		entries, err := g.App.Store.AuditEntries(t.Context(),
			audit.Filter{Scope: audit.OfTenant(shop), Action: audit.MemberUpdate, Limit: 50})
		if err != nil || len(entries) != 2 || !strings.Contains(string(entries[0].Detail), `"owner"`) {
			t.Errorf("%d changes of the role are in the log, %v", len(entries), err)
		}
		log := g.Log.String()
		for _, secret := range []string{gatewaytest.IDPSecret, "canary", "code=", "state=", "ann@corp"} {
			if strings.Contains(log, secret) {
				t.Errorf("the log has %q", secret)
			}
		}
	})
}

// TestProvidersThatMisbehave: none of these logs anybody in.
func TestProvidersThatMisbehave(t *testing.T) {
	idp, stranger := gatewaytest.NewIDP(t), gatewaytest.NewIDP(t)
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		set := func(name string, value any) func(map[string]any) {
			return func(c map[string]any) { c[name] = value }
		}
		approve := func(s *gatewaytest.Staff) string {
			res, _ := s.Get(t, account.SSOPath)
			return idp.Approve(t, res.Header.Get("Location"), groups("ops"))
		}
		change := func(path, name, value string) string {
			u, _ := url.Parse(path)
			q := u.Query()
			q.Set(name, value)
			return u.Path + "?" + q.Encode()
		}
		used := ""
		for _, tt := range []struct {
			name   string
			edit   func(map[string]any)
			token  func(string) string
			back   func(s *gatewaytest.Staff, path string) string
			notice string
		}{
			{name: "nothing", back: func(_ *gatewaytest.Staff, path string) string { used = path; return path }},
			{name: "wrong nonce", edit: set("nonce", strings.Repeat("n", 43)), notice: "sso_failed"},
			{name: "no nonce", edit: set("nonce", ""), notice: "sso_failed"},
			{name: "wrong audience", edit: set("aud", "another"), notice: "sso_failed"},
			{name: "for another party too", edit: set("aud", []string{"gate", "another"}), notice: "sso_failed"},
			{name: "authorized party", edit: set("azp", "another"), notice: "sso_failed"},
			{name: "expired", edit: set("exp", time.Now().Add(-time.Minute).Unix()), notice: "sso_failed"},
			{name: "other issuer", edit: set("iss", stranger.URL), notice: "sso_failed"},
			{name: "no subject", edit: set("sub", ""), notice: "sso_failed"},
			{name: "long subject", edit: set("sub", strings.Repeat("s", 256)), notice: "sso_failed"},
			{name: "expiry as a text", edit: set("exp", "tomorrow"), notice: "sso_failed"},
			{name: "subject as a number", edit: set("sub", 7), notice: "sso_failed"},
			{name: "no expiry", edit: set("exp", nil), notice: "sso_failed"},
			{name: "time of log-in as a text", edit: set("auth_time", "2026-11-27T10:00:00.000Z")},
			{name: "time of log-in in quotes", edit: set("auth_time", "1790000000")},
			{name: "name as a number", edit: set("name", 7)},
			{name: "usernames as a list", edit: set("preferred_username", []string{"ann"})},
			{name: "address as an object", edit: set("email", map[string]any{"value": "ann@corp.example"})},
			{name: "time of issue as a text", edit: set("iat", "today")},
			{name: "hash as a number", edit: set("at_hash", 7)},
			{name: "claims' names as a list", edit: set("_claim_names", []string{"groups"})},
			{name: "alg none", token: func(good string) string { return gatewaytest.Without(good, "") }, notice: "sso_failed"},
			{name: "signed with the secret", token: withSecret, notice: "sso_failed"},
			{name: "changed", token: func(good string) string { return good[:len(good)-6] + "AAAAAA" }, notice: "sso_failed"},
			{name: "no token", token: func(string) string { return "" }, notice: "sso_failed"},
			{name: "the provider refuses", back: func(_ *gatewaytest.Staff, path string) string {
				return change(path, "error",
					"access_denied canary")
			}, notice: "sso_refused"},
			{name: "answer of another issuer", back: func(_ *gatewaytest.Staff, path string) string {
				return change(path, "iss",
					stranger.URL)
			}, notice: "sso_failed"},
			{name: "its own issuer", back: func(_ *gatewaytest.Staff, path string) string {
				return change(path, "iss",
					idp.URL)
			}},
			{name: "wrong state", back: func(_ *gatewaytest.Staff, path string) string {
				return change(path, "state",
					strings.Repeat("s", 43))
			}, notice: "sso_late"},
			{name: "no state", back: func(_ *gatewaytest.Staff, path string) string { return change(path, "state", "") },
				notice: "sso_late"},
			{name: "another's code", back: func(_ *gatewaytest.Staff, path string) string {
				theirs, _ := url.Parse(approve(g.Nobody()))
				return change(path, "code", theirs.Query().Get("code"))
			}, notice: "sso_failed"},
			{name: "another's answer", back: func(*gatewaytest.Staff, string) string { return approve(g.Nobody()) },
				notice: "sso_late"},
			{name: "used before", back: func(*gatewaytest.Staff, string) string { return used }, notice: "sso_late"},
			{name: "code used again", back: func(_ *gatewaytest.Staff, path string) string {
				spent, _ := url.Parse(used)
				return change(path, "code", spent.Query().Get("code"))
			}, notice: "sso_failed"},
			{name: "too late", back: func(_ *gatewaytest.Staff, path string) string {
				g.Clock.Advance(account.SSOTTL)
				return path
			}, notice: "sso_late"},
			{name: "new key", edit: func(map[string]any) {}, back: func(_ *gatewaytest.Staff, path string) string {
				idp.Rotate(t)
				return path
			}},
		} {
			s := g.Nobody()
			idp.Misbehave(tt.edit, tt.token)
			path := approve(s)
			if tt.back != nil {
				path = tt.back(s, path)
			}
			res, body := s.Get(t, path)
			if got := gatewaytest.Notice(res); got != tt.notice || res.StatusCode != http.StatusSeeOther {
				t.Errorf("%s: %d, notice %q, want %q", tt.name, res.StatusCode, got, tt.notice)
			}
			if signed, _ := s.Get(t, "/operator"); (signed.StatusCode == 200) != (tt.notice == "") {
				t.Errorf("%s: the operator's page: %d", tt.name, signed.StatusCode)
			}
			if strings.Contains(body, "canary") {
				t.Errorf("%s: the answer repeats what the provider said", tt.name)
			}
			if tt.notice == "" { // a replay of the same answer
				if again, _ := s.Get(t, path); gatewaytest.Notice(again) != "sso_late" {
					t.Errorf("%s: the answer was taken twice", tt.name)
				}
			}
		}
		log := g.Log.String()
		if strings.Contains(log, "canary") {
			t.Error("the log has what the provider said, or the secret")
		}
		for _, claim := range []string{"iss", "sub", "aud", "azp", "exp", "nonce"} {
			if !strings.Contains(log, "claim="+claim) {
				t.Errorf("the log does not name the claim %s", claim)
			}
		}
	}, idp.Settings("ops=operator")...)
}

// withSecret signs a token's claims with the client secret instead of the provider's key.
func withSecret(good string) string {
	unsigned := gatewaytest.Without(good, `{"alg":"HS256"}`)
	mac := hmac.New(sha256.New, []byte(gatewaytest.IDPSecret))
	mac.Write([]byte(strings.TrimSuffix(unsigned, ".")))
	return unsigned + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
