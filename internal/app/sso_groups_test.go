package app_test

import (
	"fmt"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
)

// TestWhatAProviderSaysOfGroups: a token that does not say in which groups somebody is changes nothing, and refuses the
// log-in with its reason. Every group of one that says it counts.
func TestWhatAProviderSaysOfGroups(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	const canary = "secret-group"
	var many []string
	for i := range 2999 {
		many = append(many, fmt.Sprint(canary, i))
	}
	elsewhere := map[string]any{"groups": nil, "_claim_names": map[string]string{"groups": "src1"},
		"_claim_sources": map[string]any{"src1": map[string]string{"endpoint": "https://graph.example/" + canary}}}
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		id, owner := g.Shop(t, "", nil).Tenant.ID, g.SignIn(t, false, account.ByPasskey)
		g.Join(t, owner, id, account.Owner)
		g = g.Restart(t, idp.Settings("shop-team=owner@"+id.String())...)
		ann := g.Nobody()
		ann.LogInBy(t, idp, account.SSOPath, groups("shop-team"))
		of := "memberships WHERE role = 'owner' AND tenant_id = '" + id.String() + "'"
		for _, tt := range []struct {
			name   string
			claims map[string]any
			why    string // of the refusal, with the claim and the number of groups
			loses  bool   // the rights and the log-ins from before
		}{
			{name: "missing", claims: map[string]any{"groups": nil}, why: "no_claim claim=groups groups=0"},
			{name: "under another name", claims: map[string]any{"groups": nil, "roles": []string{"shop-team"}},
				why: "no_claim claim=groups groups=0"},
			{name: "another shape", claims: map[string]any{"groups": map[string]any{"shop-team": true}},
				why: "no_claim claim=groups groups=0"},
			{name: "not names", claims: map[string]any{"groups": []any{7, "shop-team"}}, why: "no_claim claim=groups groups=0"},
			{name: "elsewhere", claims: elsewhere, why: "overage claim=groups groups=0"},
			{name: "hasgroups", claims: map[string]any{"groups": nil, "hasgroups": true}, why: "overage claim=groups groups=0"},
			{name: "the last of 3,000", claims: groups(append(many, "shop-team")...)},
			{name: "one text", claims: map[string]any{"groups": "shop-team"}},
			{name: "Keycloak's path", claims: groups("/everyone", "/shop-team")},
			{name: "Keycloak's path below another", claims: groups("/canteen/shop-team"), loses: true,
				why: "no_group claim=groups groups=1"},
			{name: "back", claims: groups("shop-team")},
			{name: "another case", claims: groups("Shop-Team", canary), loses: true, why: "no_group claim=groups groups=2"},
		} {
			browser := g.Nobody()
			res := browser.LogInBy(t, idp, account.SSOPath, tt.claims)
			notice := ""
			if tt.why != "" {
				why, _, _ := strings.Cut(tt.why, " ")
				notice = "sso_" + why
			}
			if got := gatewaytest.Notice(res); got != notice {
				t.Errorf("%s: notice %q, want %q", tt.name, got, notice)
			}
			if log := g.Log.String(); !strings.Contains(log, tt.why) {
				t.Errorf("%s: the log does not have %q", tt.name, tt.why)
			}
			_, page := browser.Get(t, "/dashboard/login")
			if notice != "" && !strings.Contains(page, "Ask the administrator") ||
				notice == "sso_no_group" && !strings.Contains(page, "capital letters included") {
				t.Errorf("%s: the page does not say what to ask for", tt.name)
			}
			if notice == "" {
				ann = browser
			}
			res, _ = ann.Get(t, "/dashboard/account")
			if kept := g.Count(t, of) == 2 && res.StatusCode == 200; kept == tt.loses {
				t.Errorf("%s: rights and log-ins from before are kept: %t", tt.name, kept)
			}
		}
		if strings.Contains(g.Log.String(), canary) {
			t.Error("the log has a group")
		}
	})
}

// TestOwnersOfTheProviderEndInvitations: once the provider has made somebody a tenant's owner, the link for its
// first owner is gone, with its mail.
func TestOwnersOfTheProviderEndInvitations(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		id := g.Shop(t, "", nil).Tenant.ID
		g = g.Restart(t, idp.Settings("shop-team=owner@"+id.String())...)
		if _, err := g.App.Accounts.InviteOwner(t.Context(), audit.System("test"), id, account.Invitation{}); err != nil {
			t.Fatal(err)
		}
		g.Nobody().LogInBy(t, idp, account.SSOPath, groups("shop-team"))
		if n := g.Count(t, "memberships"); n != 1 {
			t.Errorf("%d members", n)
		}
		if n := g.Count(t, "links"); n != 0 {
			t.Errorf("%d links are left", n)
		}
	})
}
