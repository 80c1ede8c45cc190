package dashboard

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"agegate/internal/pages/page"
	"agegate/internal/rules/account"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/insight"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

const (
	expirePath         = sessionPath + "/expire"
	expireRedirectPath = sessionPath + "/expire-redirect"
	retryPath          = eventPath + "/retry"
)

// clockAct is something that the test clock does: a page that says what it
// means, with a button. Its texts are clock_<name>.title, .body, .fact, .button
// and .done, and clock.refused.<refusal>.
type clockAct struct {
	name, path string
	do         func(r *request) error
	subject    func(r *request) (name, back string, err error)
}

// clockRefusals are the domain's refusals, with the names of their texts.
var clockRefusals = map[error]string{
	session.ErrNotOpen: "ended", session.ErrNoRedirect: "no_redirect", session.ErrLiveClock: "live",
	webhook.ErrLiveRetry: "live", webhook.ErrNotPending: "not_pending", webhook.ErrUnderWay: "under_way",
}

func (p *Pages) testClock() feature {
	acts := []clockAct{
		{"expire", expirePath, onSession(p.cfg.Clock.Expire), clockedSession},
		{"expire_redirect", expireRedirectPath, onSession(p.cfg.Clock.ExpireNextRedirect), clockedSession},
		{"retry", retryPath, func(r *request) error {
			return p.cfg.Webhooks.RetryEvent(r.ctx(), r.who.Actor(), r.deliveries(), r.Param("event"))
		}, clockedEvent},
	}
	f := feature{screens: []string{"confirm"}}
	for _, a := range acts {
		f.routes = append(f.routes,
			route{method: http.MethodGet, path: a.path, least: developer, testOnly: true, handle: func(r *request) error { return a.show(r, nil) }},
			route{method: http.MethodPost, path: a.path, least: developer, testOnly: true, handle: a.run})
		f.notices = append(f.notices, "clock_"+a.name)
		f.keys = append(f.keys, "clock_"+a.name+".title", "clock_"+a.name+".fact", "clock_"+a.name+".button")
	}
	for _, name := range clockRefusals {
		f.keys = append(f.keys, "clock.refused."+name)
	}
	return f
}

// onSession is an act of the clock on the session of the path.
func onSession(act func(context.Context, audit.Actor, webhook.Scope, uuid.UUID) error) func(*request) error {
	return func(r *request) error {
		id, err := r.id("session")
		if err != nil {
			return err
		}
		return act(r.ctx(), r.who.Actor(), r.deliveries(), id)
	}
}

// clockedSession returns the ID of the path's session and the address of its
// page.
func clockedSession(r *request) (id, back string, err error) {
	record, err := r.record()
	return record.ID.String(), r.objectPath(sessionPath), err
}

// clockedEvent is clockedSession for the path's event.
func clockedEvent(r *request) (id, back string, err error) {
	d, err := r.pages.cfg.Insight.Delivery(r.ctx(), r.scope(), r.Param("event"))
	return d.ID, r.path(webhooksPath) + "/events/" + d.ID, err
}

// show shows the page before the act. fault says why it was refused.
func (a clockAct) show(r *request, fault *page.Text) error {
	id, back, err := a.subject(r)
	if err != nil {
		return err
	}
	name := "clock_" + a.name
	return r.confirm(&confirmView{
		Title: page.Say(name + ".title"), Body: page.Say(name+".body", "id", id), Facts: []page.Text{page.Say(name + ".fact")},
		Button: page.Say(name + ".button"), Safe: true, Back: back,
	}, fault)
}

func (a clockAct) run(r *request) error {
	_, back, err := a.subject(r)
	if err != nil {
		return err
	}
	if err := r.takeOnce(); err != nil {
		return err
	}
	err = a.do(r)
	for refusal, name := range clockRefusals {
		if errors.Is(err, refusal) {
			return a.show(r, new(page.Say("clock.refused."+name)))
		}
	}
	if err != nil {
		return err
	}
	return r.done(back, "clock_"+a.name)
}

// clockView links to what the test clock can do to a session; an act without an
// address is not possible now.
type clockView struct {
	Expire, Redirect string
	Armed            bool // the next redirect will have expired
}

// clock returns the test clock of a session, nil for those who may not use it
// and where it could do nothing.
func (r *request) clock(record insight.Record) *clockView {
	if record.Livemode || !r.may(account.Developer) {
		return nil
	}
	v := &clockView{Armed: record.NextRedirectExpired && record.MayRedirect}
	if record.Status == session.StatusPending {
		v.Expire = r.objectPath(expirePath)
	}
	if record.MayRedirect && !v.Armed {
		v.Redirect = r.objectPath(expireRedirectPath)
	}
	if *v == (clockView{}) {
		return nil
	}
	return v
}

// retry returns the address of an early attempt, or "".
func (r *request) retry(e webhook.Record) string {
	if !r.may(account.Developer) || webhook.MayRetry(e.Livemode, e.Status, e.NextAt == nil) != nil {
		return ""
	}
	return strings.Replace(r.path(retryPath), ":event", e.ID, 1)
}
