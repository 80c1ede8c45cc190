package app_test

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/account/oidc"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/store/pgtest"
)

// TestAccountsByTheProvider: such an account gets no other role, tenant or way in than its groups give, operators see
// where it comes from, and a dangerous act asks the provider to ask again.
func TestAccountsByTheProvider(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		id, owner := g.Shop(t, "", nil).Tenant.ID, g.SignIn(t, false, account.ByPasskey)
		g.Join(t, owner, id, account.Owner)
		g = g.Restart(t, idp.Settings("bosses=owner@"+id.String())...)
		owner = owner.At(g.URL)
		g.StepUp(t, owner)
		shop, ann := "/dashboard/"+id.String(), g.Nobody()
		ann.LogInBy(t, idp, account.SSOPath, groups("bosses"))
		boss, err := g.App.Store.UserByProvider(t.Context(), idp.URL, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if res, _ := ann.Get(t, "/dashboard/account/password"); res.StatusCode != 404 {
			t.Errorf("a password of one's own: %d", res.StatusCode)
		}
		link, err := g.App.Accounts.InviteOwner(t.Context(), audit.System("test"),
			g.Shop(t, "", nil).Tenant.ID, account.Invitation{})
		if err != nil {
			t.Fatal(err)
		}
		link = strings.TrimPrefix(link, "http://localhost:8080")
		if res, page := ann.Fill(t, link, url.Values{"as": {"me"}}); res.StatusCode != 409 ||
			!strings.Contains(page, "log-in provider") {
			t.Errorf("an invitation: %d", res.StatusCode)
		}
		if _, err := g.App.Accounts.NewRecoveryLink(t.Context(), audit.System("test"), boss.ID); err == nil {
			t.Error("a recovery link was made")
		}
		res, page := owner.Post(t, shop+"/team/"+boss.ID.String(), url.Values{"role": {"viewer"}})
		if res.StatusCode != 422 || !strings.Contains(page, "give this role") {
			t.Errorf("another role by hand: %d", res.StatusCode)
		}
		// The last owner with an account of their own cannot leave, even if the provider has made other owners.
		if res, _ := owner.Fill(t, "/dashboard/account/leave/"+id.String(), nil); res.StatusCode != 409 {
			t.Errorf("the last own owner leaves: %d", res.StatusCode)
		}
		if _, page := g.SignIn(t, true, account.ByPasskey).Get(t, "/operator/users"); !strings.Contains(page,
			strings.TrimPrefix(idp.URL, "http://")) {
			t.Error("the operator's page does not name the user's provider")
		}
		confirmsByProvider(t, idp, shop+"/live/keys/new", ann)
	})
}

// confirmsByProvider: the page of a dangerous act asks the provider to ask again.
func confirmsByProvider(t *testing.T, idp *gatewaytest.IDP, dangerous string, ann *gatewaytest.Staff) {
	t.Helper()
	again := account.SSOPath + "?again=1&next=" + dangerous
	if res, page := ann.Get(t, dangerous); res.StatusCode != 403 || !strings.Contains(page, "Confirm with Example ID") {
		t.Errorf("without a confirmation: %d", res.StatusCode)
	}
	// The provider has to state when it asked, and not before the user came.
	for _, when := range []any{nil, "soon", time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()} {
		res, _ := ann.Get(t, again)
		back := idp.Approve(t, res.Header.Get("Location"), and(groups("bosses"), "auth_time", when))
		if res, _ = ann.Get(t, back); !strings.HasPrefix(gatewaytest.Notice(res), "sso_") {
			t.Errorf("confirmed at %v: notice %q", when, gatewaytest.Notice(res))
		}
		if res, _ := ann.Get(t, dangerous); res.StatusCode != 403 {
			t.Errorf("after a confirmation at %v: %d", when, res.StatusCode)
		}
	}
	res, _ := ann.Get(t, again)
	if asked := res.Header.Get("Location"); !strings.Contains(asked, "prompt=login") ||
		!strings.Contains(asked, "max_age=0") {
		t.Errorf("asked again: %s", asked)
	}
	if res, _ = ann.Get(t, idp.Approve(t, res.Header.Get("Location"),
		groups("bosses"))); res.Header.Get("Location") != dangerous {
		t.Errorf("confirmed: to %s", res.Header.Get("Location"))
	}
	if res, _ := ann.Get(t, dangerous); res.StatusCode != 200 {
		t.Errorf("after a confirmation: %d", res.StatusCode)
	}
}

