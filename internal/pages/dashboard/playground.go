package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

const (
	playgroundPath = overviewPath + "/playground"
	tryPath        = playgroundPath + "/:session"
	qrPath         = tryPath + "/qr.png"
)

// The target ages that the contract allows.
const (
	minAge = 13
	maxAge = 99
)

func allowedAge(age int) bool { return age >= minAge && age <= maxAge }

var playgroundForm = &desk.Form{
	Name: "playground", Again: true, // it creates the same session
	Fields: []desk.Field{
		{Name: "target_age", Kind: "number", Max: 2},
		{Name: session.FieldSuccessURL, Kind: "url", Max: tenant.MaxURLLength, Optional: true, Hint: true},
		{Name: session.FieldCancelURL, Kind: "url", Max: tenant.MaxURLLength, Optional: true, Hint: true},
	},
	Problems: map[error]string{
		session.ErrHostNotRegistered: "host",
		tenant.ErrURLTooLong:         "url_long", tenant.ErrURLSyntax: "url_syntax", tenant.ErrURLScheme: "url_scheme",
		tenant.ErrURLUserinfo: "url_userinfo", tenant.ErrURLHost: "url_host", tenant.ErrAnyScheme: "url_any_scheme",
	},
}

func (p *Pages) playground() desk.Feature {
	rt := func(method, path string, handle func(*desk.Request) error) desk.Route {
		return desk.Route{Method: method, Path: path, MinRole: desk.Developer, TestOnly: true, Handle: handle}
	}
	f := desk.Feature{
		Routes: []desk.Route{
			rt(http.MethodGet, tryPath, p.showTry),
			rt(http.MethodGet, qrPath, p.showQR),
		},
		Screens: []string{"playground", "try"},
		Keys:    []string{"outcome.verified", "outcome.document", "outcome.fallback", "outcome.spoof"},
	}
	f.Fill(rt("", playgroundPath, nil), playgroundForm, p.makeSession)
	return f
}

type playgroundView struct {
	desk.Layout
	Form *desk.FormView
	Left *page.Text // how many test sessions are left today; nil for no limit
}

// makeSession creates a test session. The same copy of the form creates the same session: its nonce is the
// idempotency key, with which the link can be shown as long as the key is remembered.
func (p *Pages) makeSession(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{
		Begin: []string{"target_age", "18"},
		Show: func(status int, f *desk.FormView) error {
			left, err := p.testsLeft(r)
			if err != nil {
				return err
			}
			return r.Show(status, "playground", &playgroundView{Form: f, Left: left})
		},
		Check: func(f *desk.FormView) error { return p.checkTest(r, f) },
		Do:    func(f *desk.FormView) error { return p.createTest(r, f) },
	}, nil
}

// testsLeft says how many test sessions the tenant has left today and who can raise
// their limit. It returns nil where there is no limit.
func (p *Pages) testsLeft(r *desk.Request) (*page.Text, error) {
	a, err := p.cfg.Insight.Allowance(r.Ctx(), r.Access.TenantID())
	if err != nil || a.TestLimit == billing.Unlimited {
		return nil, err
	}
	return new(page.Say("playground.left", "n", int(a.TestLeft), "limit", a.TestLimit)), nil
}

func (p *Pages) checkTest(r *desk.Request, f *desk.FormView) error {
	if age, _ := strconv.Atoi(f.Value("target_age")); !allowedAge(age) { // text that is not a number counts as 0
		f.Mark("target_age", "playground.problem.age", "min", minAge, "max", maxAge)
	}
	refused, err := p.cfg.Sessions.CheckDestinations(r.Ctx(), tenant.Caller{TenantID: r.Access.TenantID()},
		given(f, session.FieldSuccessURL), given(f, session.FieldCancelURL))
	refused = slices.DeleteFunc(refused, func(e fault.FieldError) bool { return f.Value(e.Field) == "" })
	if err != nil || len(refused) == 0 {
		return err
	}
	return fault.InvalidFields(refused...)
}

