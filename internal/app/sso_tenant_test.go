package app_test

import (
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

// settings is the form of a tenant's provider, with pairs of field and value in
// place of the usual ones.
func settings(idp *gatewaytest.IDP, pairs ...string) url.Values {
	form := url.Values{
		"name": {"Shop ID"}, "issuer": {idp.URL}, "client_id": {"gate"}, "secret": {gatewaytest.IDPSecret},
		"groups_claim": {"groups"},
		"groups_owner": {"bosses"}, "groups_viewer": {"people\r\nguests"},
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// shopWithOwner returns a tenant's pages, its ID, and its owner, who has just
// confirmed who they are.
func shopWithOwner(t *testing.T, g *gatewaytest.Gateway) (pages string, id uuid.UUID, owner *gatewaytest.Staff) {
	t.Helper()
	id, owner = g.Shop(t, "", nil).Tenant.ID, g.SignIn(t, false, account.ByPasskey)
	g.Join(t, owner, id, account.Owner)
	g.StepUp(t, owner)
	return "/dashboard/" + id.String(), id, owner
}

// TestTenantsChooseAProvider: an owner sets it up, it opens that tenant only, and
// without it everybody who came by it is out.
func TestTenantsChooseAProvider(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		idp, next := gatewaytest.NewIDP(t), gatewaytest.NewIDP(t)
		shop, id, owner := shopWithOwner(t, g)
		other, _, _ := shopWithOwner(t, g)
		signOn, begin := shop+"/team/sign-on", account.SSOPath+id.String()
		if res, _ := g.Nobody().Get(t, begin); res.StatusCode != 404 {
			t.Errorf("without a provider: %d", res.StatusCode)
		}
		refusesSettings(t, owner, signOn, idp)
		if res, _ := owner.Fill(t, signOn, settings(idp)); res.StatusCode != 303 {
			t.Fatalf("set up: %d", res.StatusCode)
		}
		if _, page := owner.Get(t, signOn); strings.Contains(page, "canary") || !strings.Contains(page, begin) ||
			!strings.Contains(page, "people\nguests") {
			t.Error("the page shows the secret, or not what is set")
		}

		ann := g.Nobody()
		if res := ann.LogInBy(t, idp, begin+"?next=https://evil.example/",
			groups("people")); res.Header.Get("Location") != "/dashboard" {
			t.Errorf("logged in: to %s", res.Header.Get("Location"))
		}
		look := func(s *gatewaytest.Staff, paths ...string) (status []int) {
			for _, path := range paths {
				res, _ := s.Get(t, path)
				status = append(status, res.StatusCode)
			}
			return status
		}
		if got := look(ann, shop+"/settings", shop+"/team", shop+"/live/sessions", other+"/settings", "/operator",
			"/dashboard/account", "/dashboard/account/password"); !slices.Equal(got, []int{200, 403, 200, 404, 404, 200, 404}) {
			t.Errorf("a viewer sees %v", got)
		}
		if _, page := g.Nobody().Get(t, "/dashboard/login"); strings.Contains(page, "Shop ID") {
			t.Error("any browser is offered the tenant's provider")
		}
		ann.Fill(t, "/dashboard/logout", nil)
		if _, page := ann.Get(t, "/dashboard/login"); !strings.Contains(page, "Log in with Shop ID") {
			t.Error("the browser is not offered the provider that it used")
		}

		ann = g.Nobody()
		ann.LogInBy(t, idp, begin, groups("bosses"))
		staysApart(t, g, idp, id, owner, ann)
		confirmsByProvider(t, idp, begin, signOn, ann)

		// The same person at another issuer is somebody else, and the former are out.
		if res, page := owner.Fill(t, signOn, settings(next, "secret", "")); res.StatusCode != 422 ||
			!strings.Contains(page, "for another issuer") {
			t.Errorf("the secret goes to another issuer: %d", res.StatusCode)
		}
		if res, _ := owner.Fill(t, signOn, settings(next)); res.StatusCode != 303 {
			t.Fatalf("another issuer: %d", res.StatusCode)
		}
		if got := look(ann, shop+"/settings"); !slices.Equal(got, []int{303}) {
			t.Errorf("who came by the former issuer: %v", got)
		}
		ann = g.Nobody()
		ann.LogInBy(t, next, begin, groups("people"))
		if n := g.Count(t, "users WHERE subject = 'ann'"); n != 2 || look(ann, shop+"/settings")[0] != 200 {
			t.Errorf("%d users", n)
		}
		if res, _ := owner.Fill(t, signOn+"/remove", nil); res.StatusCode != 303 {
			t.Errorf("removed: %d", res.StatusCode)
		}
		if got := look(ann, shop+"/settings"); !slices.Equal(got, []int{303}) ||
			g.Count(t, "memberships WHERE tenant_id = '"+id.String()+"'") != 1 {
			t.Errorf("after the removal: %v", got)
		}
		for action, n := range map[audit.Action]int{audit.ProviderUpdate: 2, audit.ProviderRemove: 1} {
			entries, err := g.App.Store.AuditEntries(t.Context(),
				audit.Filter{Scope: audit.OfTenant(id), Action: action, Limit: 10})
			if err != nil || len(entries) != n || strings.Contains(string(entries[0].Detail), "canary") {
				t.Errorf("%s: %d entries, %v", action, len(entries), err)
			}
		}
		if log := g.Log.String(); strings.Contains(log, "canary") || strings.Contains(log, idp.URL+"/authorize") {
			t.Error("the log has the secret or an address")
		}
		if err := g.App.Tenants.SetDisabled(t.Context(), audit.System("test"), id, true, ""); err != nil {
			t.Fatal(err)
		}
		if err := g.App.Tenants.Delete(t.Context(), audit.System("test"), id); err != nil {
			t.Fatal(err)
		}
		if n := g.Count(t, "users WHERE subject = 'ann'"); n != 0 {
			t.Errorf("%d users of a deleted tenant", n)
		}
	})
}

// refusesSettings: what cannot be a provider is refused, with words for the owner.
func refusesSettings(t *testing.T, owner *gatewaytest.Staff, signOn string, idp *gatewaytest.IDP) {
	t.Helper()
	for _, tt := range []struct {
		name, field, value, says string
	}{
		{"no provider there", "issuer", idp.URL + "/realm", "no discovery document"},
		{"another issuer's document", "issuer", strings.Replace(idp.URL, "127.0.0.1", "localhost", 1),
			"no discovery document"},
		{"not an address", "issuer", "login.example.com", "must be an https address"},
		{"no secret", "secret", "", "is needed"},
		{"no group", "groups_owner", "", ""},
		{"hidden letters", "groups_viewer", "peo\u202eple", "visible characters"},
	} {
		form := settings(idp, tt.field, tt.value)
		if tt.says == "" {
			form.Del("groups_viewer")
			tt.says = "At least one role needs a group"
		}
		if res, page := owner.Fill(t, signOn, form); res.StatusCode != 422 || !strings.Contains(page, tt.says) ||
			strings.Contains(page, "canary") {
			t.Errorf("%s: %d", tt.name, res.StatusCode)
		}
	}
}

// staysApart: an account by a provider gets no other tenant, role or way in.
func staysApart(
	t *testing.T, g *gatewaytest.Gateway, idp *gatewaytest.IDP, id uuid.UUID, owner, ann *gatewaytest.Staff,
) {
	t.Helper()
	shop := "/dashboard/" + id.String()
	boss, err := g.App.Store.UserByProvider(t.Context(), id, idp.URL, "ann")
	if err != nil {
		t.Fatal(err)
	}
	link, err := g.App.Accounts.InviteOwner(t.Context(), audit.System("test"), g.Shop(t, "", nil).Tenant.ID)
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
	if res, page := owner.Post(t, shop+"/team/"+boss.ID.String(), url.Values{"role": {"viewer"}}); res.StatusCode != 422 ||
		!strings.Contains(page, "give this role") {
		t.Errorf("another role by hand: %d", res.StatusCode)
	}
	// The last owner with an account of their own cannot leave, even if the provider
	// has made other owners.
	if res, _ := owner.Fill(t, "/dashboard/account/leave/"+id.String(), nil); res.StatusCode != 409 {
		t.Errorf("the last own owner leaves: %d", res.StatusCode)
	}
}

// confirmsByProvider: a dangerous act asks the provider to ask again.
func confirmsByProvider(t *testing.T, idp *gatewaytest.IDP, begin, signOn string, ann *gatewaytest.Staff) {
	t.Helper()
	if res, page := ann.Get(t, signOn); res.StatusCode != 403 || !strings.Contains(page, "Confirm with Shop ID") {
		t.Errorf("without a confirmation: %d", res.StatusCode)
	}
	// The provider has to state when it asked, and not before the user came.
	for _, when := range []any{nil, "soon", time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()} {
		res, _ := ann.Get(t, begin+"?again=1&next="+signOn)
		back := idp.Approve(t, res.Header.Get("Location"), and(groups("bosses"), "auth_time", when))
		if res, _ = ann.Get(t, back); !strings.HasPrefix(gatewaytest.Notice(res), "sso_") {
			t.Errorf("confirmed at %v: notice %q", when, gatewaytest.Notice(res))
		}
		if res, _ := ann.Get(t, signOn); res.StatusCode != 403 {
			t.Errorf("after a confirmation at %v: %d", when, res.StatusCode)
		}
	}
	res, _ := ann.Get(t, begin+"?again=1&next="+signOn)
	if asked := res.Header.Get("Location"); !strings.Contains(asked, "prompt=login") ||
		!strings.Contains(asked, "max_age=0") {
		t.Errorf("asked again: %s", asked)
	}
	if res, _ = ann.Get(t, idp.Approve(t, res.Header.Get("Location"),
		groups("bosses"))); res.Header.Get("Location") != signOn {
		t.Errorf("confirmed: to %s", res.Header.Get("Location"))
	}
	if res, _ := ann.Get(t, signOn); res.StatusCode != 200 {
		t.Errorf("after a confirmation: %d", res.StatusCode)
	}
	if res, _ := ann.Fill(t, signOn, settings(idp, "secret", "", "required", "1")); res.StatusCode != 422 {
		t.Errorf("required by somebody who came by it: %d", res.StatusCode)
	}
}

// TestRequiredProvider: it closes other ways in, except for whom can repair it.
func TestRequiredProvider(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, id, owner := shopWithOwner(t, g)
		looker := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, looker, id, account.Viewer)
		if res, _ := owner.Fill(t, shop+"/team/sign-on", settings(idp, "required", "1")); res.StatusCode != 303 {
			t.Fatalf("required: %d", res.StatusCode)
		}
		if res, _ := looker.Get(t, shop+"/settings"); res.StatusCode != 303 ||
			!strings.HasPrefix(res.Header.Get("Location"), account.SSOPath+id.String()+"?next=") {
			t.Errorf("a member without it: %d to %s", res.StatusCode, res.Header.Get("Location"))
		}
		if res, _ := owner.Get(t, shop+"/settings"); res.StatusCode != 200 {
			t.Errorf("the owner: %d", res.StatusCode)
		}
		ann := g.Nobody()
		ann.LogInBy(t, idp, account.SSOPath+id.String(), groups("people"))
		if res, _ := ann.Get(t, shop+"/settings"); res.StatusCode != 200 {
			t.Errorf("a member by it: %d", res.StatusCode)
		}

		boss := g.SignIn(t, true, account.ByPasskey)
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
		}
		if res := g.Nobody().LogInBy(t, idp, beginSSO, groups("ops")); res.Header.Get("Location") != "/dashboard" {
			t.Errorf("by the provider: to %s", res.Header.Get("Location"))
		}
		user, err := g.App.Store.UserByProvider(t.Context(), uuid.Nil, idp.URL, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if err := g.App.Accounts.Disable(t.Context(), audit.System("test"), user.ID); err != nil {
			t.Fatal(err)
		}
		if res := g.Nobody().LogInBy(t, idp, beginSSO, groups("ops")); gatewaytest.Notice(res) != "sso_refused" {
			t.Errorf("a disabled user: to %s", res.Header.Get("Location"))
		}
	})
}

