package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// operating returns an operator who has just confirmed their identity.
func operating(t *testing.T, g *gatewaytest.Gateway) *gatewaytest.Staff {
	t.Helper()
	s := g.SignIn(t, true, account.ByPasskey)
	g.StepUp(t, s)
	return s
}

// testID returns the text of an element of a page without its markup.
func testID(t *testing.T, body, id string) string {
	t.Helper()
	_, after, found := strings.Cut(body, `data-testid="`+id+`">`)
	if !found {
		t.Fatalf("the page has no %s", id)
	}
	text, _, _ := strings.Cut(after, "<")
	return strings.TrimSpace(text)
}

// newest returns the newest entry of a log.
func newest(t *testing.T, g *gatewaytest.Gateway, scope audit.Scope) audit.Entry {
	t.Helper()
	entries, err := g.App.Store.AuditEntries(t.Context(), audit.Filter{Scope: scope, Limit: 1})
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	return entries[0]
}

// TestCreateTenant: the operator gets the owner's invitation and no credential,
// and the user of the link owns the tenant.
func TestCreateTenant(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		for name, problem := range map[string]string{"": "is needed", "a\u200bb": "visible characters"} {
			res, body := op.Fill(t, "/operator/tenants/new", url.Values{"name": {name}})
			if res.StatusCode != 422 || !strings.Contains(body, problem) {
				t.Errorf("name %q: %d", name, res.StatusCode)
			}
		}
		res, body := op.Fill(t, "/operator/tenants/new", url.Values{"name": {"Zoë & Sons"}})
		want(t, "create", res, 200, "")
		if !strings.Contains(body, "or open it yourself to be the owner") ||
			!regexp.MustCompile(`href="http://localhost:8080[^"]+" data-testid="open-link"`).MatchString(body) {
			t.Error("the page does not say what the link does for who opens it")
		}
		for _, secret := range []string{"sk_test_", "sk_live_", "whsec_", "rdsec_"} {
			if strings.Contains(body, secret) {
				t.Errorf("the page shows %s", secret)
			}
		}
		_, after, _ := strings.Cut(body, `data-copy="http://localhost:8080`)
		link, _, _ := strings.Cut(after, `"`)
		owner := g.SignIn(t, false, account.ByPasskey)
		res, _ = owner.Fill(t, link, url.Values{"as": {"me"}})
		if res.StatusCode != 303 {
			t.Fatalf("the invitation: %d", res.StatusCode)
		}
		if _, body := owner.Get(t, res.Header.Get("Location")); !strings.Contains(body, "You joined as an owner.") {
			t.Error("who joins does not read as what")
		}
		res, _ = op.Post(t, "/operator/find", url.Values{"text": {"zoë & s"}})
		tenantID, err := uuid.Parse(strings.TrimPrefix(res.Header.Get("Location"), "/operator/tenants/"))
		if err != nil {
			t.Fatalf("the search does not find the tenant: %v", err)
		}
		if keys, err := g.App.Store.Keys(t.Context(), tenantID); err != nil || len(keys) != 0 {
			t.Errorf("%d keys that nobody has seen, %v", len(keys), err)
		}
		member, err := g.App.Store.Membership(t.Context(), tenantID, owner.User.ID)
		if err != nil || member.Role != account.Owner {
			t.Errorf("the invited is %q, %v", member.Role, err)
		}
		res, body = op.Fill(t, "/operator/tenants/"+tenantID.String()+"/invite", nil)
		if res.StatusCode != 409 || !strings.Contains(body, "has an owner already") {
			t.Errorf("a second invitation: %d", res.StatusCode)
		}
	})
}

