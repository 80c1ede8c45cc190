package dashboard_test

import (
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// TestLookUpShopperMail: a whole mail with an order's number finds the session first and then what the guide says of its
// words. A number that is no session's order is said to be none, and no page that a word names stands for it.
func TestLookUpShopperMail(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	target := "https://shop.example/paid?order=1042"
	made, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: shop.Tenant.ID, Livemode: true},
		session.CreateRequest{TargetAge: 18, SuccessURL: &target})
	if err != nil {
		t.Fatal(err)
	}
	support := member(t, g, shop.Tenant.ID, account.Support)
	base := "/dashboard/" + shop.Tenant.ID.String()
	at := "/live/sessions/" + made.SessionID.String()
	for text, guide := range map[string]string{
		"My son is 16 and passed, with my passport. Order 1042": "en a-parent-complains",
		"You hear from my lawyer. Order 1042":                   "en an-angry-or-legal-letter",
		"order 1042 I want a refund":                            "en charged-for-the-check",
		"Where is my photo? order 1042":                         "en a-shopper-asks-about-their-face",
		"Sie hören von meinem Anwalt. Bestellung 1042":          "de ein-w%c3%bctendes-schreiben",
		"Hello, somebody has photographed my passport and bought with it in your shop, which is identity theft, and I " +
			"go to the police with it now. It was the order 1042": "en an-angry-or-legal-letter",
	} {
		searched(t, support, base+"/live/paste?lang="+guide[:2], text, "", at+`" data-testid="hit"`, "#"+guide[3:])
		searched(t, support, base+"/live/paste?part=found&lang="+guide[:2], text, "",
			`<ul class="hits"><li><a href="`+base+at, "#"+guide[3:])
	}
	for text, says := range map[string][]string{
		"order 9999 where is my parcel":         {"<h2>Nothing found</h2>", "No order, ID, status or page has this name"},
		"Order 7777: my camera does not work":   {"#the-camera-does-not-open", "No session here has the number in your text"},
		"9999":                                  {"<h2>Nothing found</h2>"},
		"I am 34 and it refused me, order 1042": {at, "#a-shopper-was-refused-wrongly"},
	} {
		searched(t, support, base+"/live/paste?lang=en", text, "", says...)
	}
	for _, text := range []string{"1042", "order 1042", "live order 1042"} {
		searched(t, support, base+"/live/paste?lang=en", text, base+at)
	}
}
