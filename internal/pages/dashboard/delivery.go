package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"agegate/internal/pages/page"
	"agegate/internal/rules/account"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/labstack/echo/v4"
)

const eventPath = webhooksPath + "/events/:event"

// Refusals of the forms of this page.
var (
	errNoWebhook = fault.New(fault.Conflict, "No webhook URL is set")
	errTestLimit = fault.New(fault.TooMany, "No test session is left today")
)

var (
	testEventForm = &form{
		name:     "test_event",
		fields:   []field{{name: "outcome", kind: "select", options: []string{"verified", "fallback"}}},
		problems: map[error]string{errNoWebhook: "no_url", errTestLimit: "limit"},
	}
	resendForm = &form{
		name:   "resend",
		fields: []field{{name: "since", kind: "select", options: []string{"1h", "24h", "7d", "30d"}}},
	}
)

func (p *Pages) delivery() feature {
	const enable = webhooksPath + "/endpoints/:endpoint/enable"
	return feature{
		routes: []route{
			{method: http.MethodGet, path: eventPath, least: viewer, handle: p.showDelivery},
			{method: http.MethodPost, path: eventPath + "/resend", least: developer, handle: p.resendOne},
			{method: http.MethodGet, path: webhooksPath + "/resend", least: developer, handle: p.showResend},
			{method: http.MethodPost, path: webhooksPath + "/resend", least: developer, handle: p.resendFailed},
			{method: http.MethodGet, path: webhooksPath + "/test", least: developer, testOnly: true, handle: p.showTestEvent},
			{method: http.MethodPost, path: webhooksPath + "/test", least: developer, testOnly: true, handle: p.sendTestEvent},
			{method: http.MethodGet, path: enable, least: developer, stepUp: inLive, handle: p.showEnable},
			{method: http.MethodPost, path: enable, least: developer, stepUp: inLive, handle: p.enable},
		},
		screens: []string{"delivery", "confirm"},
		forms:   []*form{testEventForm, resendForm},
		notices: []string{"event_resent", "events_resent", "event_sent", "endpoint_enabled"},
		keys: []string{
			"resend.title", "resend.body", "resend.button", "resend.fact_1h", "resend.fact_24h", "resend.fact_7d", "resend.fact_30d", "resend.fact_same", "resend.fact_waiting",
			"test_event.title", "test_event.body", "test_event.button", "test_event.fact_url", "test_event.fact_cap",
			"enable.title", "enable.body", "enable.button", "enable.fact_since", "enable.fact_url", "enable.fact_waiting", "enable.fact_repeat",
		},
	}
}

type deliveryView struct {
	layout
	Event    webhook.Record
	Tone     string
	Body     string
	Attempts []attemptView // newest first
	MayAct   bool
	Form     *formView
	Resend   string // address, or empty
	Retry    string // address of an early attempt, or empty
	Session  string // address of the session
	Back     string
}

type attemptView struct {
	webhook.Attempt
	Tone   string
	Millis int64
	Answer string // the excerpt with everything hidden spelt out
}

func (p *Pages) showDelivery(r *request) error {
	d, err := p.cfg.Insight.Delivery(r.ctx(), r.scope(), r.Param("event"))
	if err != nil {
		return err
	}
	v := &deliveryView{
		Event: d.Record, Tone: deliveryTones[d.Status], Body: spelt(d.Body), Back: r.path(webhooksPath),
		MayAct: r.may(account.Developer), Retry: r.retry(d.Record), Session: r.path(sessionsPath) + "/" + d.SessionID.String(),
	}
	for _, a := range slices.Backward(d.Attempts) {
		tone := "bad"
		if a.Class == webhook.ClassDelivered {
			tone = "good"
		}
		v.Attempts = append(v.Attempts, attemptView{a, tone, a.Latency.Milliseconds(), spelt(a.Excerpt)})
	}
	if v.MayAct && d.Status != webhook.StatusNoDestination {
		v.Resend = r.path(webhooksPath) + "/events/" + d.ID + "/resend"
	}
	if v.Form, err = r.blank(plainForm); err != nil {
		return err
	}
	return r.render(http.StatusOK, "delivery", v)
}

// spelt makes bytes of others readable: everything but line breaks that is
// hidden or changes the text around it is spelt out.
func spelt(raw []byte) string {
	lines := strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = tenant.Visible(line)
	}
	return strings.Join(lines, "\n")
}

func (p *Pages) resendOne(r *request) error {
	if err := r.takeOnce(); err != nil {
		return err
	}
	id := r.Param("event")
	if err := p.cfg.Webhooks.ResendEvent(r.ctx(), r.who.Actor(), r.deliveries(), id); err != nil {
		return err
	}
	return r.done(r.path(webhooksPath)+"/events/"+id, "event_resent")
}

// countUpTo is the most events that a page counts.
const countUpTo = 1000

func (p *Pages) showResend(r *request) error {
	f, err := r.blank(resendForm)
	if err != nil {
		return err
	}
	return p.resendPage(r, http.StatusOK, f.With("since", "24h"))
}

func (p *Pages) resendPage(r *request, status int, f *formView) error {
	v := &confirmView{
		Title: page.Say("resend.title"), Body: page.Say("resend.body"), Button: page.Say("resend.button"), Safe: true,
		Back: r.path(webhooksPath), Form: f,
	}
	for _, window := range resendForm.fields[0].options {
		n, err := p.cfg.Webhooks.CountFailedEvents(r.ctx(), r.deliveries(), p.cfg.Now().Add(-pastWindows[window]), countUpTo)
		if err != nil {
			return err
		}
		v.Facts = append(v.Facts, page.Say("resend.fact_"+window, "n", n, "count", figureUpTo(int64(n), countUpTo)))
	}
	v.Facts = append(v.Facts, page.Say("resend.fact_same"), page.Say("resend.fact_waiting"))
	return r.render(status, "confirm", v)
}

