package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

const eventPath = webhooksPath + "/events/:event"

// Refusals of the forms of this page.
var (
	errNoWebhook = fault.New(fault.Conflict, "No webhook URL is set")
	errTestLimit = fault.New(fault.TooMany, "No test session is left today")
)

var (
	testEventForm = &desk.Form{
		Name:     "test_event",
		Fields:   []desk.Field{{Name: "outcome", Kind: "select", Options: []string{"verified", "fallback"}}},
		Problems: map[error]string{errNoWebhook: "no_url", errTestLimit: "limit"},
	}
	resendForm = &desk.Form{
		Name:   "resend",
		Fields: []desk.Field{{Name: "since", Kind: "select", Options: []string{"1h", "24h", "7d", "30d"}}},
	}
	enableEndpointForm = &desk.Form{Name: "enable"}
)

func (p *Pages) delivery() desk.Feature {
	f := desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: eventPath, MinRole: desk.Reader, Handle: p.showDelivery},
			{Method: http.MethodPost, Path: eventPath + "/resend", MinRole: desk.Resender,
				Handle: desk.PlainForm.OnPost(p.resendOne)},
		},
		Screens: []string{"delivery"},
		Keys:    []string{"resend.fact_1h", "resend.fact_24h", "resend.fact_7d", "resend.fact_30d"},
	}
	f.Ask(desk.Route{Path: webhooksPath + "/resend", MinRole: desk.Resender}, resendForm, p.resendFailed)
	f.Ask(desk.Route{Path: webhooksPath + "/test", MinRole: desk.Developer, TestOnly: true}, testEventForm,
		p.sendTestEvent)
	f.Ask(desk.Route{Path: webhooksPath + "/endpoints/:endpoint/enable", MinRole: desk.Developer, StepUp: desk.InLive},
		enableEndpointForm, p.enable)
	return f
}

type deliveryView struct {
	desk.Layout
	deliveryState
	Event    webhook.Record
	Body     string        // formatted
	Sent     string        // the body as it was sent
	Attempts []attemptView // newest first
	Act      *eventAct
	Develops bool                 // else the page names the developers
	Of       []insight.SessionRow // its session; none if that is gone
	// Base is the public base of all pages, Session the address of the session below it, Back of the page above.
	Base, Session, Back string
}

// eventAct is what can be done about an event: to make its next attempt early, or else to
// send it again. One of the addresses is set.
type eventAct struct {
	Retry, Resend string
	Form          *desk.FormView // of Resend
	Former        bool           // Resend does not reach the present Webhook URL
}

// newEventAct returns nil if the user can do nothing about the event.
func newEventAct(r *desk.Request, e webhook.Record) (*eventAct, error) {
	if r.May(account.Develop) && webhook.MayRetry(e.Livemode, e.Status, e.NextAttemptAt == nil) == nil {
		return &eventAct{Retry: strings.Replace(r.Href(retryPath), ":event", e.ID, 1)}, nil
	}
	if !r.May(account.Resend) || e.Status == webhook.StatusNoDestination {
		return nil, nil
	}
	form, err := r.Blank(desk.PlainForm)
	return &eventAct{Resend: eventsPath(r) + e.ID + "/resend?session=" + r.Param("session"), Form: form,
		Former: e.EndpointID != currentEndpoint(r)}, err
}

type attemptView struct {
	webhook.Attempt
	Tone   string
	Millis int64
	Answer string // the excerpt with hidden characters escaped
	// Headers are those of the request, except the signature, which is not stored.
	Headers string
}

// formatted returns JSON with line breaks. It returns anything else unchanged.
func formatted(body []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, body, "", "  ") != nil {
		return body
	}
	return out.Bytes()
}

