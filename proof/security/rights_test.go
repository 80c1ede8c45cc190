package security

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/proof/table"
)

// TestFormerOwners lets owners prepare ways to return, and then demotes, removes
// or disables them.
func TestFormerOwners(t *testing.T) {
	table.Beside(t)
	onEach(t, "Owners who lose their right", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		shop, keeper := g.Shop(t, "", nil), g.SignIn(t, false, account.ByPasskey)
		g.Join(t, keeper, shop.Tenant.ID, account.Owner)
		access := g.Access(t, keeper, shop.Tenant.ID)
		tenant := "/dashboard/" + shop.Tenant.ID.String()
		var returned, opened []string
		ends := map[string]func(former *gatewaytest.Staff) error{
			"demoted": func(former *gatewaytest.Staff) error {
				return g.App.Accounts.SetRole(t.Context(), access, former.User.ID, account.Viewer)
			},
			"removed": func(former *gatewaytest.Staff) error {
				return g.App.Accounts.RemoveMember(t.Context(), access, former.User.ID)
			},
			"disabled": func(former *gatewaytest.Staff) error {
				return g.App.Accounts.Disable(t.Context(), audit.System("test"), former.User.ID)
			},
		}
		for name, end := range ends {
			former := g.SignIn(t, false, account.ByPasskey)
			g.Join(t, former, shop.Tenant.ID, account.Owner)
			g.StepUp(t, former)
			var links []string
			for _, role := range []account.Role{account.Developer, account.Viewer} {
				link, err := g.App.Accounts.Invite(t.Context(), g.Access(t, former, shop.Tenant.ID),
					account.Invitation{Role: role})
				if err != nil {
					t.Fatal(err)
				}
				links = append(links, link[strings.Index(link, account.LinkPath):])
			}
			recovery, err := g.App.Accounts.NewRecoveryLink(t.Context(), audit.System("test"), former.User.ID)
			if err != nil {
				t.Fatal(err)
			}
			if name == "disabled" {
				links = append(links, recovery[strings.Index(recovery, account.LinkPath):])
			}
			if err := end(former); err != nil {
				t.Fatal(err)
			}
			for i, link := range links {
				form := url.Values{
					"name": {"Back"}, "email": {name + string(rune('a'+i)) + "@back.example"}, "password": {"correct horse battery"},
				}
				if res, _ := g.Nobody().Post(t, link, form); res.StatusCode != http.StatusGone {
					returned = append(returned, name+": "+res.Status)
				}
				if res, _ := g.SignIn(t, false).Post(t, link, url.Values{"as": {"me"}}); res.StatusCode != http.StatusGone {
					returned = append(returned, name+", as another user: "+res.Status)
				}
			}
			for _, page := range []string{"/live/developers/keys", "/test/developers/keys", "/team", "/settings"} {
				if res, _ := former.Post(t, tenant+page, url.Values{"name": {"x"}}); res.StatusCode < http.StatusMultipleChoices {
					opened = append(opened, name+" at "+page+": "+res.Status)
				}
			}
			if res, _ := former.Get(t, tenant+"/team"); res.StatusCode == http.StatusOK {
				opened = append(opened, name+" sees the team")
			}
		}
		r.Didf("%d ways to end an owner's right; the links made before, by strangers and by another user, and the pages of "+
			"owners", len(ends))
		r.None("links that still let somebody in", returned)
		r.None("pages still open", opened)
	})
}