func (p *Pages) resendFailed(r *request) error {
	f, err := r.read(resendForm)
	if err != nil {
		return err
	}
	if !f.ok() {
		return p.resendPage(r, http.StatusUnprocessableEntity, f)
	}
	if err := r.once(f); err != nil {
		return err
	}
	since := p.cfg.Now().Add(-pastWindows[f.Value("since")])
	if _, err := p.cfg.Webhooks.ResendFailedEvents(r.ctx(), r.who.Actor(), r.deliveries(), since); err != nil {
		return err
	}
	return r.done(r.path(webhooksPath), "events_resent")
}

func (p *Pages) showTestEvent(r *request) error {
	f, err := r.blank(testEventForm)
	if err != nil {
		return err
	}
	return p.testEventPage(r, http.StatusOK, f.With("outcome", "verified"))
}

func (p *Pages) testEventPage(r *request, status int, f *formView) error {
	v := &confirmView{
		Title: page.Say("test_event.title"), Body: page.Say("test_event.body"), Button: page.Say("test_event.button"), Safe: true,
		Back: r.path(webhooksPath), Form: f,
	}
	if r.tenant.WebhookURL != "" {
		v.Facts = append(v.Facts, page.Say("test_event.fact_url", "url", r.tenant.WebhookURL))
	}
	v.Facts = append(v.Facts, page.Say("test_event.fact_cap"))
	return r.render(status, "confirm", v)
}

func (p *Pages) sendTestEvent(r *request) error {
	f, err := r.read(testEventForm)
	if err != nil {
		return err
	}
	if f.ok() && r.tenant.WebhookURL == "" {
		if err := f.refuse(errNoWebhook); err != nil {
			return err
		}
	}
	if f.ok() {
		if err := r.once(f); err != nil {
			return err
		}
		id, err := p.completeTest(r, f.Value("outcome"))
		switch {
		case err == nil:
			return r.done(r.path(webhooksPath)+"/events/"+id, "event_sent")
		case fault.CodeOf(err) != fault.TooMany:
			return err
		}
		if err := f.refuse(errTestLimit); err != nil {
			return err
		}
	}
	return p.testEventPage(r, http.StatusUnprocessableEntity, f)
}

// completeTest makes a test session, forces its result, and returns the ID of its
// event.
func (p *Pages) completeTest(r *request, outcome string) (string, error) {
	result := map[string]session.Result{"verified": session.ResultVerified, "fallback": session.ResultFallback}[outcome]
	req := session.CreateRequest{TargetAge: 18}
	if r.tenant.SuccessURL == "" {
		req.SuccessURL = &r.tenant.WebhookURL // nobody is led there
	}
	if r.tenant.CancelURL == "" {
		req.CancelURL = &r.tenant.WebhookURL
	}
	created, err := p.cfg.Sessions.Create(r.ctx(), tenant.Caller{TenantID: r.access.TenantID()}, req)
	if err != nil {
		return "", err
	}
	sess, err := p.cfg.Sessions.ByLink(r.ctx(), created.VerificationURL[strings.LastIndexByte(created.VerificationURL, '/')+1:])
	// Where the document check is on, a fallback is offered it first and refuses it
	// then.
	for range 2 {
		if err == nil && sess.Status == session.StatusPending {
			sess, err = p.cfg.Sessions.Resolve(r.ctx(), sess, session.CheckResult{Result: result, Source: session.SourceForced})
		}
	}
	if err != nil {
		return "", err
	}
	events, err := p.cfg.Webhooks.Events(r.ctx(), webhook.Filter{Scope: r.deliveries(), Session: created.SessionID})
	if err == nil && len(events) != 1 {
		err = errors.New("dashboard: a completed test session has no event")
	}
	if err != nil {
		return "", err
	}
	return events[0].ID, nil
}

// endpoint returns the disabled endpoint of the path.
func (p *Pages) endpoint(r *request) (webhook.Endpoint, error) {
	endpoints, err := p.cfg.Webhooks.Endpoints(r.ctx(), r.deliveries())
	if err != nil {
		return webhook.Endpoint{}, err
	}
	for _, e := range endpoints {
		if e.ID == r.Param("endpoint") && e.DisabledAt != nil {
			return e, nil
		}
	}
	return webhook.Endpoint{}, echo.ErrNotFound
}

func (p *Pages) showEnable(r *request) error {
	e, err := p.endpoint(r)
	if err != nil {
		return err
	}
	waiting, err := p.cfg.Webhooks.CountWaitingEvents(r.ctx(), r.deliveries(), e.ID, countUpTo)
	if err != nil {
		return err
	}
	return r.confirm(&confirmView{
		Title: page.Say("enable.title"), Body: page.Say("enable.body"), Button: page.Say("enable.button"), Safe: true,
		Facts: []page.Text{
			page.Say("enable.fact_url", "url", e.URL), page.Say("enable.fact_since", "at", stamp(*e.DisabledAt)),
			page.Say("enable.fact_waiting", "n", waiting, "count", figureUpTo(int64(waiting), countUpTo)), page.Say("enable.fact_repeat"),
		},
		Back: r.path(webhooksPath),
	}, nil)
}

func (p *Pages) enable(r *request) error {
	if err := r.takeOnce(); err != nil {
		return err
	}
	if _, err := p.cfg.Webhooks.EnableEndpoint(r.ctx(), r.who.Actor(), r.deliveries(), r.Param("endpoint")); err != nil {
		return err
	}
	return r.done(r.path(webhooksPath), "endpoint_enabled")
}