// TestOneFirstOwner: only the last of several invitations for a tenant's first
// owner is valid. Together they create one owner, and none once there is one.
func TestOneFirstOwner(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		invite := func(tenant uuid.UUID) string {
			t.Helper()
			_, body := op.Fill(t, "/operator/tenants/"+tenant.String()+"/invite", nil)
			return between(t, body, `data-copy="http://localhost:8080`, `"`)
		}
		shop := g.Shop(t, "", nil).Tenant.ID
		replaced := invite(shop)
		at := g.Clock.Now().UTC()
		question, ends := "/operator/tenants/"+shop.String()+"/invite?lang=en", "Making a new link ends the "+
			"open one, made "+at.Format("2006-01-02 15:04")+" UTC and valid until "+
			at.Add(account.InvitationTTL).Format("2006-01-02 15:04")+" UTC."
		if _, body := op.Get(t, question); !strings.Contains(body, ends) {
			t.Errorf("the question does not say %q", ends)
		}
		valid := invite(shop)
		res, _ := g.Nobody().Post(t, replaced, person("ada"))
		want(t, "a replaced invitation", res, 410, "")
		res, _ = g.Nobody().Post(t, valid, person("ada"))
		want(t, "the last", res, 303, "/dashboard")

		for round := range 5 {
			shop, links := g.Shop(t, "", nil).Tenant.ID, make([]string, 4)
			for i := range links {
				token := tokenOf(uuid.New())
				links[i] = account.LinkPath + token
				err := g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
					return tx.InsertLink(account.Link{
						Hash: credential.HashToken(token), Kind: account.LinkInvitation, TenantID: &shop, Role: account.Owner,
						CreatedAt: g.Clock.Now(), ExpiresAt: g.Clock.Now().Add(account.InvitationTTL),
					})
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			users := []*gatewaytest.Staff{g.SignIn(t, false), g.SignIn(t, false)}
			answers := atOnce(len(links), func(i int) *http.Response {
				if i < len(users) {
					res, _ := users[i].Post(t, links[i], url.Values{"as": {"me"}})
					return res
				}
				res, _ := g.Nobody().Post(t, links[i], person(fmt.Sprintf("bob%d-%d", round, i)))
				return res
			})
			if answers[303] != 1 || answers[410] != 3 {
				t.Errorf("four invitations at the same time: %v", answers)
			}
			if members, err := g.App.Store.Members(t.Context(), shop); err != nil || len(members) != 1 {
				t.Errorf("%d owners, %v", len(members), err)
			}
		}
	})
}

// TestFindTenants: characters with a meaning in LIKE patterns count as text.
func TestFindTenants(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		shop := g.Shop(t, "", nil)
		name := shop.Tenant.Name
		for query, found := range map[string]bool{
			strings.ToUpper(name): true, name[1:]: true, shop.Tenant.ID.String(): true, "%": false, "_": false, "!": false,
			"'":              false,
			uuid.NewString(): false,
		} {
			res, body := op.Post(t, "/operator/find", url.Values{"text": {query}})
			body += res.Header.Get("Location")
			if strings.Contains(body, "/operator/tenants/"+shop.Tenant.ID.String()) != found {
				t.Errorf("%q: want found %v", query, found)
			}
		}
	})
}

