package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

const leaveTenantPath = operatorPath + "/leave"

var notes = map[error]string{audit.ErrNote: "note"}

// reasonForm is a form that asks for a reason.
func reasonForm(name string) *desk.Form {
	return &desk.Form{Name: name, Fields: []desk.Field{{Name: "reason", Kind: "text", Max: audit.MaxNote, Hint: true}},
		Problems: notes}
}

var (
	disableForm = reasonForm("tenant_disable")
	enableForm  = reasonForm("tenant_enable")
	enterForm   = &desk.Form{
		Name: "tenant_enter", Fields: disableForm.Fields,
		Problems: map[error]string{audit.ErrNote: "note", account.ErrReason: "note", account.ErrOwnTenant: "own"},
	}
	ownerForm  = &desk.Form{Name: "tenant_invite", Problems: map[error]string{account.ErrOwnerExists: "exists"}}
	creditForm = &desk.Form{
		Name: "tenant_credit",
		Fields: []desk.Field{
			{Name: "units", Kind: "text", Max: 13, Hint: true},
			{Name: "note", Kind: "text", Max: audit.MaxNote, Hint: true},
		},
		Problems: notes,
	}
	correctForm = &desk.Form{Name: "tenant_correct", Fields: creditForm.Fields, Problems: notes}
	limitsForm  = &desk.Form{
		Name: "tenant_limits",
		Fields: []desk.Field{
			{Name: "free_checks", Kind: "text", Max: 12, Optional: true, Hint: true},
			{Name: "free_unlimited", Kind: "checkbox"},
			{Name: "test_cap", Kind: "text", Max: 12, Optional: true, Hint: true},
			{Name: "test_unlimited", Kind: "checkbox"},
		},
		Problems: map[error]string{tenant.ErrFreeChecks: "number", tenant.ErrTestCap: "number"},
	}
)

var tenantActs = []operatorAct[tenant.Tenant]{
	{form: enterForm, safe: true, do: func(p *Pages, r *desk.Request, t tenant.Tenant, f *desk.FormView) error {
		err := p.cfg.Accounts.EnterTenant(r.Ctx(), r.Who, t.ID, f.Value("reason"))
		return r.After(err, desk.Href(overviewPath, t.ID.String(), "live"), "") // the banner of the page shows it
	}},
	{form: creditForm, safe: true, check: checkCredit, do: bookCredit(1, "tenant_credit")},
	{form: correctForm, safe: true, check: checkCredit, do: bookCredit(-1, "tenant_correct")},
	{form: limitsForm, safe: true, do: (*Pages).setLimits, begin: func(t tenant.Tenant) []string {
		return append(begun("free_checks", "free_unlimited", t.FreeChecks), begun("test_cap", "test_unlimited", t.TestCap)...)
	}},
	{form: ownerForm, safe: true, facts: func(p *Pages, r *desk.Request, t tenant.Tenant) (ends []page.Text, err error) {
		row, err := p.listed(r, t)
		if err != nil || !row[0].Ownerless() {
			return nil, cmp.Or[error](err, account.ErrOwnerExists)
		}
		links, err := p.cfg.Accounts.Invitations(r.Ctx(), t.ID)
		for _, l := range links {
			if l.Role == account.Owner {
				ends = append(ends,
					page.Say("tenant_invite.open", "made", stamp(r, l.CreatedAt), "until", stamp(r, l.ExpiresAt)))
			}
		}
		return ends, err
	}, do: func(p *Pages, r *desk.Request, t tenant.Tenant, f *desk.FormView) error {
		return p.showOwnerLink(r, t, p.mailTo(f))
	}},
	{form: disableForm, do: switchTenant(true, "tenant_disable")},
	{form: enableForm, safe: true, do: switchTenant(false, "tenant_enable")},
}

func (p *Pages) operatorTenant() desk.Feature {
	f := desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: tenantPath, MinRole: desk.Operator, Handle: p.showTenant},
			{Method: http.MethodPost, Path: leaveTenantPath, MinRole: desk.Operator, Handle: func(r *desk.Request) error {
				return r.After(p.cfg.Accounts.LeaveTenant(r.Ctx(), r.Who), operatorPath, "tenant_left")
			}},
		},
		Screens: []string{"operator_tenant"},
	}
	askAll(p, &f, tenantPath, tenantActs, func(r *desk.Request) (t tenant.Tenant, values []any, back string, err error) {
		t, err = desk.Named(r, "id", p.cfg.Tenants.Tenant)
		return t, []any{"name", t.Name, "free", p.cfg.Limits.FreeChecksPerMonth,
			"tests", p.cfg.Limits.TestDailyCap}, operatedPath(t.ID), err
	})
	return f
}

func operatedPath(tenantID uuid.UUID) string {
	return strings.Replace(tenantPath, ":id", tenantID.String(), 1)
}

type tenantPage struct {
	desk.Layout
	T                   listedTenant
	FreeChecks, TestCap string // empty for the gateway's default
	Figures             figuresView
	Newest              []insight.SessionRow // the newest live session, if there is one
	Offers              []page.Text          // what its check offers live for a target age of 18
	Disabling           *audit.Entry         // nil for an enabled one
	Brand               brand.Brand
	URLs                map[string]string // the hosts of its callback URLs, by their names in the audit log
	Now                 time.Time
	Acts, Dangerous     []actLink
}

type actLink struct{ Name, Text, Href string }

