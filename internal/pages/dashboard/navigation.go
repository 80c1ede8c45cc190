package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// Home is the path of the dashboard's first page.
const Home = "/dashboard"

// Patterns that many features use.
const (
	homePath     = Home
	accountPath  = "/dashboard/account"
	overviewPath = "/dashboard/:tenant/:mode"
)

var tenantNav = []desk.NavGroup{
	{Items: []desk.NavItem{
		{Name: "overview", Pattern: overviewPath, Icon: "home", Alone: true},
		{Name: "sessions", Pattern: sessionsPath, Icon: "people"},
	}},
	{Name: "developers", Items: []desk.NavItem{
		{Name: "keys", Pattern: keysPath, Icon: "key"},
		{Name: "webhooks", Pattern: webhooksPath, Icon: "send"},
		{Name: "redirect_secret", Pattern: redirectPath, Icon: "shield"},
		{Name: "playground", Pattern: playgroundPath, Icon: "play"},
		{Name: "refusals", Pattern: refusalsPath, Icon: "stop"},
	}},
	{Name: "organisation", Items: []desk.NavItem{
		{Name: "settings", Pattern: settingsPath, Icon: "settings"},
		{Name: "team", Pattern: teamPath, Icon: "team"},
		{Name: "billing", Pattern: billingPath, Icon: "card"},
		{Name: "audit", Pattern: auditPath, Icon: "list"},
		{Name: "evidence", Pattern: evidencePath, Icon: "seal"},
	}},
}

var operatorNav = []desk.NavGroup{{Name: "operator", Items: []desk.NavItem{
	{Name: "tenants", Pattern: operatorPath, Icon: "home", Below: operatorPath + "/tenants"},
	{Name: "users", Pattern: usersPath, Icon: "team"},
	{Name: "system", Pattern: systemPath, Icon: "settings"},
	{Name: "operator_audit", Pattern: operatorAuditPath, Icon: "list"},
}}}

var accountNav = []desk.NavGroup{{Items: []desk.NavItem{
	{Name: "home", Pattern: homePath, Icon: "home", Alone: true},
	{Name: "account", Pattern: accountPath, Icon: "team"},
}}}

// navigation has the texts of the navigation.
func (p *Pages) navigation() desk.Feature {
	var f desk.Feature
	for _, group := range slices.Concat(tenantNav, operatorNav, accountNav) {
		if group.Name != "" {
			f.Keys = append(f.Keys, "nav."+group.Name)
		}
		for _, item := range group.Items {
			f.Keys = append(f.Keys, "nav."+item.Name)
		}
	}
	return f
}

// frame adds the navigation and the notices to the frame of a page.
func (p *Pages) frame(r *desk.Request, l *desk.Layout) {
	switch {
	case r.Route.HasTenant(), r.Access.TenantID() != uuid.Nil:
		l.Nav = r.Nav(tenantNav)
		l.Tenant = p.tenantViewOf(r)
		l.Low = p.lowBalance(r)
		if r.Opens(pastePath) {
			l.Find = r.Href(pastePath)
		}
		if l.Operator {
			l.Shops = []desk.ShopView{{Name: r.Tenant.Name, Href: homePath}}
		}
	case r.Route.MinRole == desk.Operator:
		l.Nav, l.Find, l.Shops = r.Nav(operatorNav), findPath, p.shops(r)
	case r.Route.Path == "" && l.Operator: // there is no such page
		l.Nav = r.Nav(operatorNav)
	case r.Route.Path == accountPath, r.Route.Path == "":
		l.Nav = r.Nav(accountNav)
	}
}

// maxShops is how many of an operator's tenants are named; the rest are on the dashboard's first page.
const maxShops = 3

// shops returns the ways from the operator's pages to the tenants of the user, and to
// the one that the user looks into. Without those the page is shown all the same.
func (p *Pages) shops(r *desk.Request) (shops []desk.ShopView) {
	member, err := p.membershipsOf(r, r.Who.User().ID, landing)
	if at := r.Who.Login(); err == nil && at.EnteredTenant != nil && at.EnteredUntil.After(p.cfg.Now()) {
		var t tenant.Tenant
		t, err = p.cfg.Tenants.Tenant(r.Ctx(), *at.EnteredTenant)
		member = append(member, memberOf{Tenant: t, Href: desk.Href(overviewPath, t.ID.String(), audit.Mode(false))})
	}
	if unread, _ := r.Unread("shops", err); unread {
		return nil
	}
	for _, m := range member[:min(len(member), maxShops)] {
		shops = append(shops, desk.ShopView{Name: m.Tenant.Name, Href: m.Href})
	}
	return shops
}

func (p *Pages) tenantViewOf(r *desk.Request) *desk.TenantView {
	pattern := r.Route.Path
	if !r.Route.HasMode() || r.Route.TestOnly || r.Route.Method != http.MethodGet || strings.Count(pattern, ":") > 2 {
		pattern = overviewPath // an object of one mode does not exist in the other
	}
	if !r.Opens(pattern) {
		pattern = refusalsPath
	}
	id := r.Access.TenantID().String()
	v := &desk.TenantView{
		Name: r.Tenant.Name, Disabled: r.Tenant.Disabled,
		Test: desk.Href(pattern, id, "test"), Live: desk.Href(pattern, id, "live"),
	}
	if r.Route.HasMode() {
		v.Mode = r.Mode()
	}
	if v.Disabled && r.May(account.ReadAudit) {
		if act := p.disabling(r, r.Access.TenantID()); act != nil {
			v.Reason = act.Details().Params["reason"]
		}
	}
	return v
}

// disabling returns the act that disabled a tenant; nil without one, or if the log cannot be read.
func (p *Pages) disabling(r *desk.Request, tenantID uuid.UUID) *audit.Entry {
	acts, err := p.cfg.Audit.AuditEntries(r.Ctx(),
		audit.Filter{Scope: audit.OfTenant(tenantID), Action: audit.TenantDisable, Limit: 1})
	if err != nil || len(acts) == 0 { // the page of the log reports an error
		return nil
	}
	return &acts[0]
}

// landing returns the pattern of the first page for a member of a tenant.
func landing(role account.Role) string {
	if role.May(account.ReadSessions) {
		return overviewPath
	}
	return auditPath
}