// TestOperatorActs: each act works once, with an entry in the tenant's log that
// names the operator and their reason.
func TestOperatorActs(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		shop := g.Shop(t, "", nil)
		page := "/operator/tenants/" + shop.Tenant.ID.String()
		for _, tt := range []struct {
			act    string
			form   url.Values
			action audit.Action
			note   string
		}{
			{"disable", url.Values{"reason": {"unpaid"}}, audit.TenantDisable, "unpaid"},
			{"enable", url.Values{"reason": {"paid"}}, audit.TenantEnable, "paid"},
			{"credit", url.Values{"units": {"7"}, "note": {"invoice 12"}}, audit.CreditAdd, "invoice 12"},
			{"credit", url.Values{"units": {"5\u202f000"}, "note": {"spaces"}}, audit.CreditAdd, "spaces"},
			{"credit", url.Values{"units": {"1,000,000"}, "note": {"commas"}}, audit.CreditAdd, "commas"},
			{"credit", url.Values{"units": {"2.000"}, "note": {"points"}}, audit.CreditAdd, "points"},
			{"correct", url.Values{"units": {"7"}, "note": {"invoice 12 again"}}, audit.CreditAdd, "invoice 12 again"},
			{"limits", url.Values{"free_checks": {"5 000"}, "test_cap": {"1"}}, audit.TenantUpdate, ""},
		} {
			res, _ := op.Fill(t, page+"/"+tt.act, tt.form)
			want(t, tt.act, res, 303, page)
			e := newest(t, g, audit.OfTenant(shop.Tenant.ID))
			note := e.Details().Params["reason"] + e.Details().Params["note"]
			if e.Action != tt.action || note != tt.note || e.Actor != audit.Operator(op.User.ID, op.User.Name) {
				t.Errorf("%s wrote %s by %v with %q", tt.act, e.Action, e.Actor, note)
			}
		}
		_, body := op.Get(t, page+"/limits")
		if !strings.Contains(body, "defaults are 500 for free checks and 200 for test sessions") {
			t.Error("the form of limits does not say the defaults")
		}
		_, body = op.Get(t, page)
		for id, want := range map[string]string{
			"credit": "1,007,000", "free-checks": "5,000", "test-cap": "1",
		} {
			if got := testID(t, body, id); got != want {
				t.Errorf("%s is %q, want %q", id, got, want)
			}
		}
		for _, tt := range []struct {
			act     string
			form    url.Values
			problem string
		}{
			{"disable", url.Values{"reason": {""}}, "is needed"},
			{"disable", url.Values{"reason": {"a\x00b"}}, "visible characters"},
			{"credit", url.Values{"units": {"0"}, "note": {"x"}}, "whole number"},
			{"credit", url.Values{"units": {"-7"}, "note": {"x"}}, "whole number"},
			{"credit", url.Values{"units": {"7.5"}, "note": {"x"}}, "whole number"},
			{"credit", url.Values{"units": {"1,000.000"}, "note": {"x"}}, "whole number"},
			{"credit", url.Values{"units": {"1,00"}, "note": {"x"}}, "whole number"},
			{"credit", url.Values{"units": {"0,500"}, "note": {"x"}}, "whole number"},
			{"credit", url.Values{"units": {"7"}, "note": {""}}, "is needed"},
			{"correct", url.Values{"units": {"7"}, "note": {""}}, "is needed"},
			{"correct", url.Values{"units": {"-7"}, "note": {"x"}}, "whole number"},
			{"correct", url.Values{"units": {"1,007,001"}, "note": {"x"}}, "At most 1,007,000 units"},
			{"limits", url.Values{"free_checks": {"-2"}}, "must be 0 or a larger"},
			{"limits", url.Values{"test_cap": {"many"}}, "must be 0 or a larger"},
			{"limits", url.Values{"test_cap": {"-9223372036854775808"}}, "12 characters"},
		} {
			before := newest(t, g, audit.OfTenant(shop.Tenant.ID))
			res, body := op.Fill(t, page+"/"+tt.act, tt.form)
			if res.StatusCode != 422 || !strings.Contains(body, tt.problem) {
				t.Errorf("%s with %v: %d", tt.act, tt.form, res.StatusCode)
			}
			if after := newest(t, g, audit.OfTenant(shop.Tenant.ID)); after.Seq != before.Seq {
				t.Errorf("%s with %v changed something", tt.act, tt.form)
			}
		}
		res, _ := op.Fill(t, page+"/correct", url.Values{"units": {"1006999"}, "note": {"x"}})
		want(t, "all but one unit", res, 303, page)
		if _, body := op.Fill(t, page+"/correct", url.Values{"units": {"2"}, "note": {"x"}}); !strings.Contains(body,
			"At most 1 unit can") {
			t.Error("of one unit it does not speak as of one")
		}
		res, _ = op.Fill(t, page+"/limits", url.Values{})
		want(t, "limits to the default", res, 303, page)
		_, body = op.Get(t, page)
		if got := testID(t, body, "test-cap"); !strings.Contains(got, "default") {
			t.Errorf("the cap is %q", got)
		}
		res, _ = op.Fill(t, page+"/limits", url.Values{"test_unlimited": {"1"}})
		want(t, "no limit", res, 303, page)
		if _, body := op.Get(t, page); testID(t, body, "test-cap") != "Unlimited" {
			t.Errorf("the cap is %q", testID(t, body, "test-cap"))
		}
		if _, body := op.Get(t, page+"/limits"); strings.Contains(body, `value="-1"`) ||
			!strings.Contains(body, `type="checkbox" value="1" checked`) {
			t.Error("the form shows a number for no limit")
		}
		for _, path := range []string{"/operator/tenants/" + uuid.NewString(), "/operator/tenants/x", page + "/delete"} {
			res, _ := op.Get(t, path)
			want(t, path, res, 404, "")
		}
	})
}

