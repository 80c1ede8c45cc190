package dashboard

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

const leaveTenantPath = operatorPath + "/leave"

var notes = map[error]string{audit.ErrNote: "note"}

// reasonForm is a form that asks for a reason.
func reasonForm(name string) *form {
	return &form{name: name, fields: []field{{name: "reason", kind: "text", max: audit.MaxNote, hint: true}},
		problems: notes}
}

var (
	disableForm = reasonForm("tenant_disable")
	enableForm  = reasonForm("tenant_enable")
	enterForm   = &form{
		name: "tenant_enter", fields: disableForm.fields,
		problems: map[error]string{audit.ErrNote: "note", account.ErrReason: "note", account.ErrOwnTenant: "own"},
	}
	ownerForm  = &form{name: "tenant_invite", problems: map[error]string{account.ErrOwnerExists: "exists"}}
	creditForm = &form{
		name: "tenant_credit",
		fields: []field{
			{name: "units", kind: "text", max: 12, hint: true},
			{name: "note", kind: "text", max: audit.MaxNote, hint: true},
		},
		problems: notes,
	}
	limitsForm = &form{
		name: "tenant_limits",
		fields: []field{
			{name: "free_checks", kind: "text", max: 12, optional: true, hint: true},
			{name: "test_cap", kind: "text", max: 12, optional: true, hint: true},
		},
		problems: map[error]string{tenant.ErrFreeChecks: "number", tenant.ErrTestCap: "number"},
	}
)

var tenantActs = []operatorAct[tenant.Tenant]{
	{form: enterForm, safe: true, do: func(r *request, t tenant.Tenant, f *formView) error {
		if err := r.pages.cfg.Accounts.EnterTenant(r.ctx(), r.who, t.ID, f.Value("reason")); err != nil {
			return err
		}
		return r.done(fill(overviewPath, t.ID.String(), "test"), "") // the banner of the page shows it
	}},
	{form: creditForm, safe: true, do: addCredit},
	{form: limitsForm, safe: true, do: setLimits, begin: func(t tenant.Tenant) []string {
		return []string{"free_checks", limitText(t.FreeChecks), "test_cap", limitText(t.TestCap)}
	}},
	{form: ownerForm, safe: true, do: func(r *request, t tenant.Tenant, _ *formView) error {
		return r.showOwnerLink(t,
			"")
	}},
	{form: disableForm, do: switchTenant(true, "tenant_disable")},
	{form: enableForm, safe: true, do: switchTenant(false, "tenant_enable")},
}

func (p *Pages) operatorTenant() feature {
	f := feature{
		routes: []route{
			{method: http.MethodGet, path: tenantPath, minRole: operator, handle: p.showTenant},
			{method: http.MethodPost, path: leaveTenantPath, minRole: operator, handle: p.leaveTenant},
		},
		screens: []string{"operator_tenant"},
	}
	askAll(&f, tenantPath, tenantActs, func(r *request) (t tenant.Tenant, values []any, back string, err error) {
		t, err = r.operated()
		return t, []any{"name", t.Name}, operatedPath(t.ID), err
	})
	return f
}

// operated returns the tenant in the path for an operator.
func (r *request) operated() (tenant.Tenant, error) {
	id, err := r.id("id")
	if err != nil {
		return tenant.Tenant{}, err
	}
	return r.pages.cfg.Tenants.Tenant(r.ctx(), id)
}

func operatedPath(tenantID uuid.UUID) string {
	return strings.Replace(tenantPath, ":id", tenantID.String(), 1)
}

type tenantPage struct {
	layout
	T                   tenant.Tenant
	Allowance           insight.Allowance
	FreeChecks, TestCap string // empty for the gateway's default
	Sessions, PassRate  tileFigure
	Latest              *time.Time // when the newest live session was created; nil if there is none
	Members             []account.Member
	Acts, Dangerous     []actLink
}

type actLink struct{ Name, Text, Href string }