const passphrase = "four owls under a blue moon"

// TestProvidersOfTenantsAreGuarded: the gateway goes to no private address for a
// tenant, and a provider that hangs holds up nobody else.
func TestProvidersOfTenantsAreGuarded(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		good, hanging := gatewaytest.NewIDP(t), gatewaytest.NewIDP(t)
		shop, id, owner := shopWithOwner(t, g)
		other, otherID, another := shopWithOwner(t, g)
		for s, form := range map[*gatewaytest.Staff]url.Values{owner: settings(hanging), another: settings(good)} {
			path := map[*gatewaytest.Staff]string{owner: shop, another: other}[s] + "/team/sign-on"
			if res, _ := s.Fill(t, path, form); res.StatusCode != 303 {
				t.Fatalf("set up: %d", res.StatusCode)
			}
		}
		// The provider is well known by now, and hangs when it has to give the token.
		at := func(id uuid.UUID) string { return account.SSOPath + id.String() }
		hanging.Hang()
		before := hanging.Requests()
		const tries = 12 // more than may be under way
		notices := make(chan string, tries)
		for range tries {
			s := g.Nobody()
			res, _ := s.Get(t, at(id))
			back := hanging.Approve(t, res.Header.Get("Location"), groups("people"))
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
		gatewaytest.WaitFor(t, "each to hang or to wait", func() bool { return hanging.Requests()-before == places })
		if res := g.Nobody().LogInBy(t, good, at(otherID), groups("people")); res.Header.Get("Location") != "/dashboard" {
			t.Errorf("another tenant's log-in: to %s", res.Header.Get("Location"))
		}
		if n := hanging.Requests() - before; n != places || strings.Contains(g.Log.String(), "why=busy") {
			t.Errorf("%d requests at once, or some were refused", n)
		}
		hanging.Resume()
		for range tries { // those that hung fail, those that waited succeed
			if got := <-notices; got != "sso_failed" && got != "" {
				t.Errorf("a log-in that hangs: %q", got)
			}
		}

		g = g.Restart(t, "AGEGATE_WEBHOOK_ALLOW_NETS=10.9.9.0/24")
		owner = owner.At(g.URL)
		before = good.Requests()
		for _, address := range []string{good.URL, "http://169.254.169.254/latest", "https://10.0.0.1",
			"https://[::1]:8443"} {
			if res, page := owner.Fill(t, shop+"/team/sign-on", settings(good, "issuer", address)); res.StatusCode != 422 ||
				!strings.Contains(page, "network that the gateway does not enter") {
				t.Errorf("%s: %d", address, res.StatusCode)
			}
		}
		res, _ := g.Nobody().Get(t, at(otherID))
		if got := gatewaytest.Notice(res); got != "sso_failed" || good.Requests() != before ||
			!strings.Contains(g.Log.String(), "why=blocked") {
			t.Errorf("a provider that became private: notice %q, %d requests", got, good.Requests()-before)
		}
	})
}