// TestRequiredProvider: it closes other ways in, except for who can repair it.
func TestRequiredProvider(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		boss, looker := g.SignIn(t, true, account.ByPasskey), g.SignIn(t, false, account.ByPasskey)
		g.Join(t, looker, g.Shop(t, "", nil).Tenant.ID, account.Owner)
		for _, s := range []**gatewaytest.Staff{&boss, &looker} { // each gets a password
			link, err := g.App.Accounts.NewRecoveryLink(t.Context(), audit.System("test"), (*s).User.ID)
			if err != nil {
				t.Fatal(err)
			}
			browser := g.Nobody()
			if res, _ := browser.Fill(t, strings.TrimPrefix(link, "http://localhost:8080"),
				url.Values{"password": {passphrase}}); res.StatusCode != 303 {
				t.Fatalf("recovered: %d", res.StatusCode)
			}
			browser.User, *s = (*s).User, browser
		}
		g = g.Restart(t, append(idp.Settings("ops=operator"), "AGEGATE_OIDC_REQUIRED=true")...)
		for _, tt := range []struct {
			staff *gatewaytest.Staff
			old   int // of a page, with the log-in from before
			now   int // of a log-in
		}{{boss, 200, 303}, {looker, 303, 422}} {
			if res, _ := tt.staff.At(g.URL).Get(t, "/dashboard/account"); res.StatusCode != tt.old {
				t.Errorf("an earlier log-in: %d, want %d", res.StatusCode, tt.old)
			}
			if res, _ := g.Nobody().Post(t, "/dashboard/login",
				url.Values{"email": {tt.staff.User.Email}, "password": {passphrase}}); res.StatusCode != tt.now {
				t.Errorf("by password: %d, want %d", res.StatusCode, tt.now)
			}
			named := regexp.MustCompile(`(?m)route=/dashboard/login status=303 .* user_id=` + tt.staff.User.ID.String())
			if named.MatchString(g.Log.String()) != (tt.now == 303) {
				t.Errorf("a log-in of which the page is %d is not in the log as such", tt.now)
			}
		}
		if res := g.Nobody().LogInBy(t, idp, account.SSOPath, groups("ops")); res.Header.Get("Location") != "/dashboard" {
			t.Errorf("by the provider: to %s", res.Header.Get("Location"))
		}
		user, err := g.App.Store.UserByProvider(t.Context(), idp.URL, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if err := g.App.Accounts.Disable(t.Context(), audit.System("test"), user.ID); err != nil {
			t.Fatal(err)
		}
		if res := g.Nobody().LogInBy(t, idp, account.SSOPath, groups("ops")); gatewaytest.Notice(res) != "sso_refused" {
			t.Errorf("a disabled user: to %s", res.Header.Get("Location"))
		}
	})
}

const passphrase = "four owls under a blue moon"

// TestUnreachableProvider: the page says whom to tell, and not that it helps to try again.
func TestUnreachableProvider(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	for _, issuer := range []string{
		"http://" + pgtest.FreeAddr(t), "https://no-such-name.invalid", strings.Replace(idp.URL, "http:", "https:", 1),
	} {
		g := gatewaytest.Start(t, gatewaytest.SQLite(t), append(idp.Settings("ops=operator"), "AGEGATE_OIDC_ISSUER="+issuer)...)
		s := g.Nobody()
		if res, _ := s.Get(t, account.SSOPath); gatewaytest.Notice(res) != "sso_unreached" {
			t.Errorf("%s: %s", issuer, res.Header.Get("Location"))
		}
		if _, body := s.Get(t, "/dashboard/login?lang=de"); !strings.Contains(body, "war nicht zu erreichen") {
			t.Errorf("%s: the page does not say it", issuer)
		}
		if _, body := g.SignIn(t, true, account.ByPasskey).Get(t, "/operator/system"); !strings.Contains(body,
			`data-testid="finding-sso"`) {
			t.Errorf("%s: operators are not told", issuer)
		}
	}
}

