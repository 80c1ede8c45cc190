package dashboard_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

// fails stores an endpoint of a tenant and a mode that has failed since a time.
func fails(t *testing.T, g *gatewaytest.Gateway, of tenant.Tenant, live bool, since time.Time) {
	t.Helper()
	at := since.Format("2006-01-02 15:04:05.000000+00:00")
	g.Exec(t, fmt.Sprintf("INSERT INTO webhook_endpoints (id, tenant_id, livemode, url, first_failure_at, disabled_reason) "+
		"VALUES ('%s', '%s', %t, '%s', '%s', '')",
		webhook.EndpointID(of.ID, live, of.WebhookURL), of.ID, live, of.WebhookURL, at))
}

// TestOperatorSeesTrouble: the operator's pages say that webhooks of a tenant fail and which
// tenant's, compare the tenants, and say who was invited.
func TestOperatorSeesTrouble(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		if err := g.App.Store.RecordBackup(t.Context(), g.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		op := operating(t, g)
		shops := map[string]tenant.Credentials{}
		free := int64(2)
		for _, name := range []string{"failing", "well", "stale", "invited"} {
			shops[name] = g.Shop(t, "https://hooks.example/"+name, func(t *tenant.Tenant) { t.Name, t.FreeChecks = name, &free })
		}
		finding := func(when string, want ...string) {
			t.Helper()
			forget(g)
			shows(t, op, when, "finding", want...)
		}
		finding("no webhook fails", "callbacks", "https", "no_way") // the estimator is off
		stale := shops["stale"].Tenant
		fails(t, g, stale, true, g.Clock.Now().Add(-time.Hour))
		g.Exec(t, "UPDATE tenants SET webhook_url = 'https://hooks.example/new' WHERE id = '"+stale.ID.String()+"'")
		finding("a URL of earlier fails", "callbacks", "https", "no_way")
		failing := shops["failing"].Tenant
		for _, live := range []bool{false, true} {
			fails(t, g, failing, live, g.Clock.Now().Add(-time.Hour))
			when, want := "a test endpoint fails", []string{"callbacks", "https", "no_way"}
			if live {
				when, want = "a live endpoint fails", append(want, "webhooks")
			}
			finding(when, want...)
			_, body := op.Get(t, "/operator/system?lang=en")
			if live && !strings.Contains(between(t, body, `data-testid="finding-webhooks"`, "</li>"), ">Problem<") {
				t.Errorf("%s: it is no problem", when)
			}
			_, row, _ := strings.Cut(body, `data-testid="failing-endpoint"`)
			row, _, _ = strings.Cut(row, "</tr>")
			if mode := map[bool]string{false: ">Test<", true: ">Live<"}[live]; !strings.Contains(row, mode) ||
				!strings.Contains(row, "<code>hooks.example</code>") ||
				!strings.Contains(row, `<a href="`+operatedAt(failing.ID)+`">failing</a>`) {
				t.Errorf("%s: host, tenant or mode is not named: %s", when, row)
			}
			_, list := op.Get(t, "/operator?lang=en")
			if strings.Contains(list, "Webhooks fail") != live {
				t.Errorf("%s: the list of tenants warns: %t", when, !live)
			}
			_, page := op.Get(t, operatedAt(failing.ID)+"?lang=en")
			note := between(t, page, `data-testid="failing"`, "</dd>")
			if strings.Contains(note, "(Live)") != live || !strings.Contains(note, "(Test)") {
				t.Errorf("%s: the page of the tenant says %s", when, note)
			}
		}

		op.Fill(t, "/operator/tenants/"+shops["invited"].Tenant.ID.String()+"/invite", nil)
		for range 2 {
			g.Create(t, shops["well"].Live.APIKey, 18)
		}
		g.Exec(t, "DELETE FROM holds")
		g.Exec(t, "UPDATE sessions SET status = 'PASSED', source = 'camera', completed_at = created_at WHERE livemode")
		res, _ := op.Fill(t, "/operator/tenants/"+shops["well"].Tenant.ID.String()+"/credit",
			url.Values{"units": {"1234567"}, "note": {"invoice"}})
		want(t, "credit", res, 303, "/operator/tenants/"+shops["well"].Tenant.ID.String())
		if _, body := op.Get(t, "/operator/tenants/"+shops["well"].Tenant.ID.String()); !strings.Contains(body,
			"1,234,567 units of credit are added. The balance is now 1,234,567.") {
			t.Error("the page does not confirm how much was booked")
		}
		_, list := op.Get(t, "/operator")
		for name, texts := range map[string][]string{
			"failing": {"Webhooks fail", `class="number">0 live<`, ">2 left<"},
			"well":    {"No owner yet", "2 live&nbsp;·&nbsp;–", ">1,234,567 left<"},
			"stale":   {"No owner yet", ">2 left<"},
			"invited": {"Owner invited", ">2 left<"},
		} {
			_, row, _ := strings.Cut(list, "<strong>"+name+"</strong>")
			row, _, _ = strings.Cut(row, "</tr>")
			for _, text := range texts {
				if !strings.Contains(row, text) {
					t.Errorf("the row of the tenant %s lacks %q:\n%s", name, text, row)
				}
			}
			_, own := op.Get(t, operatedAt(shops[name].Tenant.ID)+"?lang=en")
			if state := between(t, own, "<dt>State</dt><dd>", "</dd>"); !strings.Contains(state, texts[0]) ||
				!strings.Contains(own, " left today<") {
				t.Errorf("the page of the tenant %s says %s, the list %s", name, state, texts[0])
			}
		}
		_, page := op.Get(t, "/operator/tenants/"+shops["invited"].Tenant.ID.String())
		if !strings.HasPrefix(testID(t, page, "no-people"), "Nobody has joined yet. The owner’s invitation is valid until") {
			t.Error("the page of the tenant hides the invitation")
		}
	})
}

