package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
)

// TestZeroIsNotListed: pages before an act leave out what it does to nothing.
func TestZeroIsNotListed(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		_, review := o.developer.Post(t, o.at("/settings/urls"), url.Values{
			"success_url": {"https://shop.example/new"}, "cancel_url": {"https://shop.example/back"},
			"webhook_url": {"https://new.example/hook"},
		})
		_, resend := o.developer.Get(t, o.at("/test/webhooks/resend"))
		_, deliveries := o.developer.Get(t, o.at("/test/webhooks"))
		o.developer.Post(t, o.at("/test/webhooks/resend"), url.Values{"nonce": {nonceOf(t, resend)}, "since": {"1h"}})
		_, resent := o.developer.Get(t, o.at("/test/webhooks"))
		_, keys := o.developer.Get(t, o.at("/test/keys"))
		_, revoke := o.developer.Get(t, between(t, keys[strings.Index(keys, `class="row-actions`):], `href="`, `"`))
		g.Clock.Advance(time.Minute) // sessions of keys are counted at most 15 s ago
		o.Create(t, o.shop.Test.APIKey, 18)
		_, usedKeys := o.developer.Get(t, o.at("/test/keys"))
		o.developer.Post(t, "/dashboard/account/zone", url.Values{"zone": {"Asia/Tokyo"}})
		_, zoned := o.developer.Get(t, between(t, usedKeys[strings.Index(usedKeys, `class="row-actions`):], `href="`, `"`))
		for _, tt := range []struct{ page, has, lacks string }{
			{review, "keep all their URLs", "keep the webhook URL"},
			{resend, "No delivery has failed in the last 30 days.", "0 failed deliveries"},
			{resend, "Deliveries that are still retried are left out", "retried are sent"},
			{deliveries, "Nothing to deliver yet", `data-testid="filter"`},
			{deliveries, "Nothing to deliver yet", `data-testid="resend-failed"`},
			{resent, "No delivery of that time has failed", "You sent the failed"},
			{usedKeys, ">1 session<", "Something went wrong"},
			{keys, ">None<", `data-testid="key-sessions">0`}, // the list also has those of the days before
			{zoned, " JST", " UTC"}, // the time of its last use
			{revoke, "It has never been used.", "0 sessions"},
		} {
			if !strings.Contains(tt.page, tt.has) || strings.Contains(tt.page, tt.lacks) {
				t.Errorf("a page lacks %q, or has %q", tt.has, tt.lacks)
			}
		}
	})
}

// TestNoFiguresOfNothing: the overview has figures only of what there is: none of a time without sessions, and no funnel
// or times before a check that no test forced.
func TestNoFiguresOfNothing(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		made := g.Create(t, o.shop.Test.APIKey, 18)
		shows := func(query string, wanted ...bool) {
			t.Helper()
			_, body := member(t, g, o.shop.Tenant.ID, account.Viewer).Get(t, o.at("/test?lang=en&window="+query))
			for i, part := range []string{`data-testid="no-figures"`, `class="tiles"`, "Sessions over time", "Shopper funnel",
				"Time to decision"} {
				if strings.Contains(body, part) != wanted[i] {
					t.Errorf("%s: the overview shows %s: %t", query, part, !wanted[i])
				}
			}
		}
		shows("24h", false, true, true, true, false)
		g.Force(t, gatewaytest.Browser(), made, "verified")
		g.Clock.Advance(time.Minute) // figures are computed every 15 s
		shows("24h", false, true, true, false, false)
		g.Exec(t, "UPDATE sessions SET source = 'camera'")
		g.Clock.Advance(time.Minute)
		shows("24h", false, true, true, true, true)
		g.Clock.Advance(25 * time.Hour)
		shows("24h", true, false, false, false, false)
		shows("7d", false, true, true, true, true)
	})
}

// TestTypedSpacesStay: a page in English shows the space behind a Japanese full stop that a
// merchant typed, so that saving the form does not change the name.
func TestTypedSpacesStay(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		const name = "酒屋。 東京"
		shop := g.Shop(t, "", func(t *tenant.Tenant) { t.Name = name })
		if _, html := member(t, g, shop.Tenant.ID, account.Owner).Get(t, "/dashboard/"+shop.Tenant.ID.String()+
			"/settings"); !strings.Contains(html, name) {
			t.Error("the page shows another name")
		}
	})
}
