package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
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