// TestForgedNotice: numbers that a notice does not have are 0, and no other text comes in.
func TestForgedNotice(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		for value, shown := range map[string]string{
			"tenant_credit": "0 units of credit are added. The balance is now 0.", "tenant_credit.5.x.7": "5 units",
			"tenant_credit.<b>.": "0 units", "none.1": "",
		} {
			_, body := g.Nobody().Send(t, "GET", "/dashboard/login", nil, map[string]string{"Cookie": "agegate-notice=" + value})
			if notice := strings.Contains(body, `data-testid="notice"`); notice != (shown != "") || !strings.Contains(body, shown) {
				t.Errorf("%q: %t", value, notice)
			}
		}
	})
}

// TestMembersKnowWhomToAsk: a page that a role may not open names the owners, and a disabled
// tenant who can enable it.
func TestMembersKnowWhomToAsk(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		res, body := o.viewer.Get(t, o.at("/team"))
		want(t, "the team", res, 403, "")
		owners := o.owner.User.Name + " · " + o.owner.User.Email
		if !strings.Contains(body, owners) || strings.Contains(body, o.developer.User.Email) ||
			!strings.Contains(body, `href="/dashboard" data-testid="way-on"`) {
			t.Errorf("the page names no owner, or has no way back:\n%s", body)
		}
		for _, disabled := range []bool{false, true} {
			if disabled {
				g.Exec(t, "UPDATE tenants SET disabled = true")
			}
			for _, path := range []string{"/test", "/billing"} {
				_, body := o.viewer.Get(t, o.at(path))
				if strings.Contains(body, "Only the gateway’s operator can enable it") != disabled {
					t.Errorf("%s of a disabled tenant (%t) says who can enable it, or not", path, disabled)
				}
			}
		}
	})
}

// TestLiveModeNamesWhatIsOpen: in live mode, those who integrate see each item that the checklist has left and that live
// sessions need, where it can be done, as before a live key: no number of steps, which another list would not have.
func TestLiveModeNamesWhatIsOpen(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, func(t *tenant.Tenant) { t.CancelURL = "" })
		open := func(who *gatewaytest.Staff, mode string) string {
			t.Helper()
			res, body := who.Get(t, o.at("/"+mode))
			want(t, mode, res, 200, "")
			if !strings.Contains(body, `data-testid="needs"`) {
				return ""
			}
			return between(t, body, `data-testid="needs">`, "</div>")
		}
		got := open(o.developer, "live")
		_, key := o.developer.Get(t, o.at("/live/keys/new"))
		if strings.Count(got, "<li>") != 2 || !strings.Contains(got, `or lead nowhere:</p><ul><li><a href="`) ||
			!strings.Contains(got, `/settings/urls">Set the Cancel URL`) || !strings.Contains(key, got) {
			t.Errorf("live mode says %q, the page of a new key %s", got, key)
		}
		if open(o.developer, "test") != "" || open(o.viewer, "live") != "" {
			t.Error("the note is shown beside the checklist, or to those who do not integrate")
		}
	})
}

// TestAnsweredEventRests: the page of an event asks again until the event is delivered.
func TestAnsweredEventRests(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		made := g.Create(t, o.shop.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), made, "verified")
		_, list := o.owner.Get(t, o.at("/test/webhooks"))
		event := o.at("/test/webhooks/events/" + between(t, list, "/webhooks/events/", `"`))
		for status, over := range map[string]bool{"failed": false, "delivered": true} {
			g.Exec(t, "UPDATE webhook_events SET status = '"+status+"', next_attempt_at = NULL")
			_, body := o.owner.Get(t, event+"?part=delivery")
			if strings.Contains(body, "data-over") != over {
				t.Errorf("%s: the page rests: %t", status, !over)
			}
		}
	})
}

