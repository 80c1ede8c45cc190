package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

const (
	operatorPath  = "/operator"
	tenantsPath   = operatorPath + "/tenants"
	newTenantPath = tenantsPath + "/new"
	tenantPath    = tenantsPath + "/:id"
)

var newTenantForm = &desk.Form{
	Name:     "new_tenant",
	Fields:   []desk.Field{{Name: "name", Kind: "text", Max: account.MaxName, Hint: true}},
	Problems: map[error]string{tenant.ErrNameEmpty: "empty", tenant.ErrNameHidden: "hidden"},
}

func (p *Pages) operator() desk.Feature {
	f := desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: operatorPath, MinRole: desk.Operator, Handle: p.showOperator},
			{Method: http.MethodGet, Path: tenantsPath, MinRole: desk.Operator, Leads: true,
				Handle: func(r *desk.Request) error { return r.Redirect(http.StatusSeeOther, operatorPath) }},
			{Method: http.MethodGet, Path: usePath, MinRole: desk.Operator, Handle: p.downloadUse},
		},
		Screens: []string{"operator", "operator_new", "operator_link"},
	}
	f.Fill(desk.Route{Path: newTenantPath, MinRole: desk.Operator, StepUp: desk.Always}, p.posting(newTenantForm),
		p.newTenant)
	f.Forms = append(f.Forms, slices.Collect(maps.Values(mailForms))...)
	return f
}

type operatorView struct {
	desk.Layout
	Decided tileFigure // live checks of all tenants in 30 days; empty for a later page
	Passed  tileFigure
	Tenants []listedTenant
	Health  *conditionView // as on the page System; nil for a later page, or if it could not be read
	desk.Pager
}

// listedTenant is a tenant in the list, with what it uses.
type listedTenant struct {
	tenant.Tenant
	insight.TenantUse
	Passed  any        // the pass rate, as on the tenant's page
	Invited *time.Time // until when the first owner's invitation is valid; nil without one
	Members []account.Member
	Fails   bool // see Pages.failed
}

// Ownerless reports that no owner has joined.
func (t listedTenant) Ownerless() bool {
	return !slices.ContainsFunc(t.Members, func(m account.Member) bool { return m.Role == account.Owner })
}

// failed returns the tenants of which an endpoint of live mode fails or is disabled, and is not only retried.
func (p *Pages) failed(endpoints []insight.FailingEndpoint) (of []tenant.Tenant) {
	for _, e := range endpoints {
		if e.Livemode && p.standing(e.Endpoint) != "retrying" {
			of = append(of, tenant.Tenant{ID: e.TenantID, Name: e.Name})
		}
	}
	return slices.CompactFunc(of, func(a, b tenant.Tenant) bool { return a.ID == b.ID })
}

// listed returns tenants with what they use.
func (p *Pages) listed(r *desk.Request, found ...tenant.Tenant) (rows []listedTenant, err error) {
	used, err := p.cfg.Insight.UseOf(r.Ctx(), found, r.Zone())
	if err != nil {
		return nil, err
	}
	links, err := p.cfg.Accounts.Invitations(r.Ctx(), slices.Collect(maps.Keys(used))...)
	invited := map[uuid.UUID]*time.Time{}
	for _, l := range links {
		if l.Role == account.Owner {
			invited[*l.TenantID] = &l.ExpiresAt
		}
	}
	if err != nil {
		return nil, err
	}
	all, err := p.cfg.Accounts.Members(r.Ctx(), slices.Collect(maps.Keys(used))...)
	for _, t := range found {
		use, others := used[t.ID], func(m account.Member) bool { return m.TenantID != t.ID }
		rows = append(rows, listedTenant{t, use, rateTile(use.PassRate).Value, invited[t.ID],
			slices.DeleteFunc(slices.Clone(all), others), p.failed(use.Failing) != nil})
	}
	return rows, err
}

// showOperator lists the tenants.
func (p *Pages) showOperator(r *desk.Request) error {
	v := &operatorView{}
	after, err := r.Cursor("after")
	if err != nil {
		return err
	}
	found, err := p.cfg.Tenants.Tenants(r.Ctx(), after)
	if err != nil {
		return err
	}
	if v.Tenants, err = p.listed(r, found...); err != nil {
		return err
	}
	if after == uuid.Nil {
		sum, err := p.cfg.Insight.Decisions(r.Ctx())
		if err != nil {
			return err
		}
		v.Decided = tileFigure{sum.Decided, page.Say("operator.decided_note")}
		v.Passed = tileFigure{"–", page.Say("operator.none_decided")}
		if sum.Decided > 0 {
			v.Passed = rateTile(insight.RateOf(sum.Passed, sum.Decided))
		}
		state, err := p.cfg.Insight.System(r.Ctx())
		if err == nil {
			v.Health, err = p.readHealth(r, p.failed(state.Queue.Endpoints))
		}
		if _, err = r.Unread("health", err); err != nil {
			return err
		}
	}
	if len(v.Tenants) == tenant.MaxPage {
		v.Further = "?after=" + v.Tenants[len(v.Tenants)-1].ID.String()
	}
	return r.Show(http.StatusOK, "operator", v)
}

type newTenantView struct {
	desk.Layout
	Form *desk.FormView
	Back string
}

// newTenant creates a tenant and the invitation of its first owner. The owner
// creates the API keys, because nobody would see keys created here.
func (p *Pages) newTenant(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{
		Show: func(status int, f *desk.FormView) error {
			return r.Show(status, "operator_new", &newTenantView{Form: f, Back: operatorPath})
		},
		Do: func(f *desk.FormView) error {
			email := p.mailTo(f)
			if email != "" && !account.IsEmail(email) {
				f.Mark("email", "new_tenant.problem.email")
				return nil
			}
			made, err := p.cfg.Tenants.CreateWithoutKeys(r.Ctx(), r.Who.OperatorActor(), tenant.Tenant{Name: f.Value("name")})
			if err != nil {
				return err
			}
			return p.showOwnerLink(r, made.Tenant, email)
		},
	}, nil
}

// madeLinkView is the answer to a form that created a link. Only this answer shows the link.
type madeLinkView struct {
	desk.Layout
	Title, Hint      page.Text
	Name, Link, Back string
	Twin             bool // another tenant has the name
}

// showOwnerLink creates the invitation of a tenant's first owner, shows it, and
// sends it to an address, unless that is empty.
func (p *Pages) showOwnerLink(r *desk.Request, t tenant.Tenant, email string) error {
	hint := page.Say("operator.invited_hint")
	if email != "" {
		hint = page.Say("operator.invited_mailed", "email", email)
	}
	link, err := p.cfg.Accounts.InviteOwner(r.Ctx(), r.Who.OperatorActor(), t.ID,
		account.Invitation{Email: email, Tenant: t.Name, Locale: r.Who.User().Locale})
	if err != nil {
		return err
	}
	twin, err := p.cfg.Tenants.HasTwin(r.Ctx(), t)
	if err != nil {
		return err
	}
	return r.Show(http.StatusOK, "operator_link", &madeLinkView{
		Title: page.Say("operator.invited"), Name: t.Name, Hint: hint, Link: link,
		Back: operatedPath(t.ID), Twin: twin,
	})
}