func (p *Pages) showTenant(r *desk.Request) error {
	t, err := desk.Named(r, "id", p.cfg.Tenants.Tenant)
	if err != nil {
		return err
	}
	row, err := p.listed(r, t)
	if err != nil {
		return err
	}
	v := &tenantPage{T: row[0], FreeChecks: limitText(t.FreeChecks), TestCap: limitText(t.TestCap), Now: p.cfg.Now(),
		URLs: map[string]string{"success_url": tenant.HostPort(t.SuccessURL), "cancel_url": tenant.HostPort(t.CancelURL),
			"webhook_url": tenant.HostPort(t.WebhookURL)}}
	var unread [3]error
	v.Brand, unread[0] = p.cfg.Tenants.Brand(r.Ctx(), t.ID)
	scope := insight.Scope{TenantID: t.ID, Livemode: true}
	v.Newest, unread[1] = p.cfg.Insight.Recent(r.Ctx(), scope, 1)
	v.Offers, unread[2] = p.offersOf(r, t, 18, true)
	o, err := p.cfg.Insight.Overview(r.Ctx(), scope, insight.WindowMonth, r.Zone())
	own, failed := p.cfg.Accounts.MembershipsOf(r.Ctx(), r.Who.User().ID)
	if err = cmp.Or(err, failed, unread[0], unread[1], unread[2]); err != nil {
		return err
	}
	v.Figures.tiles(o)
	if t.Disabled {
		v.Disabling = p.disabling(r, t.ID)
	}
	for _, act := range tenantActs {
		link := actLink{act.name(), act.form.Name + ".button", operatedPath(t.ID) + "/" + act.name()}
		switch {
		case act.name() == "disable" && t.Disabled || act.name() == "enable" && !t.Disabled,
			act.name() == "invite" && !v.T.Ownerless():
		case act.name() == "enter" && slices.ContainsFunc(own, func(m account.Membership) bool { return m.TenantID == t.ID }):
			v.Acts = append(v.Acts, actLink{"open", "overview.open_live", desk.Href(overviewPath, t.ID.String(), "live")})
		case act.safe:
			v.Acts = append(v.Acts, link)
		default:
			v.Dangerous = append(v.Dangerous, link)
		}
	}
	return r.Show(http.StatusOK, "operator_tenant", v)
}

func switchTenant(disabled bool, notice string) func(*Pages, *desk.Request, tenant.Tenant, *desk.FormView) error {
	return func(p *Pages, r *desk.Request, t tenant.Tenant, f *desk.FormView) error {
		err := p.cfg.Tenants.SetDisabled(r.Ctx(), r.Who.OperatorActor(), t.ID, disabled, f.Value("reason"))
		return r.After(err, operatedPath(t.ID), notice)
	}
}

// grouped is a whole number with a separator of one kind between its groups of three digits. Checks have no
// fractions, so that a comma or a point there is no decimal sign.
var grouped = regexp.MustCompile(`^-?[1-9]\d{0,2}((,\d{3})+|(\.\d{3})+|(['’]\d{3})+|(\pZ\d{3})+)$`)
var separators = regexp.MustCompile(`[^-\d]`)

// wholeNumber reads a number of checks as people type it.
func wholeNumber(typed string) (int64, error) {
	if grouped.MatchString(typed) {
		typed = separators.ReplaceAllString(typed, "")
	}
	return strconv.ParseInt(typed, 10, 64)
}

func checkCredit(f *desk.FormView) error {
	if n, _ := wholeNumber(f.Value("units")); n < 1 || n > billing.MaxTopUp { // a text counts as 0
		f.Mark("units", "tenant_credit.problem.units")
	}
	return nil
}

// bookCredit adds units of credit, or takes them back if sign is -1.
func bookCredit(sign int64, notice string) func(*Pages, *desk.Request, tenant.Tenant, *desk.FormView) error {
	return func(p *Pages, r *desk.Request, t tenant.Tenant, f *desk.FormView) error {
		n, _ := wholeNumber(f.Value("units")) // as checked
		balance, err := billing.TopUp(r.Ctx(), p.cfg.Billing, r.Who.OperatorActor(), t.ID, sign*n, f.Value("note"),
			p.cfg.Now())
		if errors.Is(err, billing.ErrSpent) {
			a, err := p.cfg.Insight.Allowance(r.Ctx(), t.ID)
			f.Mark("units", "tenant_correct.problem.spent", "n", int(a.Credit))
			return err
		}
		if err != nil {
			return err
		}
		return r.Done(operatedPath(t.ID), notice, n, balance)
	}
}

func (p *Pages) setLimits(r *desk.Request, t tenant.Tenant, f *desk.FormView) error {
	free, daily := parseLimit(f.Value("free_checks")), parseLimit(f.Value("test_cap"))
	if f.Checked("free_unlimited") {
		free = billing.Unlimited
	}
	if f.Checked("test_unlimited") {
		daily = billing.Unlimited
	}
	_, err := p.cfg.Tenants.Update(r.Ctx(), r.Who.OperatorActor(), t.ID,
		tenant.Changes{FreeChecks: &free, TestCap: &daily})
	return r.After(err, operatedPath(t.ID), "tenant_limits")
}

// parseLimit reads a limit; empty means the default. Text that is not a number
// becomes a number that the domain refuses.
func parseLimit(typed string) int64 {
	if typed == "" {
		return tenant.DefaultLimit
	}
	n, err := wholeNumber(typed)
	if err != nil || n == tenant.DefaultLimit {
		return -2
	}
	return n
}

// begun returns the first value of a limit's field, or of its box for no limit, after its name.
func begun(field, box string, limit *int64) []string {
	if limit != nil && *limit == billing.Unlimited {
		return []string{box, "on"}
	}
	return []string{field, limitText(limit)}
}

// limitText is the reverse of parseLimit.
func limitText(limit *int64) string {
	if limit == nil {
		return ""
	}
	return strconv.FormatInt(*limit, 10)
}
