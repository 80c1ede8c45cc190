package dashboard

import (
	"context"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
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

func (p *Pages) testClock() desk.Feature {
	f := desk.Feature{}
	for _, a := range []struct {
		name, path string
		do         func(r *desk.Request) error
		subject    func(r *desk.Request) (name, back string, err error)
	}{
		{"expire", expirePath, onSession(p.cfg.Clock.Expire), p.clockedSession},
		{"expire_redirect", expireRedirectPath, onSession(p.cfg.Clock.ExpireNextRedirect), p.clockedSession},
		{"retry", retryPath, func(r *desk.Request) error {
			return p.cfg.Webhooks.RetryEvent(r.Ctx(), r.Who.Actor(), deliveryScope(r), r.Param("event"))
		}, func(r *desk.Request) (id, back string, err error) {
			d, err := p.cfg.Insight.Delivery(r.Ctx(), r.Scope(), r.Param("event"))
			return d.ID, r.Href(webhooksPath) + "/events/" + d.ID, err
		}},
	} {
		name := "clock_" + a.name
		spec := &desk.Form{Name: name, Problems: clockRefusals, Refusals: "clock"}
		at := desk.Route{Path: a.path, MinRole: desk.Developer, TestOnly: true}
		f.Ask(at, spec, func(r *desk.Request) (*desk.Question, error) {
			id, back, err := a.subject(r)
			return &desk.Question{
				Values: []any{"id", id}, Facts: []page.Text{page.Say(name + ".fact")}, Safe: true, Back: back,
				Do: func(*desk.FormView) error {
					return r.After(a.do(r), back, name)
				},
			}, err
		})
		f.Keys = append(f.Keys, name+".fact")
		f.Notices = append(f.Notices, name)
	}
	return f
}

// onSession returns an act of the clock on the session in the path.
func onSession(act func(context.Context, audit.Actor, webhook.Scope, uuid.UUID) error) func(*desk.Request) error {
	return func(r *desk.Request) error {
		id, err := r.ID("session")
		if err != nil {
			return err
		}
		return act(r.Ctx(), r.Who.Actor(), deliveryScope(r), id)
	}
}

// clockedSession returns the ID of the path's session and the address of its page.
func (p *Pages) clockedSession(r *desk.Request) (id, back string, err error) {
	record, err := p.record(r)
	return record.ID.String(), objectPath(r, sessionPath), err
}

// clockView has the addresses of the test clock's acts on a session; an act without an address is not possible now.
type clockView struct {
	Expire, Redirect string
	Armed            bool // the next redirect will carry an expired token
}

// newClock returns the test clock of a session, or nil for users who may not use it
// and sessions on which it has no effect.
func newClock(r *desk.Request, record insight.Record) *clockView {
	if record.Livemode || !r.May(account.Develop) {
		return nil
	}
	v := &clockView{Armed: record.NextRedirectExpired && record.MayRedirect}
	if record.Status == session.StatusPending {
		v.Expire = objectPath(r, expirePath)
	}
	if record.MayRedirect && !v.Armed {
		v.Redirect = objectPath(r, expireRedirectPath)
	}
	if *v == (clockView{}) {
		return nil
	}
	return v
}