// TestDeliveriesOfDays: the list of deliveries begins and ends with days.
func TestDeliveriesOfDays(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		g.Force(t, gatewaytest.Browser(), g.Create(t, o.shop.Test.APIKey, 18), "verified")
		today := g.Clock.Now().UTC()
		day := func(n int) string { return today.AddDate(0, 0, n).Format(time.DateOnly) }
		for query, found := range map[string]bool{
			"from=" + day(0): true, "from=" + day(1): false, "from=" + day(-1) + "&to=" + day(0): true,
			"from=" + day(-2) + "&to=" + day(-1): false, "from=" + day(0) + "&status=no_destination": false,
		} {
			res, body := o.owner.Get(t, o.at("/test/webhooks?"+query))
			want(t, query, res, 200, "")
			if strings.Contains(body, "/webhooks/events/") != found {
				t.Errorf("%s: want found %t", query, found)
			}
		}
		res, _ := o.owner.Get(t, o.at("/test/webhooks?from=yesterday"))
		want(t, "no day", res, 404, "")
	})
}

// TestFiguresAreGrouped: every large count on the pages is grouped alike, in files it is not.
func TestFiguresAreGrouped(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		free := int64(45678)
		o, op := newStaffed(t, g, func(t *tenant.Tenant) { t.FreeChecks = &free }), operating(t, g)
		own := "/operator/tenants/" + o.shop.Tenant.ID.String()
		op.Fill(t, own+"/credit", url.Values{"units": {"1234567"}, "note": {"x"}})
		o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner, url.Values{"alert_below": {"9876543"}}))
		g.Join(t, op, o.shop.Tenant.ID, account.Viewer)
		for _, path := range []string{o.at("/billing"), o.at("/live"), own, "/operator"} {
			_, body := op.Get(t, path)
			for _, plain := range []string{"1234567", "45678", "9876543", "1280245"} {
				if strings.Contains(body, plain) {
					t.Errorf("%s has %s", path, plain)
				}
			}
			_, german := op.Get(t, path+"?lang=de")
			if op.Get(t, path+"?lang=en"); !strings.Contains(body, "1,2") || !strings.Contains(german, "1.2") {
				t.Errorf("%s has no large count as the language writes it", path)
			}
		}
		_, csv := op.Get(t, o.at("/billing/ledger.csv"))
		if !strings.Contains(csv, ",1234567,") || strings.Contains(csv, "1,234,567") {
			t.Errorf("the file has %q", csv)
		}
		month := g.Clock.Now().UTC().Format("2006-01")
		_, use := op.Get(t, "/operator/use.csv")
		if !strings.Contains(use, "month,tenant_id,tenant,free_checks,credit_checks,credit_added\n"+
			month+","+o.shop.Tenant.ID.String()+","+o.shop.Tenant.Name+",0,0,1234567\n") {
			t.Errorf("the months' use is %q", use)
		}
	})
}

// TestAFormerURLThatFails: the operator's pages name a former Webhook URL that fails as long as events wait for it.
func TestAFormerURLThatFails(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, shop := operating(t, g), g.Shop(t, "https://former.example/hook", nil)
		g.Force(t, gatewaytest.Browser(), g.Create(t, shop.Test.APIKey, 18), "verified")
		fails(t, g, shop.Tenant, true, g.Clock.Now().Add(-time.Hour))
		g.Exec(t, "UPDATE tenants SET webhook_url = 'https://new.example/hook'")
		id := webhook.EndpointID(shop.Tenant.ID, true, shop.Tenant.WebhookURL)
		for _, tt := range []struct {
			set   string
			waits bool
		}{
			{"status = 'pending', next_attempt_at = '2099-01-01', last_class = 'dns'", true},
			{"status = 'waiting', next_attempt_at = NULL", true},
			{"status = 'failed', next_attempt_at = NULL", false},
			{"status = 'delivered', next_attempt_at = NULL", false},
		} {
			g.Exec(t, "UPDATE webhook_events SET livemode = TRUE, endpoint_id = '"+id+"', lease_token = NULL, "+tt.set)
			_, body := op.Get(t, "/operator/system?lang=en")
			if strings.Contains(body, "former.example</code> <small>Former Webhook URL</small>") != tt.waits ||
				strings.Contains(body, "No webhook endpoint fails") == tt.waits ||
				strings.Contains(body, `data-testid="finding-webhooks"`) != tt.waits {
				t.Errorf("%s: System says wrongly whether it fails", tt.set)
			}
			_, row, _ := strings.Cut(body, `data-testid="failing-endpoint"`)
			if row, _, _ = strings.Cut(row, "</tr>"); tt.waits && !strings.Contains(row, "</span>: Unknown host") ||
				tt.waits && !strings.Contains(body, `/docs/trouble#a-tenants-webhooks-fail" data-testid="read-webhooks"`) {
				t.Errorf("%s: System does not say why, or where to read on: %s", tt.set, row)
			}
			_, page := op.Get(t, operatedAt(shop.Tenant.ID)+"?lang=en")
			if strings.Contains(page, "Former Webhook URL <code>former.example") != tt.waits {
				t.Errorf("%s: the tenant's page says wrongly whether it fails", tt.set)
			}
		}
	})
}
