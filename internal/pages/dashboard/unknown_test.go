package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"

	"github.com/google/uuid"
)

// A page that does not exist answers 404 with the navigation of the user. A page of
// another tenant gives the same answer.
func TestUnknownPages(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, foreign := g.Shop(t, "", nil), g.Shop(t, "", nil)
		viewer := member(t, g, shop.Tenant.ID, account.Viewer)
		developer := member(t, g, shop.Tenant.ID, account.Developer)
		operator := g.SignIn(t, true, account.ByPasskey)
		nothing := uuid.NewString()
		own, theirs := "/dashboard/"+shop.Tenant.ID.String(), "/dashboard/"+foreign.Tenant.ID.String()
		const bare, account, tenant, operators = `class="button" href="/dashboard">`, `data-testid="nav-home"`,
			`/test/sessions"`, `href="/operator/users"`
		for _, tt := range []struct {
			who         string
			by          *gatewaytest.Staff
			path, leads string
		}{
			{"nobody", g.Nobody(), "/dashboard/nope", bare},
			{"nobody", g.Nobody(), "/operator/nope", bare},
			{"viewer", viewer, "/dashboard/nope", account},
			{"viewer", viewer, "/dashboard/nope/at/all", account},
			{"viewer", viewer, "/operator/nope", account},
			{"viewer", viewer, "/operator/users", account},
			{"viewer", viewer, own + "/test/nope", account},
			{"viewer", viewer, theirs + "/test", account},
			{"viewer", viewer, "/dashboard/" + nothing + "/test", account},
			{"viewer", viewer, own + "/test/sessions/" + nothing, tenant},
			{"viewer", viewer, own + "/live/playground/" + nothing, `/live/sessions"`},
			{"developer", developer, own + "/live/playground", own + `/test" data-testid="in-test">Test</a>`},
			{"developer", developer, theirs + "/live/playground", account},
			{"operator", operator, "/operator/nope", operators},
			{"operator", operator, "/dashboard/nope", operators},
			{"operator", operator, "/operator/tenants/" + nothing, operators},
		} {
			res, body := tt.by.Get(t, tt.path)
			if res.StatusCode != http.StatusNotFound || !strings.Contains(body, tt.leads) ||
				strings.Contains(body, bare) != (tt.leads == bare) {
				t.Errorf("%s at %s: %d, without %s:\n%s", tt.who, tt.path, res.StatusCode, tt.leads, body)
			}
		}
		_, missing := viewer.Get(t, "/dashboard/"+nothing+"/test")
		_, other := viewer.Get(t, theirs+"/test")
		if missing != other {
			t.Error("a tenant of others does not look like a missing one")
		}
	})
}