func (p *Pages) showDelivery(r *desk.Request) error {
	d, err := p.cfg.Insight.Delivery(r.Ctx(), r.Scope(), r.Param("event"))
	if fault.CodeOf(err) == fault.NotFound {
		link, unknown := p.eventLink(r, r.Param("event"))
		return leadTo(r, link, unknown, err) // perhaps in the other mode
	}
	if err != nil {
		return err
	}
	of := insight.SessionFilter{Prefix: d.SessionID.String()}
	found, err := p.cfg.Insight.Sessions(r.Ctx(), r.Scope(), of, uuid.Nil)
	if err != nil {
		return err
	}
	v := &deliveryView{
		Event: d.Record, deliveryState: stateOf(d.Record), Body: escape(formatted(d.Body)), Sent: string(d.Body),
		Back: r.Href(webhooksPath), Of: found.Rows, Develops: r.May(account.Develop),
		Session: r.Href(sessionsPath) + "/" + d.SessionID.String(), Base: p.cfg.URL,
	}
	for _, a := range slices.Backward(d.Attempts) {
		v.Attempts = append(v.Attempts, attemptView{
			a, map[bool]string{true: "good", false: "bad"}[a.Class == webhook.ClassDelivered],
			max(1, a.Latency.Milliseconds()), escape(a.Excerpt),
			fmt.Sprintf("Content-Type: %s\nUser-Agent: %s\nwebhook-id: %s\nwebhook-timestamp: %d\nwebhook-signature: v1,…",
				webhook.ContentType, webhook.UserAgent, d.ID, a.At.Unix()),
		})
	}
	if v.Act, err = newEventAct(r, d.Record); err != nil {
		return err
	}
	return r.Show(http.StatusOK, "delivery", v)
}

// escape makes text from others readable: it escapes every character that is hidden or
// that changes the text around it, except line breaks.
func escape(raw []byte) string {
	lines := strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = tenant.Visible(line)
	}
	return strings.Join(lines, "\n")
}

func (p *Pages) resendOne(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{Do: func(*desk.FormView) error {
		id := r.Param("event")
		err := p.cfg.Webhooks.ResendEvent(r.Ctx(), r.Who.Actor(), deliveryScope(r), id)
		back := eventsPath(r) + id
		if of, none := uuid.Parse(r.QueryParam("session")); none == nil {
			back = r.Href(sessionsPath) + "/" + of.String()
		}
		return r.After(err, back, "event_resent")
	}}, nil
}

// countUpTo is the maximum number of events that a page counts.
const countUpTo = 1000

func (p *Pages) resendFailed(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{
		Safe: true, Back: r.Href(webhooksPath), Begin: []string{"since", "24h"},
		MoreFacts: func() (facts []page.Text, err error) {
			for _, window := range resendForm.Fields[0].Options {
				n, err := p.cfg.Webhooks.CountFailedEvents(r.Ctx(), deliveryScope(r), p.cfg.Now().Add(-pastWindows[window]),
					countUpTo)
				if err != nil {
					return nil, err
				}
				if n > 0 {
					facts = append(facts, page.Say("resend.fact_"+window, "n", n, "count", figureUpTo(int64(n), countUpTo)))
				}
			}
			if len(facts) == 0 {
				facts = append(facts, page.Say("resend.fact_none"))
			}
			return append(facts, page.Say("resend.fact_same"), page.Say("resend.fact_waiting")), nil
		},
		Do: func(f *desk.FormView) error {
			since := p.cfg.Now().Add(-pastWindows[f.Value("since")])
			sent, err := p.cfg.Webhooks.ResendFailedEvents(r.Ctx(), r.Who.Actor(), deliveryScope(r), since)
			notice := "events_resent"
			if sent == 0 {
				notice = "none_resent"
			}
			return r.After(err, r.Href(webhooksPath), notice)
		},
	}, nil
}

