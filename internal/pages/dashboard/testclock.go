package dashboard

import (
	"context"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

const (
	expirePath         = sessionPath + "/expire"
	expireRedirectPath = sessionPath + "/expire-redirect"
	retryPath          = eventPath + "/retry"
)

// clockRefusals are the domain's refusals, with the names of their texts.
var clockRefusals = map[error]string{
	session.ErrNotOpen: "ended", session.ErrNoRedirect: "no_redirect", session.ErrLiveClock: "live",
	webhook.ErrLiveRetry: "live", webhook.ErrNotPending: "not_pending", webhook.ErrUnderWay: "under_way",
}

func (p *Pages) testClock() feature {
	f := feature{}
	for _, a := range []struct {
		name, path string
		do         func(r *request) error
		subject    func(r *request) (name, back string, err error)
	}{
		{"expire", expirePath, onSession(p.cfg.Clock.Expire), clockedSession},
		{"expire_redirect", expireRedirectPath, onSession(p.cfg.Clock.ExpireNextRedirect), clockedSession},
		{"retry", retryPath, func(r *request) error {
			return p.cfg.Webhooks.RetryEvent(r.ctx(), r.who.Actor(), r.deliveries(), r.Param("event"))
		}, clockedEvent},
	} {
		name := "clock_" + a.name
		spec := &form{name: name, problems: clockRefusals, refusals: "clock"}
		f.ask(route{path: a.path, minRole: developer, testOnly: true}, spec, func(r *request) (*question, error) {
			id, back, err := a.subject(r)
			return &question{
				Values: []any{"id", id}, Facts: []page.Text{page.Say(name + ".fact")}, Safe: true, Back: back,
				do: func(*formView) error {
					if err := a.do(r); err != nil {
						return err
					}
					return r.done(back, name)
				},
			}, err
		})
		f.keys = append(f.keys, name+".fact")
		f.notices = append(f.notices, name)
	}
	return f
}

// onSession returns an act of the clock on the session in the path.
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

// clockView has the addresses of the test clock's acts on a session; an act
// without an address is not possible now.
type clockView struct {
	Expire, Redirect string
	Armed            bool // the next redirect will carry an expired token
}

// clock returns the test clock of a session, or nil for users who may not use it
// and sessions on which it has no effect.
func (r *request) clock(record insight.Record) *clockView {
	if record.Livemode || !r.may(account.Develop) {
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
	if !r.may(account.Develop) || webhook.MayRetry(e.Livemode, e.Status, e.NextAttemptAt == nil) != nil {
		return ""
	}
	return strings.Replace(r.path(retryPath), ":event", e.ID, 1)
}