func (p *Pages) showTenant(r *request) error {
	t, err := r.operated()
	if err != nil {
		return err
	}
	v := &tenantPage{T: t, FreeChecks: limitText(t.FreeChecks), TestCap: limitText(t.TestCap)}
	if v.Allowance, err = p.cfg.Insight.Allowance(r.ctx(), t.ID); err != nil {
		return err
	}
	if v.Members, err = p.cfg.Accounts.MembersOf(r.ctx(), t.ID); err != nil {
		return err
	}
	if err := v.readActivity(r, insight.Scope{TenantID: t.ID, Livemode: true}); err != nil {
		return err
	}
	for _, act := range tenantActs {
		link := actLink{act.name(), act.form.name + ".button", operatedPath(t.ID) + "/" + act.name()}
		switch {
		case act.name() == "disable" && t.Disabled || act.name() == "enable" && !t.Disabled:
		case act.safe:
			v.Acts = append(v.Acts, link)
		default:
			v.Dangerous = append(v.Dangerous, link)
		}
	}
	return r.render(http.StatusOK, "operator_tenant", v)
}

// readActivity fills in a tenant's figures of the last 30 days.
func (v *tenantPage) readActivity(r *request, scope insight.Scope) error {
	o, err := r.pages.cfg.Insight.Overview(r.ctx(), scope, insight.WindowMonth, r.zone())
	if err != nil {
		return err
	}
	var figures figuresView
	figures.tiles(o)
	v.Sessions, v.PassRate = figures.Sessions, figures.PassRate
	newest, err := r.pages.cfg.Insight.Recent(r.ctx(), scope, 1)
	if len(newest) > 0 {
		v.Latest = &newest[0].CreatedAt
	}
	return err
}

func switchTenant(disabled bool, notice string) func(*request, tenant.Tenant, *formView) error {
	return func(r *request, t tenant.Tenant, f *formView) error {
		if err := r.pages.cfg.Tenants.SetDisabled(r.ctx(), r.who.OperatorActor(), t.ID, disabled,
			f.Value("reason")); err != nil {
			return err
		}
		return r.done(operatedPath(t.ID), notice)
	}
}

func addCredit(r *request, t tenant.Tenant, f *formView) error {
	n, _ := strconv.ParseInt(f.Value("units"), 10, 64) // text that is not a number counts as 0
	if n < 1 || n > billing.MaxTopUp {
		f.wrong("units", "tenant_credit.problem.units")
		return nil
	}
	if _, err := billing.TopUp(r.ctx(), r.pages.cfg.Billing, r.who.OperatorActor(), t.ID, n, f.Value("note"),
		r.pages.cfg.Now()); err != nil {
		return err
	}
	return r.done(operatedPath(t.ID), "tenant_credit")
}

func setLimits(r *request, t tenant.Tenant, f *formView) error {
	free, daily := parseLimit(f.Value("free_checks")), parseLimit(f.Value("test_cap"))
	if _, err := r.pages.cfg.Tenants.Update(r.ctx(), r.who.OperatorActor(), t.ID,
		tenant.Changes{FreeChecks: &free, TestCap: &daily}); err != nil {
		return err
	}
	return r.done(operatedPath(t.ID), "tenant_limits")
}

// parseLimit reads a limit; empty means the default. Text that is not a number
// becomes a number that the domain refuses.
func parseLimit(typed string) int64 {
	if typed == "" {
		return tenant.DefaultLimit
	}
	n, err := strconv.ParseInt(typed, 10, 64)
	if err != nil || n == tenant.DefaultLimit {
		return -2
	}
	return n
}

// limitText is the reverse of parseLimit.
func limitText(limit *int64) string {
	if limit == nil {
		return ""
	}
	return strconv.FormatInt(*limit, 10)
}

// leaveTenant ends an operator's entry into a tenant.
func (p *Pages) leaveTenant(r *request) error {
	if err := p.cfg.Accounts.LeaveTenant(r.ctx(), r.who); err != nil {
		return err
	}
	return r.done(operatorPath, "tenant_left")
}