func (p *Pages) sendTestEvent(r *desk.Request) (*desk.Question, error) {
	q := &desk.Question{Safe: true, Back: r.Href(webhooksPath), Begin: []string{"outcome", "verified"}}
	if r.Tenant.WebhookURL != "" {
		q.Facts = append(q.Facts, page.Say("test_event.fact_url", "url", r.Tenant.WebhookURL))
	}
	left, err := p.testsLeft(r)
	if err != nil {
		return nil, err
	}
	q.Facts = append(q.Facts, page.Say("test_event.fact_cap"))
	if left != nil {
		q.Facts = append(q.Facts, *left)
	}
	q.Do = func(f *desk.FormView) error {
		if r.Tenant.WebhookURL == "" {
			return errNoWebhook
		}
		id, err := p.completeTest(r, f.Value("outcome"))
		if fault.CodeOf(err) == fault.TooMany {
			return errTestLimit
		}
		return r.After(err, r.Href(webhooksPath)+"/events/"+id, "event_sent")
	}
	return q, nil
}

// completeTest creates a test session, forces its result, and returns the ID of its event.
func (p *Pages) completeTest(r *desk.Request, outcome string) (string, error) {
	result := map[string]session.Result{"verified": session.ResultVerified, "fallback": session.ResultFallback}[outcome]
	created, err := p.cfg.Sessions.Create(r.Ctx(), tenant.Caller{TenantID: r.Access.TenantID()},
		session.CreateRequest{TargetAge: 18, TestReturnURL: p.returnURL(r.Access.TenantID())})
	if err != nil {
		return "", err
	}
	sess, err := p.cfg.Sessions.ByLink(r.Ctx(),
		created.VerificationURL[strings.LastIndexByte(created.VerificationURL, '/')+1:])
	// If the document check is on, the first force offers it and the second one refuses it.
	for range 2 {
		if err == nil && sess.Status == session.StatusPending {
			sess, err = p.cfg.Sessions.Resolve(r.Ctx(), sess, session.CheckResult{Result: result, Source: session.SourceForced})
		}
	}
	if err != nil {
		return "", err
	}
	events, err := p.cfg.Webhooks.Events(r.Ctx(), webhook.Filter{Scope: deliveryScope(r), Session: created.SessionID})
	if err == nil && len(events) != 1 {
		err = errors.New("dashboard: a completed test session has no event")
	}
	if err != nil {
		return "", err
	}
	return events[0].ID, nil
}

// endpoint returns the disabled endpoint of the path.
func (p *Pages) endpoint(r *desk.Request) (webhook.Endpoint, error) {
	endpoints, err := p.cfg.Webhooks.Endpoints(r.Ctx(), deliveryScope(r))
	if err != nil {
		return webhook.Endpoint{}, err
	}
	for _, e := range endpoints {
		if e.ID == r.Param("endpoint") && e.DisabledAt != nil {
			return e.Endpoint, nil
		}
	}
	return webhook.Endpoint{}, echo.ErrNotFound
}

func (p *Pages) enable(r *desk.Request) (*desk.Question, error) {
	e, err := p.endpoint(r)
	if err != nil {
		return nil, err
	}
	waiting, err := p.cfg.Webhooks.CountWaitingEvents(r.Ctx(), deliveryScope(r), e.ID, countUpTo)
	facts := []page.Text{page.Say("enable.fact_url", "url", e.URL),
		page.Say("enable.fact_since", "at", stamp(r, *e.DisabledAt))}
	if waiting > 0 {
		facts = append(facts, page.Say("enable.fact_waiting", "n", waiting, "count", figureUpTo(int64(waiting), countUpTo)))
	}
	return &desk.Question{
		Safe: true, Back: r.Href(webhooksPath), Facts: append(facts, page.Say("enable.fact_repeat")),
		Do: func(*desk.FormView) error {
			_, err := p.cfg.Webhooks.EnableEndpoint(r.Ctx(), r.Who.Actor(), deliveryScope(r), e.ID)
			return r.After(err, r.Href(webhooksPath), "endpoint_enabled")
		},
	}, err
}