// TestOperatedTenant: an operator sees a tenant's people and figures, and the act
// that disables it is apart from the others.
func TestOperatedTenant(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		shop := g.Shop(t, "", nil)
		page := "/operator/tenants/" + shop.Tenant.ID.String()
		_, body := op.Get(t, page)
		if !strings.Contains(body, "Nobody has joined") || !strings.Contains(body, "none yet") {
			t.Error("a new tenant has people or sessions")
		}
		if !strings.Contains(body, `<a href="`+page+`/invite">Invite the owner</a>`) {
			t.Error("the page does not lead to the invitation of an owner")
		}
		owner := g.SignIn(t, false, account.ByPassword)
		g.Join(t, owner, shop.Tenant.ID, account.Owner)
		g.Create(t, shop.Live.APIKey, 18)
		_, body = op.Get(t, page)
		_, danger, found := strings.Cut(body, "danger-zone")
		if !strings.Contains(body, `<a href="/operator/users?user=`+owner.User.ID.String()+`"><strong>`+owner.User.Name) ||
			!strings.Contains(body, owner.User.Email) || strings.Contains(body, "none yet") || !found ||
			strings.Contains(body, "act-invite") ||
			!strings.Contains(danger, "act-disable") || !strings.Contains(danger, "Nothing is deleted") ||
			!strings.Contains(body, "agegate tenant set "+shop.Tenant.ID.String()+" --name") ||
			!strings.Contains(danger, "<code>agegate tenant delete "+shop.Tenant.ID.String()+"</code>") ||
			!strings.Contains(danger, `href="/operator/use.csv" download`) ||
			!strings.Contains(body, `class="back"><a href="/operator">`) || strings.Contains(danger, "act-credit") {
			t.Errorf("the tenant's page:\n%s", body)
		}
		if _, list := op.Get(t, "/operator"); !strings.Contains(list, `data-testid="instance"`) {
			t.Error("the list of tenants has no figures of the instance")
		}
	})
}

// TestTenantsOfOneName: the list tells tenants of one name apart, and claims no sum before one was made.
func TestTenantsOfOneName(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		var twins []tenant.Tenant
		for range 2 {
			twins = append(twins, g.Shop(t, "", nil).Tenant)
		}
		g.Shop(t, "", func(s *tenant.Tenant) { s.Name = "Another" })
		_, list := op.Get(t, "/operator")
		if n := strings.Count(list, `data-testid="twin"`); n != 2 {
			t.Errorf("%d tenants show the end of their ID, want 2", n)
		}
		for _, s := range twins {
			if !strings.Contains(list, `>…`+s.ID.String()[30:]+`</small>`) {
				t.Errorf("the list lacks the end of %s", s.ID)
			}
		}
		if tile := between(t, list, `data-testid="instance"`, "</div>"); !strings.Contains(tile, "<strong>0</strong>") {
			t.Errorf("the sum is %s", tile)
		}
	})
}