// TestDiscoveryThatLeadsAway: addresses in a discovery document are checked like
// the issuer's.
func TestDiscoveryThatLeadsAway(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		idp := gatewaytest.NewIDP(t)
		shop, id, owner := shopWithOwner(t, g)
		for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri"} {
			for _, address := range []string{"javascript:alert(1)", "ftp://idp.example/", "/relative", "",
				"http://u:p@idp.example/"} {
				idp.Announce(name, address)
				if res, page := owner.Fill(t, shop+"/team/sign-on", settings(idp)); res.StatusCode != 422 ||
					!strings.Contains(page, "no discovery document") {
					t.Errorf("%s %q: %d", name, address, res.StatusCode)
				}
			}
			idp.Announce(name, idp.URL+map[string]string{"authorization_endpoint": "/authorize?own=1",
				"token_endpoint": "/token", "jwks_uri": "/keys"}[name])
		}
		idp.Announce("token_endpoint", "http://10.255.255.1/token")
		if res, _ := owner.Fill(t, shop+"/team/sign-on", settings(idp)); res.StatusCode != 303 {
			t.Fatalf("set up: %d", res.StatusCode)
		}
		if res := g.Nobody().LogInBy(t, idp, account.SSOPath+id.String(),
			groups("people")); gatewaytest.Notice(res) != "sso_failed" || !strings.Contains(g.Log.String(), "why=blocked") {
			t.Errorf("a token from a private address: to %s", res.Header.Get("Location"))
		}
	})
}
