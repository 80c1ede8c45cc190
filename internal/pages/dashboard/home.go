package dashboard

import (
	"net/http"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

func (p *Pages) home() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: homePath, MinRole: desk.User,
				Handle: func(r *desk.Request) error { return p.choose(r, landing) }},
			{Method: http.MethodGet, Path: homePath + "/playground", MinRole: desk.User, Handle: p.ofDevelopers(playgroundPath)},
			{Method: http.MethodGet, Path: homePath + "/keys", MinRole: desk.User, Handle: p.ofDevelopers(keysPath)},
		},
		Screens: []string{"home"},
		Keys:    roleKeys("role."),
	}
}

// roleKeys returns the keys of a text for each role.
func roleKeys(prefix string) []string { return page.Keys(prefix, account.Roles()...) }

type homeView struct {
	desk.Layout
	Tenants []memberOf
}

// memberOf is a tenant of the user.
type memberOf struct {
	Tenant tenant.Tenant
	Role   string
	Href   string
	Twin   bool // a list of users shows another tenant of the name
}

// ofDevelopers redirects to a path of the user's tenant, if the user may develop there.
// The documentation links to it, because it does not know the tenant.
func (p *Pages) ofDevelopers(path string) func(*desk.Request) error {
	return func(r *desk.Request) error {
		return p.choose(r, func(role account.Role) string {
			if role.May(account.Develop) {
				return path
			}
			return landing(role)
		})
	}
}

// choose lets the user choose a tenant. A user with one tenant is redirected there, and an operator without any to
// the operator's pages, or to the second factor that these need. path returns the path to which a tenant's link leads,
// for the user's role in the tenant.
func (p *Pages) choose(r *desk.Request, path func(account.Role) string) error {
	member, err := p.membershipsOf(r, r.Who.User().ID, path)
	if err != nil {
		return err
	}
	v := &homeView{Tenants: member}
	switch {
	case len(v.Tenants) == 1:
		return r.Done(v.Tenants[0].Href, "")
	case len(v.Tenants) == 0 && r.Who.User().Operator && !r.Who.Strong():
		return r.Done(accountPath, "")
	case len(v.Tenants) == 0 && r.Who.User().Operator:
		return r.Done(operatorPath, "")
	}
	return r.Show(http.StatusOK, "home", v)
}

// membershipsOf returns the tenants of a user, oldest membership first, with links as in choose.
func (p *Pages) membershipsOf(r *desk.Request, userID uuid.UUID, path func(account.Role) string) ([]memberOf, error) {
	memberships, err := p.cfg.Accounts.MembershipsOf(r.Ctx(), userID)
	if err != nil {
		return nil, err
	}
	var all []memberOf
	for _, m := range memberships {
		t, err := p.cfg.Tenants.Tenant(r.Ctx(), m.TenantID)
		if err != nil {
			return nil, err
		}
		mode := audit.Mode(m.Role == account.Support && r.Who.Strong()) // shoppers ask support about live orders
		all = append(all, memberOf{Tenant: t, Role: string(m.Role), Href: desk.Href(path(m.Role), t.ID.String(), mode)})
	}
	return all, nil
}

// tenantNames returns names that a user's password must not contain.
func (p *Pages) tenantNames(r *desk.Request, userID uuid.UUID) ([]string, error) {
	all, err := p.membershipsOf(r, userID, landing)
	var names []string
	for _, m := range all {
		names = append(names, m.Tenant.Name)
	}
	return names, err
}
