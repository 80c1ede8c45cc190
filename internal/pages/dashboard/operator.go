package dashboard

import (
	"net/http"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

const (
	operatorPath  = "/operator"
	newTenantPath = operatorPath + "/tenants/new"
	tenantPath    = operatorPath + "/tenants/:id"
)

var newTenantForm = &form{
	name:     "new_tenant",
	fields:   []field{{name: "name", kind: "text", max: account.MaxName, hint: true}},
	problems: map[error]string{tenant.ErrNameEmpty: "empty", tenant.ErrNameHidden: "hidden"},
}

// newTenantMailForm is newTenantForm where mail is sent.
var newTenantMailForm = &form{
	name: "new_tenant",
	fields: []field{newTenantForm.fields[0],
		{name: "email", kind: "email", max: account.MaxEmail, optional: true, hint: true}},
	problems: also(newTenantForm.problems, map[error]string{account.ErrEmail: "email"}),
}

func (p *Pages) operator() feature {
	making := newTenantForm
	if p.cfg.Accounts.SendsMail() {
		making = newTenantMailForm
	}
	f := feature{
		routes:  []route{{method: http.MethodGet, path: operatorPath, minRole: operator, handle: p.showOperator}},
		screens: []string{"operator", "operator_new", "operator_link"},
	}
	f.fill(route{path: newTenantPath, minRole: operator, stepUp: always}, making, p.newTenant)
	f.forms = append(f.forms, newTenantMailForm)
	return f
}

type operatorView struct {
	layout
	Query        string
	Decided      tileFigure // live checks of all tenants in 30 days; empty for a search or a later page
	Passed       tileFigure
	Tenants      []tenant.Tenant
	More         bool   // there are more matches than shown
	Newer, Older string // addresses for the pager
}

// showOperator lists the tenants, or those that a search finds.
func (p *Pages) showOperator(r *request) error {
	v := &operatorView{Query: strings.TrimSpace(r.QueryParam("q"))}
	if v.Query != "" {
		var err error
		if v.Tenants, err = p.cfg.Tenants.FindTenants(r.ctx(), v.Query); err != nil {
			return err
		}
		v.More = len(v.Tenants) == tenant.MaxPage
		return r.render(http.StatusOK, "operator", v)
	}
	after, err := r.cursor("after")
	if err != nil {
		return err
	}
	if v.Tenants, err = p.cfg.Tenants.Tenants(r.ctx(), after); err != nil {
		return err
	}
	if after == uuid.Nil {
		if err := v.readInstance(r); err != nil {
			return err
		}
	}
	if len(v.Tenants) == tenant.MaxPage {
		v.Newer = "?after=" + v.Tenants[len(v.Tenants)-1].ID.String()
	}
	return r.render(http.StatusOK, "operator", v)
}

// readInstance fills in the figures of all tenants together.
func (v *operatorView) readInstance(r *request) error {
	seen, err := r.pages.cfg.Insight.SeenByAge(r.ctx())
	if err != nil {
		return err
	}
	var decided, passed int64
	for _, s := range seen {
		decided, passed = decided+s.Decided(), passed+s.Passed
	}
	v.Decided = tileFigure{figure(decided), page.Say("operator.decided_note")}
	v.Passed = tileFigure{"–", page.Say("overview.nothing_decided")}
	if decided > 0 {
		v.Passed = rateTile(insight.RateOf(passed, decided))
	}
	return nil
}

type newTenantView struct {
	layout
	Form *formView
	Back string
}

// newTenant creates a tenant and the invitation of its first owner. The owner
// creates the API keys, because nobody would see keys created here.
func (p *Pages) newTenant(r *request) (*question, error) {
	return &question{
		show: func(status int, f *formView) error {
			return r.render(status, "operator_new", &newTenantView{Form: f, Back: operatorPath})
		},
		do: func(f *formView) error {
			email := ""
			if p.cfg.Accounts.SendsMail() {
				email = f.Value("email")
			}
			if email != "" && !account.IsEmail(email) {
				f.wrong("email", "new_tenant.problem.email")
				return nil
			}
			made, err := p.cfg.Tenants.CreateWithoutKeys(r.ctx(), r.who.OperatorActor(), tenant.Tenant{Name: f.Value("name")})
			if err != nil {
				return err
			}
			return r.showOwnerLink(made, email)
		},
	}, nil
}

// madeLinkView is the answer to a form that created a link. Only this answer
// shows the link.
type madeLinkView struct {
	layout
	Title, Hint      page.Text
	Name, Link, Back string
}

// showOwnerLink creates the invitation of a tenant's first owner, shows it, and
// sends it to an address, unless that is empty.
func (r *request) showOwnerLink(t tenant.Tenant, email string) (err error) {
	var link string
	hint := page.Say("operator.invited_hint")
	if email == "" {
		link, err = r.pages.cfg.Accounts.InviteOwner(r.ctx(), r.who.OperatorActor(), t.ID)
	} else {
		hint = page.Say("operator.invited_mailed", "email", email)
		link, err = r.pages.cfg.Accounts.InviteOwnerByMail(r.ctx(), r.who, t.ID, email, t.Name)
	}
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "operator_link", &madeLinkView{
		Title: page.Say("operator.invited"), Name: t.Name, Hint: hint, Link: link,
		Back: operatedPath(t.ID),
	})
}
