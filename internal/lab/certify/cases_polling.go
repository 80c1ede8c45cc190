package certify

import (
	"errors"
	"net/url"
	"time"

	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"
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
			for range 5 {
				if err == nil {
					t.poll(o)
				}
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
		act: func(t *trial) error {
			// No session of a tenant that checks documents only ends so.
			if err := t.resolved(session.ResultSpoof); !errors.Is(err, ErrNotForced) {
				return err
			}
			t.poll(t.orders[0])
			return nil
		},
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
			if t.target.Poll == nil { // the shop looks it up by itself meanwhile
				if err := wait(t.ctx, slowShopper); err != nil {
					return err
				}
			}
			return t.passed(o)
		},
	},
	{
		name: "polling.at-once", releases: true, fix: onceFix,
		title: "Twenty lookups of a passed order at once, and one later, release once",
		act: func(t *trial) error {
			o, err := t.order()
			if err != nil {
				return err
			}
			if err := t.force(t.ctx, o, session.ResultVerified); err != nil || t.target.Poll == nil {
				return err
			}
			at := t.target.Poll.at(o.session.ID.String())
			var all routine.Group
			for range atOnce {
				all.Start(func() error { t.open(t.ctx, o, t.target.Poll.Method, at, t.target.Poll, false); return nil })
			}
			err = all.Wait()
			t.poll(o)
			return err
		},
	},
	{
		name: "polling.unknown", title: "A lookup that fails releases nothing", fix: pollingFix,
		act: func(t *trial) error {
			o, err := t.order()
			if err != nil {
				return err
			}
			id := newID().String() // a lookup of it is answered 404
			if t.target.Poll != nil {
				t.pollAs(o, id)
			}
			v := pass(o)
			v.Session = id
			address, err := t.successURL(o, v, "")
			if err == nil {
				t.visit(o, "redirect", address)
			}
			return err
		},
	},
	{
		name: "polling.other-session", orders: 2,
		title: "A lookup of another order's PASSED session does not release this one",
		fix: "Look up the session that you stored with this shopper's order. Never take it from the address or a cookie: " +
			"the shopper may put that of another order there.",
		act: (*trial).otherPassed,
	},
	{
		name: "polling.cut-session", orders: 2,
		title: "A lookup by a part of a session's ID, or by none, releases nothing",
		fix:   "Compare whole IDs, never a beginning (LIKE, startsWith), and let an empty one find nothing.",
		act:   (*trial).pollDamaged,
	},
	{
		name: "polling.later-session", orders: 2,
		title: "A lookup that says PASSED of a later order does not release this one",
		fix: "Store the session with the order, in your database, and look up that one. A variable of the program is the " +
			"same for all shoppers.",
		act: func(t *trial) error {
			own, _, err := t.ownThenPassed()
			if err != nil {
				return err
			}
			t.poll(own)
			return nil
		},
	},
	{
		name: "polling.two-shoppers", releases: true, orders: 2,
		title: "Two shoppers who order before either is looked up are both released",
		fix:   "Store the session with the order: the last one that you created may be another shopper's.",
		act: func(t *trial) error {
			first, second, err := t.twoOrders()
			if err != nil {
				return err
			}
			for _, o := range []*order{first, second} {
				if err := t.force(t.ctx, o, session.ResultVerified); err != nil {
					return err
				}
			}
			t.poll(first)
			t.poll(second)
			return nil
		},
	},
}

// slowShopper is how long a shopper takes at least: nobody looks into a camera faster.
const slowShopper = 6 * time.Second

// pollDamaged makes the shop look up parts of the ID of a session that has passed, and
// of the order's own, in the browser of an order that has not passed.
func (t *trial) pollDamaged() error {
	own, other, err := t.ownThenPassed()
	if err != nil || t.target.Poll == nil {
		return err
	}
	for _, id := range []string{other.session.ID.String(), own.session.ID.String()} {
		for _, d := range damages(id, false) {
			t.pollAs(own, d.value)
			if err := t.tell(own, "session "+d.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownThenPassed begins an order, and then another one, in another browser, whose session
// passes. Only the first is judged.
func (t *trial) ownThenPassed() (own, other *order, err error) {
	if own, other, err = t.ownThenOther(); err != nil {
		return nil, nil, err
	}
	return own, other, t.force(t.ctx, other, session.ResultVerified)
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
	address, err := t.successURL(own, pass(other), token)
	if err != nil {
		return err
	}
	t.visit(own, "redirect", address)
	if t.target.Poll == nil {
		return nil
	}
	t.pollAs(own, other.session.ID.String())
	t.poll(own)
	at, err := url.Parse(t.target.Poll.at(own.session.ID.String()))
	if err == nil {
		eachCookie(own, other, at, func(o *order, _ string) { t.poll(o) })
	}
	return err
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

// passed gives an order's session a pass and makes the shop look it up.
func (t *trial) passed(o *order) error {
	if err := t.force(t.ctx, o, session.ResultVerified); err != nil {
		return err
	}
	t.poll(o)
	return nil
}

// poll makes the shop look up the status of an order's session now.
func (t *trial) poll(o *order) {
	if t.target.Poll != nil {
		t.pollAs(o, o.session.ID.String())
	}
}

// pollAs opens the address of a session's lookup in an order's browser.
func (t *trial) pollAs(o *order, id string) {
	if v := t.open(t.ctx, o, t.target.Poll.Method, t.target.Poll.at(id), t.target.Poll, false); v.class != "" {
		t.fail(Problem{Code: ProblemNoAnswer, What: "poll", Value: string(v.class)})
	}
}
