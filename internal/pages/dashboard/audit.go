package dashboard

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"

	"github.com/labstack/echo/v4"
)

const (
	auditPath       = "/dashboard/:tenant/audit"
	auditExportPath = auditPath + "/export"

	operatorAuditPath       = operatorPath + "/audit" // of the instance's log, like those of the tenants'
	operatorAuditExportPath = operatorAuditPath + "/export"
)

const (
	auditPage = 50
	// Logs with at most this many entries are verified each time they are shown.
	checkedAtOnce = 1000
	// Time limit for verifying a longer log.
	checkTime = 15 * time.Second
)

// auditPeriods are the numbers of days, before now, of which the entries can be shown alone.
var auditPeriods = []int{1, 7, 30, 90}

func (p *Pages) audit() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: auditPath, MinRole: desk.Auditor, Handle: p.showAudit},
			{Method: http.MethodGet, Path: auditExportPath, MinRole: desk.Prover, StepUp: desk.Always, Handle: p.exportAudit},
			{Method: http.MethodGet, Path: operatorAuditPath, MinRole: desk.Operator, Handle: p.showAudit},
			{Method: http.MethodGet, Path: operatorAuditExportPath, MinRole: desk.Operator, StepUp: desk.Always,
				Handle: p.exportAudit},
		},
		Screens: []string{"audit"},
	}
}

// areas are the texts that name the areas of actions, by what the actions' names begin with; the others' is of users.
var areas = map[string]string{"tenant": "nav.organisation", "member": "nav.team", "invitation": "nav.team",
	"session": "nav.sessions", "credit": "nav.billing", "ledger": "nav.billing", "api_key": "nav.developers",
	"webhook_secret": "nav.developers", "webhook_endpoint": "nav.developers", "webhook_event": "nav.developers",
	"redirect_secret": "nav.developers", "secret_key": "nav.system", "gateway": "nav.system",
	"trusted_issuer": "nav.system", "trust_list": "nav.system", "verifier": "nav.system", "registration": "nav.system"}

type auditView struct {
	desk.Layout
	audit.Filter
	Actions map[string][]audit.Action // by what their area is called
	Days    string                    // how many, of all Periods
	Periods []int
	Who     *page.Text
	All     string // the log without filters
	Entries []entryView
	Chain   *chainView // nil for acts on all tenants, which are in several logs
	One     bool       // it is a tenant's log
	Tenants bool       // it is the acts on all tenants
	Export  string     // address; empty for those who may not export
	desk.Pager
}

// entryView is one entry of the log.
type entryView struct {
	Seq     int64
	At      time.Time
	By      page.Text
	ByHref  string      // the log of this actor, or empty
	Action  string      // the action's name in the API
	Key     string      // of its text; empty if there is none
	Tenant  *targetView // in whose log it is, among acts on all tenants
	Target  *targetView // nil for the tenant itself
	Details []detailView
}

// detailView is a value that the actor gave, or a setting that changed.
type detailView struct {
	Name, Key string // the name, and the key of its text; empty if there is none
	Change    bool
	Old, New  valueView
}

// valueView is a value of a detail: the key of a text, or else as it is.
type valueView struct {
	Key, Text string
	At        time.Time // the zero time for what is none
}

// chainView says whether the log is unchanged.
type chainView struct {
	Entries int    // number of entries
	Checked bool   // all entries were verified
	Broken  int64  // the first changed entry, if Checked; 0 if there is none
	Hash    string // of the newest entry
	Check   string // address that verifies all entries
}

// auditFilter returns the filter of a request, or echo.ErrNotFound.
func (p *Pages) auditFilter(r *desk.Request) (audit.Filter, error) {
	scope, _ := logOf(r)
	f := audit.Filter{
		Scope: scope, Limit: auditPage,
		Action: audit.Action(r.QueryParam("action")), ActorID: r.QueryParam("actor"),
	}
	if f.Action != "" && !slices.Contains(audit.Actions(), f.Action) {
		return f, echo.ErrNotFound
	}
	if given := r.QueryParam("days"); given != "" {
		days, err := strconv.Atoi(given)
		if err != nil || !slices.Contains(auditPeriods, days) {
			return f, echo.ErrNotFound
		}
		f.To = p.cfg.Now()
		f.From = f.To.AddDate(0, 0, -days)
	}
	if given := r.QueryParam("before"); given != "" {
		var err error
		if f.Before, err = strconv.ParseInt(given, 10, 64); err != nil || f.Before < 1 {
			return f, echo.ErrNotFound
		}
		f.In = audit.Scope(r.QueryParam("in"))
	}
	return f, nil
}

