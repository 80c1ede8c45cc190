package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
)

// TestUsersAreListedWithTheirTenants: each user has the oldest memberships with the role,
// and of many it is said that there are more.
func TestUsersAreListedWithTheirTenants(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, ada, bob := operating(t, g), g.SignIn(t, false), g.SignIn(t, false)
		for i := range 5 {
			shop := g.Shop(t, "", func(t *tenant.Tenant) { t.Name = fmt.Sprint("Shop ", i) }).Tenant
			g.Clock.Advance(1)
			g.Join(t, ada, shop.ID, account.Developer)
			if i == 4 {
				g.Join(t, bob, shop.ID, account.Compliance)
			}
		}
		_, body := op.Get(t, "/operator/users?lang=en")
		for _, tt := range []struct {
			of      *gatewaytest.Staff
			tenants int
			says    []string
		}{
			{op, 0, []string{"–"}},
			{ada, 3, []string{"Shop 0</a>", "Shop 2</a>", "Developer", "…"}},
			{bob, 1, []string{"Shop 4</a>", "Compliance"}},
		} {
			_, row, _ := strings.Cut(body, tt.of.User.Email)
			row, _, _ = strings.Cut(row, "</tr>")
			if n := strings.Count(row, `data-testid="of"`); n != tt.tenants {
				t.Errorf("%s has %d tenants in the list, want %d", tt.of.User.Email, n, tt.tenants)
			}
			for _, text := range tt.says {
				if !strings.Contains(row, text) {
					t.Errorf("%s lacks %q:\n%s", tt.of.User.Email, text, row)
				}
			}
		}
	})
}
