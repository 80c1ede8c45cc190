package dashboard_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
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
		body = strings.ReplaceAll(body, "<wbr>", "")
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

// TestUsersOfNamesakes: where two tenants have the same name, the list of users shows a part of each tenant's ID.
func TestUsersOfNamesakes(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		want := map[string]bool{}
		for i := range 3 {
			shop := g.Shop(t, "", func(t *tenant.Tenant) { t.Name = []string{"Corner", "Corner", "Other"}[i] }).Tenant
			g.Join(t, g.SignIn(t, false), shop.ID, account.Owner)
			want[` <small data-testid="twin">…`+shop.ID.String()[30:]+`</small>`] = i < 2
		}
		_, body := op.Get(t, "/operator/users")
		for end, shown := range want {
			if strings.Contains(body, end) != shown {
				t.Errorf("%s is shown: %t", end, !shown)
			}
		}
	})
}

// TestAnotherOperator: a link for another operator works once, replaces the one before, and
// is in the audit log. A usual link is neither made nor used once there is an operator.
func TestAnotherOperator(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		usual, err := g.App.Accounts.NewSetupLink(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		operating(t, g)
		path := func(link string) string { return strings.TrimPrefix(link, "http://localhost:8080") }
		res, _ := g.Nobody().Post(t, path(usual), person("ada"))
		want(t, "the usual link, with an operator", res, 410, "")
		_, err = g.App.Accounts.NewSetupLink(t.Context(), nil)
		if !errors.Is(err, account.ErrOperatorExists) || !strings.Contains(err.Error(), "user enable or recover") {
			t.Errorf("another usual link: %v", err)
		}
		by, links := audit.Actor{Kind: audit.KindCLI, ID: "0", Name: "root"}, []string{}
		for range 2 {
			link, err := g.App.Accounts.NewOperatorLink(t.Context(), by, nil)
			if err != nil {
				t.Fatal(err)
			}
			links = append(links, path(link))
			if e := newest(t, g, audit.Instance); e.Action != audit.UserSetupLink || e.Actor != by {
				t.Errorf("the log has %s by %v", e.Action, e.Actor)
			}
		}
		if _, asks := g.Nobody().Get(t, links[1]); !strings.Contains(asks, "as an operator of this gateway") ||
			!strings.Contains(asks, "<h1>Join as an operator</h1>") || strings.Contains(asks, "Set up agegate") {
			t.Error("the link asks for the account of the one operator")
		}
		for _, tt := range []struct {
			name, link string
			status     int
			to         string
		}{
			{"a replaced link", links[0], 410, ""}, {"the link", links[1], 303, "/dashboard"},
			{"the link again", links[1], 410, ""},
		} {
			res, _ := g.Nobody().Post(t, tt.link, person("bob"))
			want(t, tt.name, res, tt.status, tt.to)
		}
		bob, err := g.App.Accounts.UserByEmail(t.Context(), person("bob").Get("email"))
		if err != nil || !bob.Operator {
			t.Errorf("bob is an operator: %t, %v", bob.Operator, err)
		}
	})
}

// TestAnOperatorInvitesAnother: the link of the page makes an operator. It ends when the one who made it is disabled.
func TestAnOperatorInvitesAnother(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		invite := func() string {
			t.Helper()
			_, body := op.Fill(t, "/operator/users/invite?lang=en", nil)
			link := regexp.MustCompile(`/dashboard/link/[\w-]+`).FindString(body)
			if e := newest(t, g, audit.Instance); link == "" || e.Action != audit.UserSetupLink ||
				e.Actor.ID != op.User.ID.String() {
				t.Errorf("the link %q: the log has %s by %v", link, e.Action, e.Actor)
			}
			return link
		}
		res, _ := g.Nobody().Post(t, invite(), person("bob"))
		want(t, "the link", res, 303, "/dashboard")
		bob, err := g.App.Accounts.UserByEmail(t.Context(), person("bob").Get("email"))
		if err != nil || !bob.Operator {
			t.Errorf("bob is an operator: %t, %v", bob.Operator, err)
		}
		link := invite()
		if err := g.App.Accounts.Disable(t.Context(), audit.Operator(bob.ID, "bob"), op.User.ID); err != nil {
			t.Fatal(err)
		}
		res, _ = g.Nobody().Post(t, link, person("eve"))
		want(t, "the link of a disabled operator", res, 410, "")
	})
}

