package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/page"
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
	enableEndpointForm = &form{name: "enable"}
)

func (p *Pages) delivery() feature {
	f := feature{
		routes: []route{
			{method: http.MethodGet, path: eventPath, minRole: reader, handle: p.showDelivery},
			{method: http.MethodPost, path: eventPath + "/resend", minRole: resender, handle: plainForm.does(p.resendOne)},
		},
		screens: []string{"delivery"},
		keys:    []string{"resend.fact_1h", "resend.fact_24h", "resend.fact_7d", "resend.fact_30d"},
	}
	f.ask(route{path: webhooksPath + "/resend", minRole: resender}, resendForm, p.resendFailed)
	f.ask(route{path: webhooksPath + "/test", minRole: developer, testOnly: true}, testEventForm, p.sendTestEvent)
	f.ask(route{path: webhooksPath + "/endpoints/:endpoint/enable", minRole: developer, stepUp: inLive},
		enableEndpointForm, p.enable)
	return f
}

type deliveryView struct {
	layout
	Event    webhook.Record
	Tone     string
	Body     string
	Attempts []attemptView // newest first
	MayAct   bool
	Form     *formView
	Resend   string // address; empty if not possible
	Retry    string // address of an early attempt; empty if not possible
	Session  string // address of the session
	Back     string
}

type attemptView struct {
	webhook.Attempt
	Tone   string
	Millis int64
	Answer string // the excerpt with hidden characters escaped
}

func (p *Pages) showDelivery(r *request) error {
	d, err := p.cfg.Insight.Delivery(r.ctx(), r.scope(), r.Param("event"))
	if err != nil {
		return err
	}
	v := &deliveryView{
		Event: d.Record, Tone: deliveryTones[d.Status], Body: escape(d.Body), Back: r.path(webhooksPath),
		MayAct: r.may(account.Resend), Retry: r.retry(d.Record), Session: r.path(sessionsPath) + "/" + d.SessionID.String(),
	}
	for _, a := range slices.Backward(d.Attempts) {
		tone := "bad"
		if a.Class == webhook.ClassDelivered {
			tone = "good"
		}
		v.Attempts = append(v.Attempts, attemptView{a, tone, a.Latency.Milliseconds(), escape(a.Excerpt)})
	}
	if v.MayAct && d.Status != webhook.StatusNoDestination {
		v.Resend = r.path(webhooksPath) + "/events/" + d.ID + "/resend"
	}
	if v.Form, err = r.blank(plainForm); err != nil {
		return err
	}
	return r.render(http.StatusOK, "delivery", v)
}

// escape makes foreign bytes readable: it escapes everything that is hidden or
// changes the text around it, except line breaks.
func escape(raw []byte) string {
	lines := strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = tenant.Visible(line)
	}
	return strings.Join(lines, "\n")
}

func (p *Pages) resendOne(r *request) (*question, error) {
	return &question{do: func(*formView) error {
		id := r.Param("event")
		if err := p.cfg.Webhooks.ResendEvent(r.ctx(), r.who.Actor(), r.deliveries(), id); err != nil {
			return err
		}
		return r.done(r.path(webhooksPath)+"/events/"+id, "event_resent")
	}}, nil
}

// countUpTo is the maximum number of events that a page counts.
const countUpTo = 1000

func (p *Pages) resendFailed(r *request) (*question, error) {
	return &question{
		Safe: true, Back: r.path(webhooksPath), begin: []string{"since", "24h"},
		facts: func() (facts []page.Text, err error) {
			for _, window := range resendForm.fields[0].options {
				n, err := p.cfg.Webhooks.CountFailedEvents(r.ctx(), r.deliveries(), p.cfg.Now().Add(-pastWindows[window]),
					countUpTo)
				if err != nil {
					return nil, err
				}
				facts = append(facts, page.Say("resend.fact_"+window, "n", n, "count", figureUpTo(int64(n), countUpTo)))
			}
			return append(facts, page.Say("resend.fact_same"), page.Say("resend.fact_waiting")), nil
		},
		do: func(f *formView) error {
			since := p.cfg.Now().Add(-pastWindows[f.Value("since")])
			if _, err := p.cfg.Webhooks.ResendFailedEvents(r.ctx(), r.who.Actor(), r.deliveries(), since); err != nil {
				return err
			}
			return r.done(r.path(webhooksPath), "events_resent")
		},
	}, nil
}

func (p *Pages) sendTestEvent(r *request) (*question, error) {
	q := &question{Safe: true, Back: r.path(webhooksPath), begin: []string{"outcome", "verified"}}
	if r.tenant.WebhookURL != "" {
		q.Facts = append(q.Facts, page.Say("test_event.fact_url", "url", r.tenant.WebhookURL))
	}
	q.Facts = append(q.Facts, page.Say("test_event.fact_cap"))
	q.do = func(f *formView) error {
		if r.tenant.WebhookURL == "" {
			return errNoWebhook
		}
		id, err := p.completeTest(r, f.Value("outcome"))
		if fault.CodeOf(err) == fault.TooMany {
			return errTestLimit
		}
		if err != nil {
			return err
		}
		return r.done(r.path(webhooksPath)+"/events/"+id, "event_sent")
	}
	return q, nil
}

// completeTest creates a test session, forces its result, and returns the ID of
// its event.
func (p *Pages) completeTest(r *request, outcome string) (string, error) {
	result := map[string]session.Result{"verified": session.ResultVerified, "fallback": session.ResultFallback}[outcome]
	created, err := p.cfg.Sessions.Create(r.ctx(), tenant.Caller{TenantID: r.access.TenantID()},
		session.CreateRequest{TargetAge: 18, TestReturnURL: p.returnURL(r.access.TenantID())})
	if err != nil {
		return "", err
	}
	sess, err := p.cfg.Sessions.ByLink(r.ctx(),
		created.VerificationURL[strings.LastIndexByte(created.VerificationURL, '/')+1:])
	// If the document check is on, the first force offers it and the second one
	// refuses it.
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

func (p *Pages) enable(r *request) (*question, error) {
	e, err := p.endpoint(r)
	if err != nil {
		return nil, err
	}
	waiting, err := p.cfg.Webhooks.CountWaitingEvents(r.ctx(), r.deliveries(), e.ID, countUpTo)
	return &question{
		Safe: true, Back: r.path(webhooksPath),
		Facts: []page.Text{
			page.Say("enable.fact_url", "url", e.URL), page.Say("enable.fact_since", "at", stamp(*e.DisabledAt)),
			page.Say("enable.fact_waiting", "n", waiting, "count", figureUpTo(int64(waiting), countUpTo)),
			page.Say("enable.fact_repeat"),
		},
		do: func(*formView) error {
			if _, err := p.cfg.Webhooks.EnableEndpoint(r.ctx(), r.who.Actor(), r.deliveries(), e.ID); err != nil {
				return err
			}
			return r.done(r.path(webhooksPath), "endpoint_enabled")
		},
	}, err
}