// TestOperatorEnters: an operator may look into a tenant for half an hour,
// read-only, with an entry in the tenant's log. Nobody else may.
func TestOperatorEnters(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, other := operating(t, g), operating(t, g)
		shop, foreign := g.Shop(t, "", nil), g.Shop(t, "", nil)
		overview := "/dashboard/" + shop.Tenant.ID.String() + "/live"
		enter := "/operator/tenants/" + shop.Tenant.ID.String() + "/enter"
		res, body := op.Fill(t, enter, url.Values{"reason": {""}})
		if res.StatusCode != 422 || !strings.Contains(body, "is needed") {
			t.Errorf("without a reason: %d", res.StatusCode)
		}
		res, _ = op.Get(t, overview)
		want(t, "before", res, 404, "")
		res, _ = op.Fill(t, enter, url.Values{"reason": {"ticket 4711"}})
		want(t, "enter", res, 303, overview)
		e := newest(t, g, audit.OfTenant(shop.Tenant.ID))
		if e.Action != audit.TenantEnter || e.Details().Params["reason"] != "ticket 4711" ||
			e.Actor.Kind != audit.KindOperator {
			t.Errorf("the log has %+v", e)
		}
		res, body = op.Get(t, overview)
		want(t, "inside", res, 200, "")
		if !strings.Contains(body, `data-testid="entered"`) || !strings.Contains(body, "so its forms are hidden") {
			t.Error("no banner")
		}
		res, _ = op.Post(t, overview+"/paste", url.Values{"text": {"branding"}})
		want(t, "search inside", res, 303, strings.Replace(overview, "/live", "/settings?mode=live", 1))
		log := strings.Replace(overview, "/live", "/audit", 1)
		if _, page := op.Get(t, log); !strings.Contains(body, log) || !strings.Contains(page, "ticket 4711") ||
			strings.Contains(page, `data-testid="export"`) {
			t.Error("no audit log inside, or one that an operator exports")
		}
		res, _ = other.Get(t, overview)
		want(t, "another operator", res, 404, "")
		res, _ = op.Get(t, "/dashboard/"+foreign.Tenant.ID.String()+"/test")
		want(t, "another tenant", res, 404, "")

		res, _ = op.Post(t, "/operator/leave", nil)
		want(t, "leave", res, 303, "/operator")
		if e := newest(t, g, audit.OfTenant(shop.Tenant.ID)); e.Action != audit.TenantLeave {
			t.Errorf("the log has %s", e.Action)
		}
		res, _ = op.Get(t, overview)
		want(t, "after leaving", res, 404, "")

		g.StepUp(t, op)
		res, _ = op.Fill(t, enter, url.Values{"reason": {"again"}})
		want(t, "enter again", res, 303, overview)
		g.Clock.Advance(account.EntryTTL - time.Second)
		res, _ = op.Get(t, overview)
		want(t, "just before the end", res, 200, "")
		g.Clock.Advance(time.Second)
		res, _ = op.Get(t, overview)
		want(t, "at the end", res, 404, "")

		g.Join(t, op, shop.Tenant.ID, account.Viewer)
		g.StepUp(t, op)
		res, body = op.Fill(t, enter, url.Values{"reason": {"own"}})
		if res.StatusCode != 422 || !strings.Contains(body, "You are a member") {
			t.Errorf("into the own tenant: %d", res.StatusCode)
		}
		_, body = op.Get(t, strings.TrimSuffix(enter, "/enter"))
		if strings.Contains(body, "act-enter") || !strings.Contains(body, overview+`" data-testid="act-open"`) {
			t.Error("a member is not led to the dashboard of the own tenant")
		}
	})
}

// TestOperatorUsers: operators disable, enable and recover users, which the log of the user's tenant says, too, but
// cannot disable themselves.
func TestOperatorUsers(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, ada, boss, shop := operating(t, g), g.SignIn(t, false), g.SignIn(t, false), g.Shop(t, "", nil).Tenant.ID
		g.Join(t, ada, shop, account.Viewer)
		g.Join(t, boss, shop, account.Owner)
		page := "/operator/users/" + ada.User.ID.String()
		res, body := op.Fill(t, page+"/recover", nil)
		want(t, "recover", res, 200, "")
		_, after, _ := strings.Cut(body, `data-copy="http://localhost:8080`)
		link, _, _ := strings.Cut(after, `"`)
		res, _ = g.Nobody().Get(t, link)
		want(t, "the link", res, 200, "")
		res, _ = op.Fill(t, page+"/disable", nil)
		want(t, "disable", res, 303, "/operator/users")
		res, _ = ada.Get(t, "/dashboard")
		want(t, "the disabled user", res, 303, "/dashboard/login?next=%2Fdashboard")
		res, _ = op.Fill(t, page+"/recover", nil)
		want(t, "recover while disabled", res, 409, "")
		res, _ = op.Fill(t, page+"/enable", nil)
		want(t, "enable", res, 303, "/operator/users")
		res, body = op.Fill(t, "/operator/users/"+op.User.ID.String()+"/disable", nil)
		if res.StatusCode != 409 || !strings.Contains(body, "your own account") {
			t.Errorf("disable oneself: %d", res.StatusCode)
		}
		_, body = op.Get(t, "/operator/audit")
		for _, text := range []string{"User disabled", "User enabled", "Recovery link created"} {
			if !strings.Contains(body, text) {
				t.Errorf("the log of the instance lacks %q", text)
			}
			for who, at := range map[*gatewaytest.Staff]string{
				boss: "/dashboard/" + shop.String() + "/audit", op: "/operator/audit?on=tenants",
			} {
				if _, body := who.Get(t, at); strings.Count(body, text) < 2 {
					t.Errorf("%s lacks %q", at, text)
				}
			}
		}
		res, _ = op.Get(t, "/operator/users/"+uuid.NewString()+"/disable")
		want(t, "an unknown user", res, 404, "")
	})
}