// auditHref returns the address of the page with a filter.
func auditHref(r *desk.Request, f audit.Filter) string {
	query := url.Values{"mode": {r.Mode()}}
	for name, value := range map[string]string{"actor": f.ActorID, "action": string(f.Action), "days": daysOf(f)} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Before > 0 {
		query.Set("before", strconv.FormatInt(f.Before, 10))
	}
	scope, pattern := logOf(r)
	if scope == audit.OnTenants {
		query.Set("on", string(scope))
		query.Set("in", string(f.In))
	}
	return r.Href(pattern) + "?" + query.Encode()
}

// daysOf returns of how many days a filter selects the entries, or "" for all.
func daysOf(f audit.Filter) string {
	if f.To.IsZero() {
		return ""
	}
	return strconv.Itoa(int(f.To.Sub(f.From) / (24 * time.Hour)))
}

// logOf returns the log that the page shows, the tenant's, the instance's or the acts on
// all tenants, and the page's pattern.
func logOf(r *desk.Request) (audit.Scope, string) {
	if r.Route.HasTenant() {
		return audit.OfTenant(r.Access.TenantID()), auditPath
	}
	if r.QueryParam("on") == string(audit.OnTenants) {
		return audit.OnTenants, operatorAuditPath
	}
	return audit.Instance, operatorAuditPath
}

func (p *Pages) showAudit(r *desk.Request) error {
	f, err := p.auditFilter(r)
	if err != nil {
		return err
	}
	entries, err := p.cfg.Audit.AuditEntries(r.Ctx(), f)
	if err != nil {
		return err
	}
	v := &auditView{Filter: f, Actions: map[string][]audit.Action{}, Tenants: f.Scope == audit.OnTenants,
		All: auditHref(r, audit.Filter{}), Days: daysOf(f), Periods: auditPeriods, Export: operatorAuditExportPath}
	if v.One = r.Route.HasTenant(); v.One {
		v.Export = r.Editing(auditExportPath)
	}
	for _, a := range audit.Actions() {
		kind, _, _ := strings.Cut(string(a), ".")
		area, err := p.Set.Text(r, page.Say(cmp.Or(areas[kind], "nav.users")))
		if err != nil {
			return err
		}
		if !slices.Contains(audit.Ended, a) {
			v.Actions[area] = append(v.Actions[area], a)
		}
	}
	names, err := p.namesOf(r, entries)
	if err != nil {
		return err
	}
	for _, e := range entries {
		v.Entries = append(v.Entries, p.entryOf(r, names, e))
	}
	if f.ActorID != "" && len(v.Entries) > 0 {
		v.Who = &v.Entries[0].By
	}
	next := f
	if next.Before = 0; f.Before > 0 {
		v.Newest = auditHref(r, next)
	}
	if len(entries) == auditPage {
		next.Before, next.In = entries[auditPage-1].Seq, entries[auditPage-1].Scope
		v.Older = auditHref(r, next)
	}
	if !v.Tenants {
		if v.Chain, err = p.checkChain(r, f.Scope); err != nil {
			return err
		}
	}
	return r.Show(http.StatusOK, "audit", v)
}

// checkChain verifies the log: a short log always, a long one only on request.
func (p *Pages) checkChain(r *desk.Request, scope audit.Scope) (*chainView, error) {
	_, pattern := logOf(r)
	head, err := p.cfg.Audit.AuditHead(r.Ctx(), scope)
	v := &chainView{Entries: int(head.Seq), Hash: head.Hash.String(), Check: r.Href(pattern) + "?check=1&mode=" + r.Mode()}
	if err != nil || head.Seq > checkedAtOnce && r.QueryParam("check") == "" {
		return v, err
	}
	ctx := r.Ctx()
	if head.Seq > checkedAtOnce {
		end, err := r.BeginDownload()
		if err != nil {
			return v, err
		}
		defer end()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), checkTime)
		defer cancel()
	}
	_, err = audit.Verify(ctx, p.cfg.Audit, scope)
	if broken, ok := errors.AsType[*audit.BrokenError](err); ok {
		v.Broken, err = broken.Seq, nil
	}
	v.Checked = err == nil
	return v, err
}

