package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/tenant"
)

// TestCodesSayWhatAPhoneCanDo: a link to this machine has no QR code, since it leads a
// phone to the phone itself, and one without https says that it gives no camera.
func TestCodesSayWhatAPhoneCanDo(t *testing.T) {
	for address, want := range map[string]struct {
		code bool
		says string
	}{
		"http://localhost:8080":   {false, "A phone cannot open it"},
		"http://192.168.1.5:8080": {true, "A phone gives its camera only to an https address"},
		"https://age.example":     {true, "scan the code with a phone to make the check for age 18"},
	} {
		gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
			shop := g.Shop(t, "", nil)
			base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
			dev := member(t, g, shop.Tenant.ID, account.Developer)
			res, _ := dev.Fill(t, base+"/playground", url.Values{"target_age": {"18"}})
			_, page := dev.Get(t, res.Header.Get("Location"))
			if strings.Contains(page, "qr.png") != want.code || !strings.Contains(page, want.says) {
				t.Errorf("%s: the page has the wrong code, or lacks %q", address, want.says)
			}
		}, "AGEGATE_VERIFY_URL="+address)
	}
}

// TestFallbackIsPressedOnce: the button of a fallback ends the session, also while the document check is on. What a
// forced fallback alone offers first is not said to be a shopper who left the camera out.
func TestFallbackIsPressedOnce(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		for _, on := range []bool{true, false} {
			shop := g.Shop(t, "", func(t *tenant.Tenant) { t.DocumentCheck = on })
			base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
			dev := member(t, g, shop.Tenant.ID, account.Developer)
			made := g.Create(t, shop.Test.APIKey, 18)
			res, _ := dev.Fill(t, base+"/playground", url.Values{"target_age": {"18"}})
			_, page := dev.Get(t, res.Header.Get("Location"))
			if !strings.Contains(page, `?force=fallback&amp;end"`) {
				t.Errorf("document check %t: the button does not end the session", on)
			}
			if opens := `?force=fallback" target="_blank" rel="noopener noreferrer" data-testid="force-document"`; strings.
				Contains(page, opens) != on {
				t.Errorf("document check %t: the page has the wrong choice of a document", on)
			}
			g.Force(t, gatewaytest.Browser(), made, "fallback")
			_, page = dev.Get(t, base+"/sessions/"+made.SessionID)
			if on && !strings.Contains(page, "A test forced a fallback") ||
				strings.Contains(page, "shopper went on") {
				t.Error("the timeline says that a shopper left the camera out")
			}
		}
	})
}

// TestCapIsShownBeforeItBites: the playground and the form of a test event say how many
// test sessions are left today and who can raise the limit, and when none is left.
func TestCapIsShownBeforeItBites(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		d := newDevBrowser(t, g, "")
		two, unlimited := int64(2), int64(billing.Unlimited)
		limit := func(n *int64) {
			if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), d.shop.Tenant.ID,
				tenant.Changes{TestCap: n}); err != nil {
				t.Fatal(err)
			}
		}
		limit(&two)
		for _, left := range []string{"2 of 2 test sessions are left", "1 of 2 test sessions is left",
			"0 of 2 test sessions are left"} {
			for _, page := range []string{"/test/playground", "/test/webhooks/test", "/test/keys"} {
				body := d.see(t, 200, page)
				if !strings.Contains(body, left) || !strings.Contains(body, "operator can raise the limit") {
					t.Errorf("%s does not say %q", page, left)
				}
			}
			res, body := d.Fill(t, d.base+"/test/playground", map[string][]string{"target_age": {"18"}})
			if none := left[0] == '0'; (res.StatusCode == 303) == none ||
				none && !strings.Contains(body, "Today’s test sessions are used up") {
				t.Errorf("%s: %d", left, res.StatusCode)
			}
		}
		limit(&unlimited)
		if body := d.see(t, 200, "/test/playground"); strings.Contains(body, `data-testid="tests-left"`) {
			t.Error("a limit is shown where there is none")
		}
	})
}

// TestAllFaultsAreNamedAtOnce: an empty field hides no other one's fault.
func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		d := newDevBrowser(t, g, "")
		_, page := d.Fill(t, d.base+"/test/playground", url.Values{
			"target_age": {""}, "success_url": {"https://other.example/"}, "cancel_url": {"no address"}})
		operator := g.SignIn(t, true, account.ByPasskey)
		d.stepUp(t)
		_, credit := operator.Fill(t, "/operator/tenants/"+d.shop.Tenant.ID.String()+"/credit", url.Values{"units": {"many"}})
		for body, fields := range map[string][]string{
			page: {"target_age", "success_url", "cancel_url"}, credit: {"units", "note"},
		} {
			for _, field := range fields {
				if !strings.Contains(body, `href="#f-`+field+`"`) {
					t.Errorf("the fault of %s is not named in %s", field, body)
				}
			}
		}
	})
}
