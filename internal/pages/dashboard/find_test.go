package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// TestFindSession covers searching by what people have at hand. Viewers may
// search.
func TestFindSession(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, foreign := g.Shop(t, "", nil), g.Shop(t, "", nil)
		viewer := member(t, g, shop.Tenant.ID, account.Viewer)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		create := func(of tenant.Credentials, query, key string) string {
			target := of.Tenant.SuccessURL + query
			made, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: of.Tenant.ID}, session.CreateRequest{
				TargetAge: 18, SuccessURL: &target, IdempotencyKey: key,
			})
			if err != nil {
				t.Fatal(err)
			}
			return made.SessionID.String()
		}
		mine := create(shop, "?a=1&order=1042#top", "cart-77")
		other := create(shop, "?order=10421&note=x_y", "")
		theirs := create(foreign, "?order=1042", "cart-77")
		for _, tt := range []struct{ typed, finds, leaves string }{
			{"1042", mine, other}, {"order=1042", mine, other}, {"a=1", mine, other}, {"order=10421", other, mine},
			{"x_y", other, mine}, {"xzy", "", mine}, {"rder=1042", "", mine}, {mine[:8], mine, ""},
			{strings.ToUpper(mine[:35]), mine, other}, {mine[:9] + "--", "", mine},
		} {
			res, body := viewer.Get(t, base+"/sessions?id="+url.QueryEscape(tt.typed))
			want(t, tt.typed, res, http.StatusOK, "")
			if tt.finds != "" && !strings.Contains(body, "sessions/"+tt.finds) || tt.leaves != "" &&
				strings.Contains(body, "sessions/"+tt.leaves) || strings.Contains(body, theirs) {
				t.Errorf("%s does not find %q alone", tt.typed, tt.finds)
			}
		}
		for _, typed := range []string{"/v/" + strings.Repeat("A", 43), "a b", "%", "é"} {
			res, _ := viewer.Get(t, base+"/sessions?id="+url.QueryEscape(typed))
			want(t, typed, res, http.StatusUnprocessableEntity, "")
		}
		for pasted, leads := range map[string]string{
			"cart-77": base + "/sessions/" + mine, "order=1042": base + "/sessions?id=order%3D1042", mine[:13]: base +
				"/sessions?id=" + mine[:13],
		} {
			res, _ := viewer.Post(t, base+"/paste", url.Values{"text": {pasted}})
			want(t, pasted, res, http.StatusSeeOther, leads)
		}
		if res, body := viewer.Post(t, base+"/paste", url.Values{"text": {"cart/78"}}); res.StatusCode != 200 ||
			!strings.Contains(body, "No session of yours was made with this Idempotency-Key") {
			t.Errorf("an unknown key: %d", res.StatusCode)
		}
	})
}