// textOf returns the key of a text, or "" if there is none.
func (p *Pages) textOf(key string) string {
	if p.Set.Has(key) {
		return key
	}
	return ""
}

// valueTexts are the texts of values, and of some details what the texts of their values begin with.
var valueTexts = map[string]string{"true": "settings.on", "false": "settings.off", "-1": "operator.unlimited",
	"wallet photo": "settings.ways.all", "role": "role.", "mode": "page.", "document_ways": "settings.ways.",
	"grace": "roll_key.grace."}

// valueOf returns how a value is shown: by its name, or as people write times, lengths of time and lists.
func (p *Pages) valueOf(name, value string) valueView {
	switch name {
	case "grace": // 24h0m0s, or 0s
		value = strings.TrimSuffix(strings.TrimSuffix(value, "0m0s"), "s")
	case "languages", "margins":
		value = strings.NewReplacer(" ", ", ", "=", ": ").Replace(value)
	case "name", "note", "reason", "brand_name": // somebody wrote it
		return valueView{Text: value}
	case "brand_logo":
		value = value[:min(len(value), fingerprintShown)]
	}
	v := valueView{Text: value}
	if begin := valueTexts[name]; begin != "" {
		v.Key = p.textOf(begin + value)
	}
	v.Key = cmp.Or(v.Key, p.textOf(valueTexts[value]))
	v.At, _ = time.Parse(time.RFC3339, value) // fails for what is no time
	return v
}

// actorOf says who acted.
func actorOf(e audit.Entry) page.Text {
	return page.Say("audit.by."+string(e.Actor.Kind), "name", cmp.Or(e.Actor.Name, e.Actor.ID))
}

func (p *Pages) entryOf(r *desk.Request, names auditNames, e audit.Entry) entryView {
	v := entryView{
		Seq: e.Seq, At: e.At,
		By:     actorOf(e),
		Action: string(e.Action), Key: p.textOf("audit.action." + string(e.Action)),
	}
	if key, known := names.keys[e.Actor.ID]; known {
		v.By = page.Say("audit.by.key", "name", keyName(key.Name, key.End))
	}
	if e.Actor.ID != "" {
		v.ByHref = auditHref(r, audit.Filter{ActorID: e.Actor.ID})
	}
	v.Tenant, v.Target = names.of(e), names.target(r, e)
	d := e.Details()
	delete(d.Params, account.InvitationParam) // the invitation's entry says who joined by it
	for _, c := range d.Changes {
		if d.Params[c.Setting] == c.New {
			delete(d.Params, c.Setting) // the change's own line says it
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Params)) {
		v.Details = append(v.Details, detailView{Name: name, Key: p.textOf("audit.detail." + name),
			New: p.valueOf(name, d.Params[name])})
	}
	if by := names.accepted[e.Target]; by != "" {
		v.Details = append(v.Details, detailView{Key: "audit.accepted", New: valueView{Text: by}})
	}
	for _, c := range d.Changes {
		v.Details = append(v.Details, detailView{Name: c.Setting, Key: p.textOf("audit.detail." + c.Setting),
			Change: true, Old: p.valueOf(c.Setting, c.Old), New: p.valueOf(c.Setting, c.New)})
	}
	return v
}

// exportAudit writes the whole log, one entry per line, and verifies it at the same time.
func (p *Pages) exportAudit(r *desk.Request) error {
	scope, _ := logOf(r)
	name := "audit-" + p.cfg.Now().Format(time.DateOnly) + ".jsonl"
	if scope == audit.Instance {
		name = "instance-" + name
	}
	return r.Download("application/jsonl; charset=utf-8", name, func(ctx context.Context, w io.Writer) error {
		_, err := audit.Export(ctx, inBatches{p.cfg.Audit}, scope, w)
		return err
	})
}

// inBatches gives every read of a long export its own deadline.
type inBatches struct{ audit.Store }

func (s inBatches) AuditChain(ctx context.Context, scope audit.Scope, after int64, limit int) ([]audit.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, desk.ReadBatch)
	defer cancel()
	return s.Store.AuditChain(ctx, scope, after, limit)
}

func (s inBatches) AuditHead(ctx context.Context, scope audit.Scope) (audit.Head, error) {
	ctx, cancel := context.WithTimeout(ctx, desk.ReadBatch)
	defer cancel()
	return s.Store.AuditHead(ctx, scope)
}
