package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
)

// TestSpentTenantIsSeen: that the API refuses a tenant's live sessions because its checks are used
// up is said to its operator and to its team, and to nobody once there is credit.
func TestSpentTenantIsSeen(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		if err := g.App.Store.RecordBackup(t.Context(), g.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		none := int64(0)
		o, op := newStaffed(t, g, func(t *tenant.Tenant) { t.FreeChecks = &none }), operating(t, g)
		own := operatedAt(o.shop.Tenant.ID)
		told := func(spent bool) {
			t.Helper()
			findings := []string{"callbacks", "https", "no_way"}
			if spent {
				findings = append(findings, "spent")
			}
			forget(g)
			shows(t, op, "spent", "finding", findings...)
			for path, says := range map[string]string{"/operator": "No checks left", own: "No checks left"} {
				if _, body := op.Get(t, path+"?lang=en"); strings.Contains(body, says) != spent ||
					strings.Contains(body, ">Enabled<") == spent {
					t.Errorf("%s says that no check is left: %t", path, !spent)
				}
			}
			for _, who := range []*gatewaytest.Staff{o.owner, o.developer, o.viewer} {
				for path, has := range map[string]bool{"/live": spent, "/test": false} {
					if _, body := who.Get(t, o.at(path)); strings.Contains(body, "no live session can be created (402)") != has {
						t.Errorf("%s says that no check is left: %t", path, !has)
					}
				}
			}
		}
		told(true)
		_, body := o.owner.Get(t, o.at("/live"))
		note := between(t, body, `<p class="summary" role="note" data-testid="spent">`, "</p>")
		if !strings.Contains(note, "/billing") {
			t.Errorf("the note leads to no action: %s", note)
		}
		if _, list := op.Get(t, "/operator?lang=en"); !strings.Contains(list, "none counted yet") ||
			!strings.Contains(list, "each is counted about two hours later") || !strings.Contains(list, "<strong>0</strong>") {
			t.Error("the list does not say that no decision is counted, and when they are")
		}
		_, page := op.Get(t, own)
		if free := testID(t, page, "free-checks"); free != "0" {
			t.Errorf("the page says of free checks %q", free)
		}
		op.Fill(t, own+"/disable", url.Values{"reason": {"r"}})
		_, page = op.Get(t, own+"?lang=en")
		if danger := page[strings.Index(page, "danger-zone"):]; strings.Contains(danger, "shoppers with an open link") ||
			!strings.Contains(danger, "deletes a disabled tenant for good") {
			t.Error("of a disabled tenant the page says first what disabling does")
		}
		if strings.Contains(page, "add credit") {
			t.Error("of a disabled tenant the page says that credit helps")
		}
		op.Fill(t, own+"/enable", url.Values{"reason": {"r"}})
		op.Fill(t, own+"/credit", url.Values{"units": {"1"}, "note": {"invoice"}})
		told(false)
	})
}

// TestHeldChecksAreSeen: what open sessions reserve is said beside the credit, and where none is left, to the operator and to
// the team, until a session ends without a result and its check is back.
func TestHeldChecksAreSeen(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		free := int64(1)
		o, op := newStaffed(t, g, func(t *tenant.Tenant) { t.FreeChecks = &free }), operating(t, g)
		own := operatedAt(o.shop.Tenant.ID)
		g.Create(t, o.shop.Live.APIKey, 18) // takes the free check
		op.Fill(t, own+"/credit", url.Values{"units": {"2"}, "note": {"invoice"}})
		told := func(want string) {
			t.Helper()
			_, operators := op.Get(t, own+"?lang=en")
			_, teams := o.owner.Get(t, o.at("/billing?lang=en"))
			for name, page := range map[string]string{"operator": operators, "team": teams} {
				if strings.Contains(page, `data-testid="held"`) != (want != "") ||
					want != "" && testID(t, page, "held") != want {
					t.Errorf("the page of the %s does not say %q", name, want)
				}
			}
		}
		const one = "1 check, free or prepaid, is reserved by an open session. Without a result, it comes back."
		told(one)
		g.Create(t, o.shop.Live.APIKey, 18)
		told("2 checks, free or prepaid, are reserved by open sessions. Those without a result come back.")
		g.Create(t, o.shop.Live.APIKey, 18)
		told("3 checks, free or prepaid, are reserved by open sessions. Those without a result come back.")
		if _, body := o.owner.Get(t, o.at("/live?lang=en")); !strings.Contains(between(t, body, `data-testid="spent"`, "</p>"),
			"All checks are taken, and 3 of them are only reserved by open sessions.") {
			t.Error("the overview does not say that open sessions reserve the checks")
		}
		g.Exec(t, "UPDATE holds SET expires_at = '2020-01-01 00:00:00+00:00'")
		g.Create(t, o.shop.Live.APIKey, 18) // takes the free one back
		g.Create(t, o.shop.Live.APIKey, 18) // takes those of the credit back first
		told("2 checks, free or prepaid, are reserved by open sessions. Those without a result come back.")
	})
}

// TestOperatorReadsWhyWebhooksFail: the tenant's page has the words of a delivery's page, and what
// allows an address. System does not call a gateway well over a table of failing test endpoints.
func TestOperatorReadsWhyWebhooksFail(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o, op := newStaffed(t, g, nil), operating(t, g)
		shop := o.shop.Tenant
		fails(t, g, shop, false, g.Clock.Now())
		g.Force(t, gatewaytest.Browser(), g.Create(t, o.shop.Test.APIKey, 18), "verified")
		for class, words := range map[string]string{"blocked": "AGEGATE_WEBHOOK_ALLOW_NETS", "timeout": ": No answer in time</p>"} {
			g.Exec(t, "UPDATE webhook_events SET status = 'waiting', next_attempt_at = NULL, lease_token = NULL, "+
				"last_class = '"+class+"'")
			_, page := op.Get(t, operatedAt(shop.ID)+"?lang=en")
			if note := between(t, page, `data-testid="failing"`, "</dd>"); !strings.Contains(note, words) {
				t.Errorf("%s: the page says %s", class, note)
			}
		}
		_, system := op.Get(t, "/operator/system?lang=en")
		if strings.Contains(system, "No problems found") || !strings.Contains(system, "No webhook was given up.") {
			t.Error("System says that all is well, or that no webhook failed")
		}
	})
}
