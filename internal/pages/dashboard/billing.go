package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

const (
	billingPath = "/dashboard/:tenant/billing"
	ledgerPath  = billingPath + "/ledger.csv"
)

const (
	ledgerPage  = 50
	monthsShown = 12
)

func (p *Pages) billing() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: billingPath, MinRole: desk.Viewer, OfLive: true, Handle: p.showBilling},
			{Method: http.MethodGet, Path: ledgerPath, MinRole: desk.Viewer, OfLive: true, Handle: p.downloadLedger},
		},
		Screens: []string{"billing"},
	}
}

type billingView struct {
	desk.Layout
	insight.Allowance
	FreeUsed   int64
	Meter      string // width of the used part, in percent
	Days       int    // how long the rest lasts, if Lasts
	Lasts      bool
	AlertBelow string // the threshold; empty without one
	EditAlert  string // address; empty for those who may not change it
	Months     []monthView
	Lines      []lineView
	desk.Pager
}

type monthView struct {
	insight.Month
	Name string // 2026-11
	CSV  string
}

// lineView is a line of the ledger.
type lineView struct {
	billing.Entry
	Reason page.Text
	Note   string // of a top-up; may be empty
	Href   string // of the session; empty if there is none
}

func (p *Pages) showBilling(r *desk.Request) error {
	before, err := r.Cursor("before")
	if err != nil {
		return err
	}
	id := r.Access.TenantID()
	allowance, err := p.cfg.Insight.Allowance(r.Ctx(), id)
	if err != nil {
		return err
	}
	months, err := p.cfg.Insight.Months(r.Ctx(), id, monthsShown)
	if err != nil {
		return err
	}
	entries, err := p.cfg.Billing.Entries(r.Ctx(), id, before, ledgerPage)
	if err != nil {
		return err
	}
	v := &billingView{Allowance: allowance, FreeUsed: allowance.FreeLimit - allowance.FreeLeft, Meter: "0%",
		AlertBelow: limitText(r.Tenant.AlertBelow)}
	if allowance.FreeLimit > 0 { // the used part
		v.Meter = fmt.Sprintf("%.1f%%", min(100, 100*float64(v.FreeUsed)/float64(allowance.FreeLimit)))
	}
	v.PerDay = round(v.PerDay)
	if v.Lasts = allowance.DaysLeft != nil; v.Lasts {
		v.Days = *allowance.DaysLeft
	}
	v.EditAlert = r.Editing(alertPath)
	for _, m := range months {
		name := m.Start.Format("2006-01")
		v.Months = append(v.Months, monthView{m, name, r.Href(ledgerPath) + "?month=" + name})
	}
	notes, err := p.notesOf(r.Ctx(), id, entries)
	if err != nil {
		return err
	}
	for _, e := range entries {
		v.Lines = append(v.Lines, lineOf(r, e, notes[e.ID]))
	}
	if before != uuid.Nil {
		v.Newest = r.To(billingPath) + "#ledger"
	}
	if len(entries) == ledgerPage {
		v.Older = r.Href(billingPath) + "?before=" + entries[ledgerPage-1].ID.String() + "&mode=" + r.Mode() + "#ledger"
	}
	return r.Show(http.StatusOK, "billing", v)
}

