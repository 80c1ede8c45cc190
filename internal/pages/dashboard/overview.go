package dashboard

import (
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// recentSessions is how many sessions the overview lists.
const recentSessions = 10

func (p *Pages) overview() desk.Feature {
	return desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: overviewPath, MinRole: desk.Reader, Handle: p.showOverview}},
		Screens: []string{"overview"},
		Keys: slices.Concat([]string{"overview.settle", "overview.settle_photo", "overview.flawed.success_url",
			"overview.flawed.cancel_url", "overview.flawed.webhook_url", "overview.closed.camera", "overview.closed.document"},
			page.Keys("urls.", "plain", "local", "private"), page.Keys("overview.todo.", todos...),
			page.Keys("overview.step.", append(funnelSteps, timeSteps...)...), page.Keys("overview.window.", windows...)),
	}
}

// windows are the time ranges that the overview offers.
var windows = []insight.Window{insight.WindowDay, insight.WindowWeek, insight.WindowMonth}

// The rows of the funnel and of the times, whose texts are overview.step.<name>.
var (
	funnelSteps = []string{"created", "opened", "begun", "decided", "passed"}
	timeSteps   = []string{"t5", "t10", "t20", "t40", "t80", "tmore"}
)

// todos are the items of the checklist, whose texts are overview.todo.<name>.
var todos = []string{
	"passed", "second_factor", "success_url", "cancel_url", "fallback", "spoof", "https", "live_key", "allowance",
	"webhook_url", "webhook_answered",
}

type overviewView struct {
	desk.Layout
	of      tenant.Tenant
	Windows []insight.Window // that are offered
	Window  insight.Window   // that is shown
	Stale   *time.Time       // time of the figures, if they could not be renewed
	Figures template.HTML    // rendered from a figuresView

	Funds  *insight.Allowance // nil in test mode, and if unread
	Bills  string             // address of the billing page; empty for those who may not see it
	Closed string             // why nobody can pass a live check: overview.closed.<why>; empty if people can
	Open   [][2]string        // in live mode: the items of the checklist that live sessions still need
	Todo   []todoView         // what the checklist has left; none in live mode, or for those who do not integrate
	Done   []string           // the names of the items that are done; with no Todo all of them
	Recent []insight.SessionRow
	Make   *makeView // nil for those who may not create a session
	Weak   bool      // the log-in does not open live mode
	List   string    // address of the list of sessions
	// InTest is how many sessions test mode had in the last 30 days, if live mode has none.
	InTest int
	NoKey  bool                                 // in an empty live mode: there is no API key in force
	NewKey string                               // where to create one; empty for those who may not
	Unread struct{ Figures, Recent, Todo bool } // see Request.Unread
}

// Listed reports whether there are sessions, or whether that is unknown.
func (v *overviewView) Listed() bool { return len(v.Recent) > 0 || v.Unread.Recent }

// Rows returns the sessions of the list, for the template.
func (v *overviewView) Rows() records[sessionRowView] { return newRows(v.Recent, v.List) }

// figuresView is the part of the overview that changes only when the figures are computed again.
type figuresView struct {
	page.Frame
	Live     bool
	Sessions tileFigure
	PassRate tileFigure
	FirstTry tileFigure
	NoneSent bool       // deliveries failed, and none was taken at the first attempt
	Last     tileFigure // in live mode the allowance, in test mode the stopped attacks
	Chart    chartView
	Funnel   []rowView
	Times    []rowView
	Webhooks healthView
}

// figuresKey holds everything that a figuresView depends on.
type figuresKey struct {
	insight.Scope
	insight.Window
	asOf            time.Time
	zone, currentID string
}

// tileFigure is a figure and a text about it.
type tileFigure struct {
	Value any // as the template function figure takes it
	Note  page.Text
}

// Settle is the key of what agegate cannot see done, to settle whose estimate or comparison of faces decides; or "".
func (v *overviewView) Settle() string {
	switch {
	case !v.of.DocumentOnly:
		return "overview.settle"
	case v.of.Allows(string(session.WayPhoto)):
		return "overview.settle_photo"
	}
	return ""
}

// todoView is one open item of the checklist.
type todoView struct {
	Name string
	Text string // the key of what is to be done
	Href string // where it can be done; may be empty
	Flaw string // of a URL that is set: the text urls.<flaw>; may be empty
	Free bool   // shops do without it; the last ones are so
}

// healthView describes the health of deliveries.
type healthView struct {
	Pending, Waiting, Failed any
	Endpoints                []endpointView
	Quiet                    bool // there is nothing to report
}

// makeView is the button that creates a test session with default settings.
type makeView struct {
	Action string
	Form   *desk.FormView
}