// TestProviderThatAnswersAgain: the page System warns of the provider from a log-in that did not reach it to the
// next one that did, and asks the provider nothing itself.
func TestProviderThatAnswersAgain(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), idp.Settings("ops=operator")...)
	op, s := g.SignIn(t, true, account.ByPasskey), g.Nobody()
	for _, step := range []struct {
		name     string
		announce string // the issuer in the discovery document; empty for no log-in
		warned   bool
	}{
		{"before the first log-in", "", false}, {"another issuer", "https://other.example", true},
		{"a while later", "", true}, {"the issuer", idp.URL, false},
	} {
		g.Clock.Advance(time.Minute)
		if step.announce != "" {
			idp.Announce("issuer", step.announce)
			s.Get(t, account.SSOPath)
		}
		before := idp.Requests()
		_, body := op.Get(t, "/operator/system")
		if got := strings.Contains(body, `data-testid="finding-sso"`); got != step.warned || idp.Requests() != before {
			t.Errorf("%s: warned %t, %d requests", step.name, got, idp.Requests()-before)
		}
	}
}

// TestSlowProvider: a provider that hangs has few requests under way, and those that
// wait succeed when it answers again.
func TestSlowProvider(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		g.Nobody().LogInBy(t, idp, account.SSOPath, groups("ops"))
		// The provider is well known by now, and hangs when it has to give the token.
		idp.Hang()
		before := idp.Requests()
		const tries = 12 // more than may be under way
		notices := make(chan string, tries)
		for range tries {
			s := g.Nobody()
			res, _ := s.Get(t, account.SSOPath)
			back := idp.Approve(t, res.Header.Get("Location"), groups("ops"))
			go func() {
				res, err := s.Try(t.Context(), back)
				if err != nil {
					notices <- err.Error()
					return
				}
				notices <- gatewaytest.Notice(res)
			}()
		}
		const places = 6 // for browsers in which nobody has logged in
		gatewaytest.WaitFor(t, "each to hang or to wait", func() bool { return idp.Requests()-before == places })
		if n := idp.Requests() - before; n != places || strings.Contains(g.Log.String(), "why=busy") {
			t.Errorf("%d requests at once, or some were refused", n)
		}
		idp.Resume()
		for range tries { // those that hung fail, those that waited succeed
			if got := <-notices; got != "sso_failed" && got != "" {
				t.Errorf("a log-in that hangs: %q", got)
			}
		}
	}, idp.Settings("ops=operator")...)
}

// TestDiscoveryThatLeadsAway: addresses in a discovery document are checked like the issuer's.
func TestDiscoveryThatLeadsAway(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	client := func() *oidc.Client {
		return oidc.New(account.Provider{Issuer: idp.URL, ClientID: "gate"}, time.Now)
	}
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri"} {
		for _, address := range []string{"javascript:alert(1)", "ftp://idp.example/", "/relative", "",
			"http://u:p@idp.example/"} {
			idp.Announce(name, address)
			err := client().Check(t.Context())
			if failed, ok := errors.AsType[*account.ProviderError](err); !ok || failed.Why != account.WhyAnswer {
				t.Errorf("%s %q: %v", name, address, err)
			}
		}
		idp.Announce(name, idp.URL+map[string]string{"authorization_endpoint": "/authorize?own=1",
			"token_endpoint": "/token", "jwks_uri": "/keys"}[name])
	}
	if err := client().Check(t.Context()); err != nil {
		t.Error(err)
	}
}