// notesOf returns the notes of the top-ups among neighbours in a tenant's ledger, by the IDs of the entries.
func (p *Pages) notesOf(
	ctx context.Context, tenantID uuid.UUID, entries []billing.Entry,
) (map[uuid.UUID]string, error) {
	ctx, cancel := context.WithTimeout(ctx, desk.ReadBatch)
	defer cancel()
	topUps := slices.DeleteFunc(slices.Clone(entries), func(e billing.Entry) bool { return e.Kind != billing.EntryTopUp })
	written, notes := map[int64]string{}, map[uuid.UUID]string{}
	for some := range slices.Chunk(topUps, audit.MaxPage) {
		f := audit.Filter{Scope: audit.OfTenant(tenantID), Action: audit.CreditAdd}
		if f.From, f.To = some[0].CreatedAt, some[len(some)-1].CreatedAt; f.From.After(f.To) {
			f.From, f.To = f.To, f.From
		}
		acts, err := p.cfg.Audit.AuditEntries(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, act := range acts { // at the time of the booking
			written[act.At.UnixMicro()] = act.Details().Params["note"]
		}
	}
	for _, e := range topUps {
		notes[e.ID] = written[e.CreatedAt.UnixMicro()]
	}
	return notes, nil
}

func lineOf(r *desk.Request, e billing.Entry, note string) lineView {
	v := lineView{Entry: e, Note: note,
		Reason: page.Say("ledger."+string(e.Kind)+"."+string(e.Source), "month", e.Period)}
	if e.Kind == billing.EntryTopUp && e.Delta < 0 {
		v.Reason = page.Say("ledger.corrected")
	}
	if e.SessionID != nil {
		v.Href = strings.Replace(inMode(r, true, sessionPath), ":session", e.SessionID.String(), 1)
	}
	return v
}

// lowBalance returns the warning if the balance is low. It ignores errors, because
// pages that show the balance report them.
func (p *Pages) lowBalance(r *desk.Request) *desk.LowBalance {
	below := r.Tenant.AlertBelow
	if below == nil || r.Route.Path != overviewPath && r.Route.Path != billingPath {
		return nil
	}
	a, err := p.cfg.Insight.Allowance(r.Ctx(), r.Access.TenantID())
	if err == nil && !a.Unlimited && a.Left() < *below {
		low := &desk.LowBalance{Left: int(a.Left()), Held: a.Held, Below: *below}
		if r.Route.Path != billingPath {
			low.Href = r.Editing(billingPath)
		}
		return low
	}
	return nil
}

// downloadLedger writes the ledger of a UTC month, by default the current one, oldest first.
func (p *Pages) downloadLedger(r *desk.Request) error {
	from := p.cfg.Now().UTC()
	if given := r.QueryParam("month"); given != "" {
		var err error
		if from, err = time.Parse("2006-01", given); err != nil {
			return echo.ErrNotFound
		}
	}
	from = time.Date(from.Year(), from.Month(), 1, 0, 0, 0, 0, time.UTC)
	return downloadTable(r, "ledger-"+from.Format("2006-01")+".csv", ledgerColumns,
		func(ctx context.Context, write func([][]string) error) error {
			for last, more := (billing.Entry{}), true; more; {
				limited, cancel := context.WithTimeout(ctx, desk.ReadBatch)
				until := from.AddDate(0, 1, 0)
				entries, err := p.cfg.Billing.EntriesBetween(limited, r.Tenant.ID, from, until, last, billing.MaxPage)
				cancel()
				if err != nil {
					return err
				}
				notes, err := p.notesOf(ctx, r.Tenant.ID, entries)
				if err != nil {
					return err
				}
				lines := make([][]string, len(entries))
				for i, e := range entries {
					lines[i], last = ledgerLine(r.Tenant, e, notes[e.ID]), e
				}
				if err := write(lines); err != nil {
					return err
				}
				more = len(entries) == billing.MaxPage
			}
			return nil
		})
}

// ledgerColumns are the columns of the file of a ledger.
var ledgerColumns = []string{"time", "tenant", "kind", "source", "month", "units", "session_id", "entry_id", "note"}

func ledgerLine(t tenant.Tenant, e billing.Entry, note string) []string {
	session := ""
	if e.SessionID != nil {
		session = e.SessionID.String()
	}
	return []string{
		e.CreatedAt.UTC().Format(exportTime), csvText(t.Name), string(e.Kind), string(e.Source), e.Period,
		strconv.FormatInt(e.Delta, 10), session, e.ID.String(), csvText(note),
	}
}

// csvText returns a text in a form that spreadsheets do not interpret as a formula.
func csvText(s string) string {
	if first, _ := utf8.DecodeRuneInString(s); strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + s
	}
	return s
}
