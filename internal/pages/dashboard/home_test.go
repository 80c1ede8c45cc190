package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
)

// TestLinksOfTheDocumentation: they lead to the playground and the keys of the
// user's tenant, and others to what they may see. A new key's page fills it into the
// documentation's examples.
func TestLinksOfTheDocumentation(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		id := g.Shop(t, "", nil).Tenant.ID
		at := "/dashboard/" + id.String() + "/test"
		for role, to := range map[account.Role][2]string{
			account.Developer: {at + "/playground", at + "/keys"}, account.Viewer: {at, at},
		} {
			user := member(t, g, id, role)
			for i, path := range []string{"/dashboard/playground", "/dashboard/keys"} {
				res, _ := user.Get(t, path)
				if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != to[i] {
					t.Errorf("%s: %s leads to %d %s", role, path, res.StatusCode, res.Header.Get("Location"))
				}
			}
		}
		_, shown := member(t, g, id, account.Developer).Fill(t, at+"/keys/new", url.Values{"name": {"Docs"}})
		if !strings.Contains(shown, "AGEGATE_API_KEY=svc_test_") || !strings.Contains(shown, "$AGEGATE_API_KEY") {
			t.Error("the new key's page does not set the examples' variables")
		}
	})
}

// TestPasswordAloneLeadsToTheFactors: an operator without tenants and without a second factor is led to the
// factors, not to a page that needs one and whose way on leads back to it.
func TestPasswordAloneLeadsToTheFactors(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	res, _ := g.SignIn(t, true).Get(t, "/dashboard")
	want(t, "by password alone", res, 303, "/dashboard/account")
	res, _ = operating(t, g).Get(t, "/dashboard")
	want(t, "with a second factor", res, 303, "/operator")
}
