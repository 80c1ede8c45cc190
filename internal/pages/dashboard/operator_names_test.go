package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
)

// TestNamesakes: a second tenant of a name is created with a warning, and a part of the ID tells the two apart.
func TestNamesakes(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, shop := operating(t, g), g.Shop(t, "", func(t *tenant.Tenant) { t.Name = "Corner" }).Tenant.ID
		first := shop.String()
		for name, twin := range map[string]bool{"Corner": true, "Harbour": false} {
			_, body := op.Fill(t, "/operator/tenants/new?lang=en", url.Values{"name": {name}})
			if strings.Contains(body, "Another tenant has this name.") != twin {
				t.Errorf("%s: whether another tenant has this name is said wrongly", name)
			}
		}
		for part, found := range map[string]bool{
			first[:8]: true, strings.ToUpper(first[:13]): true, first[30:]: true, first[31:]: false,
		} {
			res, body := op.Post(t, "/operator/find", url.Values{"text": {part}})
			if strings.Contains(body+res.Header.Get("Location"), operatedAt(shop)) != found {
				t.Errorf("%s: want found %t", part, found)
			}
		}
		res, _ := op.Get(t, "/operator/tenants")
		want(t, "the address of no tenant", res, 303, "/operator")
		if _, list := op.Get(t, "/operator?lang=en"); !strings.Contains(list, ">no API call yet<") {
			t.Error("the list does not say of what there is none yet")
		}
	})
}
