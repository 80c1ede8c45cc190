package certify

import (
	"errors"

	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

const pollingFix = "Release on status PASSED only. Every other status, and every answer that is not 200, is no pass."

var pollingCases = []testCase{
	{
		name: "polling.passed", releases: true, title: "A lookup that says PASSED releases the order, once",
		fix: "Look the status up with your test key and release when it is PASSED.",
		act: func(t *trial) error { return t.resolved(session.ResultVerified) },
	},
	{
		name: "polling.pending", title: "A lookup that says PENDING releases nothing", fix: pollingFix,
		act: func(t *trial) error {
			o, err := t.order()
			if err == nil {
				t.poll(o)
			}
			return err
		},
	},
	{
		name: "polling.fallback", title: "A lookup that says FALLBACK releases nothing", fix: pollingFix,
		act: func(t *trial) error { return t.resolved(session.ResultFallback) },
	},
	{
		name: "polling.spoof", title: "A lookup that says SPOOF releases nothing", fix: pollingFix,
		act: func(t *trial) error { return t.resolved(session.ResultSpoof) },
	},
	{
		name: "polling.expired", title: "A lookup that says EXPIRED releases nothing", fix: pollingFix,
		act: func(t *trial) error {
			o, err := t.order()
			if err != nil {
				return err
			}
			if err := t.gateway.Expire(t.ctx, o.session.ID); err != nil {
				return errors.Join(ErrCannotRun, err)
			}
			t.poll(o)
			return nil
		},
	},
	{
		name: "polling.later", releases: true,
		title: "A lookup that says PASSED releases the order, after one that said PENDING",
		fix:   "Look the status up again while it is PENDING: it is no result, and must not be kept.",
		act: func(t *trial) error {
			o, err := t.order()
			if err != nil {
				return err
			}
			t.poll(o)
			if err := t.force(t.ctx, o, session.ResultVerified); err != nil {
				return err
			}
			t.poll(o)
			return nil
		},
	},
	{
		name: "polling.unknown", title: "A lookup that fails releases nothing", fix: pollingFix,
		act: func(t *trial) error {
			o, err := t.order()
			if err == nil && t.target.Poll != nil {
				t.pollAs(o, newID()) // is answered 404
			}
			return err
		},
	},
	{
		name: "polling.other-session", orders: 2,
		title: "A lookup of another order's PASSED session does not release this one",
		fix: "Look up the session that you stored with this shopper's order. Never take it from the address: the shopper " +
			"may put that of another order there.",
		act: (*trial).otherPassed,
	},
}

// otherPassed opens the Success URL and the lookup address of an unpassed order
// in its browser, but with the session of another order that has passed.
func (t *trial) otherPassed() error {
	other, err := t.run.order(t.ctx) // not judged, because it has passed
	if err != nil {
		return err
	}
	if err := t.force(t.ctx, other, session.ResultVerified); err != nil {
		return err
	}
	token, err := t.goodToken(other)
	if err != nil {
		return err
	}
	own, err := t.order()
	if err != nil {
		return err
	}
	address, err := successURL(own, pass(other), token)
	if err != nil {
		return err
	}
	t.visit(own, "redirect", address)
	if t.target.Poll != nil {
		t.pollAs(own, other.session.ID)
		t.poll(own)
	}
	return nil
}

// resolved begins an order, forces the result of its session and makes the shop look it up.
func (t *trial) resolved(result session.Result) error {
	o, err := t.order()
	if err != nil {
		return err
	}
	if err := t.force(t.ctx, o, result); err != nil {
		return err
	}
	t.poll(o)
	return nil
}

// poll makes the shop look up the status of an order's session now.
func (t *trial) poll(o *order) {
	if t.target.Poll != nil {
		t.pollAs(o, o.session.ID)
	}
}

// pollAs opens the address of a session's lookup in an order's browser.
func (t *trial) pollAs(o *order, id uuid.UUID) {
	if v := t.open(t.ctx, o.browser, t.target.Poll.Method, t.target.Poll.at(id), t.target.Poll, false); v.class != "" {
		t.fail(Problem{Code: ProblemNoAnswer, What: "poll", Value: string(v.class)})
	}
}