func (p *Pages) createTest(r *desk.Request, f *desk.FormView) error {
	if f.Sent == "" {
		return desk.ErrSent
	}
	age, _ := strconv.Atoi(f.Value("target_age")) // as checked
	if r.Tenant.Disabled {
		f.Fault = new(page.Say("playground.problem.disabled"))
		return nil
	}
	caller := tenant.Caller{TenantID: r.Access.TenantID(), Livemode: r.Access.Livemode()}
	created, err := p.cfg.Sessions.Create(r.Ctx(), caller, session.CreateRequest{
		TargetAge: age, SuccessURL: given(f, session.FieldSuccessURL), CancelURL: given(f, session.FieldCancelURL),
		IdempotencyKey: "dashboard " + f.Sent, TestReturnURL: p.returnURL(caller.TenantID),
	})
	switch fault.CodeOf(err) {
	case fault.TooMany:
		f.Fault = new(page.Say("playground.problem.cap"))
		return nil
	case fault.Conflict:
		return desk.ErrSent
	}
	return r.After(err, r.Href(playgroundPath)+"/"+created.SessionID.String(), "")
}

// given returns what was typed into a field, or nil if it is empty.
func given(form *desk.FormView, name string) *string {
	if value := form.Value(name); value != "" {
		return &value
	}
	return nil
}

// tryView is a test session to try out.
type tryView struct {
	desk.Layout
	insight.Record
	State   statusView
	Link    string
	QR      string // address of the picture; empty if a phone cannot open the link
	Plain   bool   // the link is not https, so that browsers of phones give its page no camera
	Forced  []outcomeView
	Details string // address of the session's own page
	Make    *makeView
	timelineView
}

// outcomeView is a link that forces a result.
type outcomeView struct{ Name, Tone, Href string }

// outcomes returns the links that force each result, while the session is open
// and its link is known, for those who may use the playground.
func (p *Pages) outcomes(r *desk.Request, record insight.Record) ([]outcomeView, error) {
	if r.Tenant.Disabled || record.Livemode || record.Status != session.StatusPending || !r.May(account.Develop) {
		return nil, nil
	}
	link, err := p.testLink(r, record)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil // created without an idempotency key, so only its creator has the link
	}
	camera := !r.Tenant.DocumentOnly && !record.Story.Offered // as session.Session.WithoutCamera
	return slices.DeleteFunc([]outcomeView{
		{"verified", "good", link + "?force=verified"},
		{"document", "", link + "?force=fallback"},
		{"fallback", "warn", link + "?force=fallback&end"},
		{"spoof", "bad", link + "?force=spoof"},
	}, func(o outcomeView) bool {
		return o.Name == "document" && (!camera || !r.Tenant.DocumentCheck) || o.Name == "spoof" && !camera
	}), err
}

// testLink returns the link of a test session.
func (p *Pages) testLink(r *desk.Request, record insight.Record) (string, error) {
	return p.cfg.Sessions.TestLink(r.Ctx(), r.Access.TenantID(), record.ID)
}

func (p *Pages) showTry(r *desk.Request) error {
	record, err := p.record(r)
	if err != nil {
		return err
	}
	v := &tryView{Record: record, State: statusView{record.Status}, Details: objectPath(r, sessionPath)}
	if v.timelineView, err = newTimeline(r, record.Timeline); err != nil {
		return err
	}
	if r.Part() != "" {
		return r.Show(http.StatusOK, "try", v)
	}
	if v.Link, err = p.testLink(r, record); err != nil {
		return err
	}
	if !leadsHere(v.Link) {
		v.QR = objectPath(r, qrPath)
	}
	v.Plain = strings.HasPrefix(v.Link, "http:")
	if v.Forced, err = p.outcomes(r, record); err != nil {
		return err
	}
	if v.Make, err = maker(r); err != nil {
		return err
	}
	return r.Show(http.StatusOK, "try", v)
}

// leadsHere reports whether an address leads each device to itself, as localhost does.
func leadsHere(address string) bool {
	at, err := tenant.CallbackRule{AllowInsecure: true}.Parse(address)
	return err == nil && at.IsLocal()
}

// showQR answers with the session's link as a QR code.
func (p *Pages) showQR(r *desk.Request) error {
	record, err := p.record(r)
	if err != nil {
		return err
	}
	link, err := p.testLink(r, record)
	if err != nil {
		return err
	}
	return r.QRCode(link, 5)
}
