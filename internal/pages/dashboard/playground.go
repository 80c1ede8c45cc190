package dashboard

import (
	"net/http"
	"strconv"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
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

var playgroundForm = &form{
	name: "playground", again: true, // it creates the same session
	fields: []field{
		{name: "target_age", kind: "number", max: 2},
		{name: session.FieldSuccessURL, kind: "url", max: tenant.MaxURLLength, optional: true, hint: true},
		{name: session.FieldCancelURL, kind: "url", max: tenant.MaxURLLength, optional: true, hint: true},
	},
	problems: map[error]string{
		session.ErrHostNotRegistered: "host",
		tenant.ErrURLTooLong:         "url_long", tenant.ErrURLSyntax: "url_syntax", tenant.ErrURLScheme: "url_scheme",
		tenant.ErrURLUserinfo: "url_userinfo", tenant.ErrURLHost: "url_host",
	},
}

func (p *Pages) playground() feature {
	rt := func(method, path string, handle func(*request) error) route {
		return route{method: method, path: path, minRole: developer, testOnly: true, handle: handle}
	}
	f := feature{
		routes: []route{
			rt(http.MethodGet, tryPath, p.showTry),
			rt(http.MethodGet, qrPath, p.showQR),
		},
		screens: []string{"playground", "try"},
		keys:    []string{"outcome.verified", "outcome.fallback", "outcome.spoof"},
	}
	f.fill(rt("", playgroundPath, nil), playgroundForm, p.makeSession)
	return f
}

type playgroundView struct {
	layout
	Form *formView
}

// makeSession creates a test session. The same copy of the form creates the same
// session: its nonce is the idempotency key, with which the link can be shown as
// long as the key is remembered.
func (p *Pages) makeSession(r *request) (*question, error) {
	return &question{
		begin: []string{"target_age", "18"},
		show: func(status int, f *formView) error {
			return r.render(status, "playground", &playgroundView{Form: f})
		},
		do: func(f *formView) error { return p.createTest(r, f) },
	}, nil
}

func (p *Pages) createTest(r *request, f *formView) error {
	if f.sent == "" {
		return errSent
	}
	age, _ := strconv.Atoi(f.Value("target_age")) // text that is not a number counts as 0
	if !allowedAge(age) {
		f.wrong("target_age", "playground.problem.age", "min", minAge, "max", maxAge)
		return nil
	}
	if r.tenant.Disabled {
		f.Fault = new(page.Say("playground.problem.disabled"))
		return nil
	}
	caller := tenant.Caller{TenantID: r.access.TenantID(), Livemode: r.access.Livemode()}
	created, err := p.cfg.Sessions.Create(r.ctx(), caller, session.CreateRequest{
		TargetAge: age, SuccessURL: given(f, session.FieldSuccessURL), CancelURL: given(f, session.FieldCancelURL),
		IdempotencyKey: "dashboard " + f.sent, TestReturnURL: p.returnURL(caller.TenantID),
	})
	switch fault.CodeOf(err) {
	case fault.TooMany:
		f.Fault = new(page.Say("playground.problem.cap"))
		return nil
	case fault.Conflict:
		return errSent
	}
	if err != nil {
		return err
	}
	return r.done(r.path(playgroundPath)+"/"+created.SessionID.String(), "")
}

// given returns what was typed into a field, or nil if it is empty.
func given(form *formView, name string) *string {
	if value := form.Value(name); value != "" {
		return &value
	}
	return nil
}

// tryView is a test session to try out.
type tryView struct {
	layout
	insight.Record
	State   statusView
	Link    string
	QR      string // address of the picture
	Forced  []outcomeView
	Details string // address of the session's own page
	Make    *makeView
	Events  string // address of its webhook events
}

// Moments returns the timeline, for the template.
func (v *tryView) Moments() []momentView { return newMoments(v.Timeline, v.Events) }

// outcomeView is a link that forces a result.
type outcomeView struct{ Name, Tone, Href string }

// outcomes returns the links that force each result, while the session is open
// and its link is known, for those who may use the playground.
func (r *request) outcomes(record insight.Record) ([]outcomeView, error) {
	if record.Livemode || record.Status != session.StatusPending || !r.may(account.Develop) {
		return nil, nil
	}
	link, err := r.testLink(record)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil // created without an idempotency key, so only its creator has the link
	}
	return []outcomeView{
		{"verified", "good", link + "?force=verified"},
		{"fallback", "warn", link + "?force=fallback"},
		{"spoof", "bad", link + "?force=spoof"},
	}, err
}

// testLink returns the link of a test session.
func (r *request) testLink(record insight.Record) (string, error) {
	return r.pages.cfg.Sessions.TestLink(r.ctx(), r.access.TenantID(), record.ID)
}

func (p *Pages) showTry(r *request) error {
	record, err := r.record()
	if err != nil {
		return err
	}
	v := &tryView{
		Record: record, State: statusView{record.Status},
		QR: r.objectPath(qrPath), Details: r.objectPath(sessionPath), Events: r.events(),
	}
	if r.part() != "" {
		return r.render(http.StatusOK, "try", v)
	}
	if v.Link, err = r.testLink(record); err != nil {
		return err
	}
	if v.Forced, err = r.outcomes(record); err != nil {
		return err
	}
	if v.Make, err = r.maker(false); err != nil {
		return err
	}
	return r.render(http.StatusOK, "try", v)
}

// showQR answers with the session's link as a QR code.
func (p *Pages) showQR(r *request) error {
	record, err := r.record()
	if err != nil {
		return err
	}
	link, err := r.testLink(record)
	if err != nil {
		return err
	}
	return r.qrCode(link, 5)
}