func (p *Pages) showOverview(r *desk.Request) error {
	window := cmp.Or(insight.Window(r.QueryParam("window")), insight.WindowDay)
	v := &overviewView{of: r.Tenant, List: r.Href(sessionsPath), Windows: windows, Window: window, Weak: !r.Who.Strong()}
	if r.Part() != "" {
		if err := p.readRecent(r, v); err != nil {
			return err
		}
		return r.Show(http.StatusOK, "overview", v)
	}
	if err := p.readLists(r, v); err != nil {
		return err
	}
	o, err := p.cfg.Insight.Overview(r.Ctx(), r.Scope(), window, r.Zone())
	if err == nil {
		key := figuresKey{r.Scope(), window, o.AsOf, r.Zone().String(), currentEndpoint(r)}
		v.Figures, err = p.Set.Kept(r, "overview", "figures", key,
			func() page.View { return newFigures(o, r.Zone(), key.currentID) })
	}
	v.Funds, v.Bills = o.Allowance, r.Editing(billingPath)
	if v.Unread.Figures, err = r.Unread("figures", err); err != nil {
		return err
	}
	if o.Stale {
		v.Stale = &o.AsOf
	}
	if !r.Tenant.Disabled { // then the frame says so
		v.Closed, err = p.cfg.Closed(r.Ctx(), r.Tenant)
	}
	if _, err = r.Unread("ways", err); err != nil {
		return err
	}
	if r.Access.Livemode() && !v.Listed() {
		if err := p.readWayOn(r, v); err != nil {
			return err
		}
	}
	if v.Make, err = maker(r); err != nil {
		return err
	}
	return r.Show(http.StatusOK, "overview", v)
}

// readLists fills in the newest sessions and, for those who integrate, the checklist. Both are read in parallel.
func (p *Pages) readLists(r *desk.Request, v *overviewView) error {
	var list insight.Checklist
	var parallel routine.Group
	ctx := r.Ctx()
	parallel.Start(func() (err error) {
		list, err = p.cfg.Insight.Checklist(ctx, r.Tenant)
		return err
	})
	err, unread := p.readRecent(r, v), parallel.Wait()
	if err != nil {
		return err
	}
	if v.Unread.Todo, err = r.Unread("checklist", unread); err != nil || v.Unread.Todo {
		return err
	}
	v.NoKey = !list.LiveKey
	switch {
	case !r.Opens(playgroundPath):
	case r.Access.Livemode():
		v.Open = p.openOf(r, list)
	default:
		v.Todo, v.Done = p.todosOf(r, list)
	}
	return nil
}

// readWayOn fills in what leads on from an empty live mode: to the first key, and to the sessions of test mode.
func (p *Pages) readWayOn(r *desk.Request, v *overviewView) error {
	if r.Opens(keysPath) {
		v.NewKey = r.Href(keysPath + "/new")
	}
	o, err := p.cfg.Insight.Overview(r.Ctx(), insight.Scope{TenantID: r.Access.TenantID()}, insight.WindowMonth, r.Zone())
	_, err = r.Unread("test sessions", err)
	v.InTest = int(o.Counts.Created)
	return err
}

// readRecent fills in the list of the newest sessions.
func (p *Pages) readRecent(r *desk.Request, v *overviewView) (err error) {
	v.Recent, err = p.cfg.Insight.Recent(r.Ctx(), r.Scope(), recentSessions)
	v.Unread.Recent, err = r.Unread("recent", err)
	return err
}

func newFigures(o insight.Overview, zone *time.Location, currentID string) *figuresView {
	v := &figuresView{Live: o.Allowance != nil, Chart: newChart(o.Window, o.Series, zone),
		Webhooks: newWebhooks(o.Webhooks, currentID)}
	v.Funnel = newSteps(o.Funnel.Created, funnelSteps,
		[]int64{o.Funnel.Created, o.Funnel.Opened, o.Funnel.Begun, o.Funnel.Decided, o.Funnel.Passed})
	v.Times = newSteps(o.Funnel.Decided, timeSteps, o.Times[:])
	v.tiles(o)
	return v
}