// TestOpenLinksOfUsersAreRevoked: the links that make an operator and replace a user's factors are listed until when
// they are valid, and revoked with an entry in the log. Then they are good for nothing, and no longer listed.
func TestOpenLinksOfUsersAreRevoked(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		g.Clock.Advance(account.SetupTTL) // the link of the gateway's start
		op, ada := operating(t, g), g.SignIn(t, false)
		listed := func() []string {
			t.Helper()
			_, body := op.Get(t, "/operator/users?lang=en")
			_, body, _ = strings.Cut(body, "<h2>Open links</h2>")
			return strings.Split(body, `data-testid="link"`)[1:]
		}
		if found := listed(); len(found) != 0 {
			t.Errorf("open links at first: %s", found)
		}
		at := "/operator/users/" + ada.User.ID.String() + "/recover"
		for _, tt := range []struct{ made, says, target string }{
			{"/operator/users/invite", "Link for another operator", ""},
			{at, "Recovery link " + ada.User.Email, ada.User.ID.String()},
		} {
			_, body := op.Fill(t, tt.made+"?lang=en", nil)
			link := regexp.MustCompile(`/dashboard/link/[\w-]+`).FindString(body)
			found := listed()
			if len(found) != 1 || !strings.Contains(found[0], tt.says) || !strings.Contains(found[0], "Valid until <time") {
				t.Fatalf("%s is listed as %s", tt.says, found)
			}
			href := regexp.MustCompile(`/operator/users/links/\w+/revoke`).FindString(found[0])
			res, _ := ada.Get(t, href)
			want(t, "revoking by a user", res, 404, "")
			res, _ = op.Fill(t, href, nil)
			want(t, "revoking", res, 303, "/operator/users")
			if e := newest(t, g, audit.Instance); e.Action != audit.UserLinkRevoke || e.Target != tt.target ||
				e.Actor.ID != op.User.ID.String() {
				t.Errorf("%s: the log has %s of %q by %v", tt.says, e.Action, e.Target, e.Actor)
			}
			res, _ = g.Nobody().Post(t, link, person("eve"))
			want(t, "the link", res, 410, "")
			res, _ = op.Fill(t, href, nil)
			want(t, "revoking again", res, 404, "")
			if found := listed(); len(found) != 0 {
				t.Errorf("open links at last: %s", found)
			}
		}
	})
}

// TestWhatAnOwnerSetIsShown: a tenant's page shows operators its brand, the hosts of its callback URLs and the
// command for its evidence.
func TestWhatAnOwnerSetIsShown(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "https://hooks.example:8443/secret", func(t *tenant.Tenant) { t.Name = "Corner" }).Tenant
		g.Clock.Advance(48 * time.Hour)
		op := operating(t, g)
		colour := "#1f5f5b"
		if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), shop.ID,
			tenant.Changes{Brand: &tenant.BrandChanges{Colour: &colour}}); err != nil {
			t.Fatal(err)
		}
		_, body := op.Get(t, operatedAt(shop.ID)+"?lang=en")
		for part, says := range map[string]string{"brand": "Corner <code>#1f5f5b</code>",
			"urls": "Webhook URL: <code>hooks.example:8443</code>",
			"evidence": "agegate evidence --tenant " + shop.ID.String() + " --from " +
				shop.CreatedAt.UTC().Format(time.DateOnly)} {
			if shown := between(t, body, `data-testid="`+part+`"`, "</dd>"); !strings.Contains(shown, says) ||
				strings.Contains(shown, "secret") {
				t.Errorf("%s: %s", part, shown)
			}
		}
	})
}

// TestInvitingASecondFirstOwner: the refusal names what to do where the owner cannot log in.
func TestInvitingASecondFirstOwner(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, ada := g.Shop(t, "", nil).Tenant.ID, g.SignIn(t, false)
		g.Join(t, ada, shop, account.Owner)
		_, err := g.App.Accounts.InviteOwner(t.Context(), audit.System("test"), shop, account.Invitation{})
		for _, way := range []string{"under Team", "agegate user recover", "user enable", "agegate user list"} {
			if !errors.Is(err, account.ErrOwnerExists) || !strings.Contains(err.Error(), way) {
				t.Errorf("%q is not in %v", way, err)
			}
		}
		_, body := operating(t, g).Get(t, operatedAt(shop)+"/invite?lang=en")
		if !strings.Contains(body, "make a recovery link on the page Users") ||
			!strings.Contains(body, `href="/operator/users" data-testid="users"`) ||
			strings.Contains(body, `data-testid="confirm"`) {
			t.Error("the page names no way out, or asks for what it refuses")
		}
	})
}
