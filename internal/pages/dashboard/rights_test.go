package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
)

// TestLinksEndWithTheirMakersRight: a user who loses the right to create links
// cannot return through a link that they created before, even if they get the
// right again.
func TestLinksEndWithTheirMakersRight(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, accounts := operating(t, g), g.App.Accounts
		shop := g.Shop(t, "", nil)
		team := "/dashboard/" + shop.Tenant.ID.String() + "/team"
		keeper := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, keeper, shop.Tenant.ID, account.Owner)
		g.StepUp(t, keeper)
		invite := func(by *gatewaytest.Staff) string {
			t.Helper()
			_, body := by.Fill(t, team+"/invitations/new", url.Values{"role": {"developer"}})
			return strings.TrimPrefix(between(t, between(t, body, `class="shown"`, "</section>"), "<code>",
				"</code>"), "http://localhost:8080")
		}
		kept := invite(keeper)
		for name, lose := range map[string]func(who *gatewaytest.Staff){
			"demoted": func(who *gatewaytest.Staff) {
				res, _ := keeper.Post(t, team+"/"+who.User.ID.String(), url.Values{"role": {"viewer"}})
				want(t, "demote", res, 303, team)
			},
			"removed": func(who *gatewaytest.Staff) {
				res, _ := keeper.Post(t, team+"/"+who.User.ID.String()+"/remove", nil)
				want(t, "remove", res, 303, team)
			},
			"left": func(who *gatewaytest.Staff) {
				res, _ := who.Post(t, "/dashboard/account/leave/"+shop.Tenant.ID.String(), nil)
				want(t, "leave", res, 303, "/dashboard/account")
			},
			"disabled": func(who *gatewaytest.Staff) {
				res, _ := op.Fill(t, "/operator/users/"+who.User.ID.String()+"/disable", nil)
				want(t, "disable", res, 303, "/operator/users")
			},
		} {
			t.Run(name, func(t *testing.T) {
				former := g.SignIn(t, false, account.ByPasskey)
				g.Join(t, former, shop.Tenant.ID, account.Owner)
				g.StepUp(t, former)
				access := g.Access(t, former, shop.Tenant.ID)
				link := invite(former)
				lose(former)
				for range 2 {
					res, _ := g.Nobody().Get(t, link)
					want(t, "the link", res, 410, "")
					res, _ = g.Nobody().Post(t, link, person("back"))
					want(t, "a new person", res, 410, "")
					res, _ = g.SignIn(t, false).Post(t, link, url.Values{"as": {"me"}})
					want(t, "another user", res, 410, "")
					g.Join(t, former, shop.Tenant.ID, account.Viewer)
				}
				// A form that was sent while the right ended is too late.
				_, err := accounts.Invite(t.Context(), access, account.Invitation{Role: account.Developer})
				if fault.CodeOf(err) == "" {
					t.Errorf("an invitation made afterwards: %v", err)
				}
			})
		}
		res, _ := g.Nobody().Get(t, kept)
		want(t, "an owner's link", res, 200, "")
	})
}

// TestOperatorsLinksEndWithThem: a disabled operator keeps neither a first
// owner's invitation nor a recovery link.
func TestOperatorsLinksEndWithThem(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		former, shop, user := operating(t, g), g.Shop(t, "", nil), g.SignIn(t, false)
		actor, accounts := audit.Operator(former.User.ID, former.User.Name), g.App.Accounts
		owners, err := accounts.InviteOwner(t.Context(), actor, shop.Tenant.ID, account.Invitation{})
		if err != nil {
			t.Fatal(err)
		}
		recovery, err := accounts.NewRecoveryLink(t.Context(), actor, user.User.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := accounts.Disable(t.Context(), audit.System("test"), former.User.ID); err != nil {
			t.Fatal(err)
		}
		for name, link := range map[string]string{"an owner's invitation": owners, "a recovery link": recovery} {
			res, _ := g.Nobody().Post(t, strings.TrimPrefix(link, "http://localhost:8080"), person("back"))
			want(t, name, res, 410, "")
		}
		if _, err := accounts.InviteOwner(t.Context(), actor, shop.Tenant.ID, account.Invitation{}); fault.CodeOf(err) == "" {
			t.Errorf("an owner's invitation made afterwards: %v", err)
		}
		if _, err := accounts.NewRecoveryLink(t.Context(), actor, user.User.ID); fault.CodeOf(err) == "" {
			t.Errorf("a recovery link made afterwards: %v", err)
		}
	})
}