func (v *figuresView) tiles(o insight.Overview) {
	earned := o.Earned.Decided()
	forced := o.Counts.Decided() - earned
	v.PassRate = tileFigure{"–", page.Say("overview.nothing_decided")}
	note := "overview.sessions_note"
	if forced > 0 {
		note += "_forced"
		v.PassRate.Note = page.Say("overview.only_forced", "forced", forced)
	}
	v.Sessions = tileFigure{o.Counts.Created, page.Say(note, "decided", earned,
		"forced", forced, "open", o.Counts.Pending, "expired", o.Counts.Expired)}
	if earned > 0 {
		v.PassRate = rateTile(o.PassRate)
	}
	v.FirstTry = tileFigure{"–", page.Say("overview.nothing_delivered")}
	if rate := o.Webhooks.FirstTry; rate.Of > 0 {
		v.FirstTry = tileFigure{page.Share(rate.Share),
			page.Say("overview.first_try_note", "of", figureUpTo(rate.Of, o.Webhooks.MaxEvents))}
		v.NoneSent = o.Webhooks.Failed > 0 && rate.N == 0
	}
	v.Last = tileFigure{o.Earned.Spoof, page.Say("overview.spoof_note", "of", earned)}
	switch spoofs := o.Counts.Spoof - o.Earned.Spoof; {
	case spoofs > 0:
		v.Last.Note = page.Say("overview.spoof_note_forced", "of", earned, "forced", spoofs)
	case earned+forced == 0:
		v.Last.Note = v.PassRate.Note
	}
	if o.Allowance != nil {
		v.Last = allowanceTile(*o.Allowance)
	}
}

// rateTile is a rate with its interval, or the interval alone where it is wide.
func rateTile(rate insight.Rate) tileFigure {
	value, note := any(page.Share(rate.Share)), "overview.interval"
	if rate.Of < 20 {
		value, note = "–", "overview.too_few"
	}
	return tileFigure{value, page.Say(note,
		"passed", rate.N, "of", rate.Of, "low", page.Share(rate.Low), "high", page.Share(rate.High))}
}

func allowanceTile(a insight.Allowance) tileFigure {
	if a.Unlimited {
		return tileFigure{"∞", page.Say("overview.unlimited")}
	}
	if a.DaysLeft != nil {
		return tileFigure{a.Left(), page.Say("overview.lasts", "n", *a.DaysLeft)}
	}
	return tileFigure{a.Left(), page.Say("overview.left_note", "free", a.FreeLeft, "credit", a.Credit)}
}

func newWebhooks(h insight.WebhookHealth, currentID string) healthView {
	v := healthView{
		Pending: figureUpTo(h.Pending, h.MaxEvents), Waiting: figureUpTo(h.Waiting, h.MaxEvents),
		Failed: figureUpTo(h.Failed, h.MaxEvents), Quiet: h.Pending+h.Waiting+h.Failed == 0 && len(h.Endpoints) == 0,
	}
	for _, e := range h.Endpoints {
		v.Endpoints = append(v.Endpoints, endpointView{Failing: e, Current: e.ID == currentID})
	}
	return v
}

// todosOf returns what the checklist has left, and the names of what is done of it and needed.
func (p *Pages) todosOf(r *desk.Request, list insight.Checklist) (open []todoView, done []string) {
	flaws := map[string]string{}
	for _, u := range p.urlViews(r.Tenant) {
		flaws[u.Name+"_url"] = u.Flaw
	}
	state := map[string]bool{
		"success_url": list.SuccessURL, "cancel_url": list.CancelURL, "webhook_url": list.WebhookURL,
		"passed": list.Passed, "fallback": list.FellBack, "spoof": list.Spoofed, "webhook_answered": list.WebhookAnswered,
		"second_factor": r.Who.Strong(), "https": p.cfg.HTTPS, "live_key": list.LiveKey, "allowance": list.Allowance,
	}
	places := map[string]string{
		"success_url": urlsPath, "cancel_url": urlsPath, "webhook_url": urlsPath,
		"passed": playgroundPath, "fallback": playgroundPath, "spoof": playgroundPath, "webhook_answered": webhooksPath,
		"second_factor": overviewPath, "live_key": keysPath, "allowance": billingPath,
	}
	for _, name := range todos {
		if name == "spoof" && r.Tenant.DocumentOnly {
			continue // no check of documents ends so
		}
		free := strings.HasPrefix(name, "webhook")
		if state[name] && flaws[name] == "" {
			if !free {
				done = append(done, name)
			}
			continue
		}
		v := todoView{Name: name, Text: "overview.todo." + name, Flaw: flaws[name], Free: free}
		if v.Flaw != "" {
			v.Text, v.Free = "overview.flawed."+name, false
		}
		if name == "https" && r.Who.User().Operator {
			v.Href = p.cfg.APIURL + "/docs/" + FindingPlaces["https"]
		} else if r.Opens(places[name]) {
			v.Href = inMode(r, name == "live_key" || name == "second_factor", places[name])
		}
		open = append(open, v)
	}
	return open, done
}

// maker returns the button that creates a test session, or nil for those who may not.
func maker(r *desk.Request) (*makeView, error) {
	if r.Access.Livemode() || r.Tenant.Disabled || !r.Opens(playgroundPath) {
		return nil, nil
	}
	form, err := r.Blank(playgroundForm)
	return &makeView{Action: r.Href(playgroundPath), Form: form}, err
}