// TestTestCap: a tenant's own cap applies; when it is removed, the operator's
// default applies again.
func TestTestCap(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		shop := g.Shop(t, "", nil)
		page := "/operator/tenants/" + shop.Tenant.ID.String()
		create := func(status int) {
			t.Helper()
			g.Do(t, gatewaytest.Row{Name: "create", Path: "/api/v1/sessions/create", Key: shop.Test.APIKey,
				Body: `{"target_age":18}`, Status: status})
		}
		for _, tt := range []struct {
			cap    string
			status int
		}{{"0", 429}, {"1", 201}, {"1", 429}, {"-1", 201}, {"1", 429}, {"", 201}} {
			res, _ := op.Fill(t, page+"/limits", url.Values{"test_cap": {tt.cap}})
			want(t, "cap "+tt.cap, res, 303, page)
			create(tt.status)
		}
	})
}

// TestSystem: a replica that differs is marked, and failed webhooks are counted.
func TestSystem(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		at := g.Clock.Now()
		for i, models := range []string{"aaaa", "aaaa", "bbbb", ""} {
			err := g.App.Insight.Heartbeat(t.Context(), insight.Replica{
				ID: uuid.New(), StartedAt: at.Add(time.Duration(i-9) * time.Second), Version: "v1", Models: models, Config: "cccc",
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		shop := g.Shop(t, "", nil) // without a Webhook URL, so that no attempt interferes
		g.Force(t, gatewaytest.Browser(), g.Create(t, shop.Test.APIKey, 18), "verified")
		g.Exec(t, "UPDATE webhook_events SET status = 'failed', next_attempt_at = NULL")
		g.Exec(t, "DELETE FROM webhook_endpoints")
		g.Exec(t, "UPDATE tenants SET webhook_url = 'https://hooks.example:8443/x'")
		g.Exec(t, "INSERT INTO webhook_endpoints (id, tenant_id, livemode, url, first_failure_at, disabled_at, "+
			"disabled_reason) VALUES ('"+
			strings.Repeat("e", 35)+"', '"+shop.Tenant.ID.String()+
			"', false, 'https://hooks.example:8443/x', '2026-01-02 03:04:05+00:00', '2026-01-02 03:04:05+00:00', 'failing')")
		migrations, err := os.ReadDir("../../store/migrations/postgres")
		if err != nil {
			t.Fatal(err)
		}
		number, _, _ := strings.Cut(migrations[len(migrations)-1].Name(), "_")
		newest := strings.TrimLeft(number, "0")
		_, body := op.Get(t, "/operator/system")
		if !strings.Contains(body, "<code>hooks.example:8443</code>") || strings.Contains(body, "hooks.example:8443/x") {
			t.Error("the disabled endpoint is not listed by its host alone")
		}
		if !strings.Contains(body, `href="/operator/tenants/`+shop.Tenant.ID.String()+`"`) {
			t.Error("the failed webhook is not counted")
		}
		if !strings.Contains(body, `data-testid="drift"`) ||
			!strings.Contains(body, "bbbb<wbr></code> <span class=\"badge bad\">differs") {
			t.Error("the replica that differs is not marked")
		}
		if strings.Contains(body, `data-label="Models"><span class="badge bad">missing`) {
			t.Error("a replica of the API alone is marked for having no models")
		}
		if strings.Contains(body, "<code>aaaa</code> <span") || !strings.Contains(body, "version "+newest+" of the tables") {
			t.Errorf("what is as usual is marked, or migration %s is missing", newest)
		}
		if told := testID(t, body, "backup"); told != "No backup is known." {
			t.Errorf("of a backup that nobody told the page says %q", told)
		}
		if err := g.App.Store.RecordBackup(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		g.Clock.Advance(time.Minute)
		_, body = op.Get(t, "/operator/system?lang=en")
		if told := between(t, body, `data-testid="backup">`, "</small>"); !strings.HasPrefix(told, "Last backup: <time") ||
			!strings.Contains(told, at.UTC().Format("2006-01-02T15:04:05Z")) {
			t.Errorf("of the last backup the page says %q", told)
		}
		_, part := op.Get(t, "/operator/system?part=system")
		if !strings.Contains(part, "bbbb") || strings.Contains(part, "<html") {
			t.Error("the part is not the part")
		}
	})
}
