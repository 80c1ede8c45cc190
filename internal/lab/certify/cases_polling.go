package certify

import (
	"time"

	"agegate/internal/rules/session"
)

const pollingFix = "Release on status PASSED only. Every other status, and every answer that is not 200, is no pass."

var pollingCases = []testCase{
	{
		name: "polling.passed", releases: true, title: "A lookup that says PASSED releases the order, once",
		fix: "Look the status up with your test key and release when it is PASSED.",
		act: func(t *trial) { t.resolve(t.order(), session.ResultVerified) },
	},
	{
		name: "polling.pending", title: "A lookup that says PENDING releases nothing", fix: pollingFix,
		act: func(t *trial) {
			o := t.order()
			for range 5 {
				t.poll(o)
			}
		},
	},
	{
		name: "polling.fallback", title: "A lookup that says FALLBACK releases nothing", fix: pollingFix,
		act: func(t *trial) { t.resolve(t.order(), session.ResultFallback) },
	},
	{
		name: "polling.spoof", title: "A lookup that says SPOOF releases nothing", fix: pollingFix,
		act: func(t *trial) { t.resolve(t.order(), session.ResultSpoof) },
	},
	{
		name: "polling.expired", title: "A lookup that says EXPIRED releases nothing", fix: pollingFix,
		act: func(t *trial) { t.expire(t.order()) },
	},
	{
		name: "polling.later", releases: true,
		title: "A lookup that says PASSED releases the order, after one that said PENDING",
		fix:   "Look the status up again while it is PENDING: it is no result, and must not be kept.",
		act: func(t *trial) {
			o := t.order()
			t.poll(o)
			if t.target.Poll == nil { // the shop looks it up by itself meanwhile
				t.wait(slowShopper)
			}
			t.resolve(o, session.ResultVerified)
		},
	},
	{
		name: "polling.at-once", releases: true, fix: onceFix,
		title: "Twenty lookups of a passed order at once, and one later, release once",
		act: func(t *trial) {
			o := t.order()
			t.force(o, session.ResultVerified)
			if t.target.Poll != nil {
				sideBySide(atOnce, func(int) { t.request(o, t.target.Poll, o.id.String(), false) })
			}
			t.poll(o)
		},
	},
	{
		name: "polling.unknown", title: "A lookup that fails releases nothing", fix: pollingFix,
		act: func(t *trial) {
			o := t.order()
			v := pass(o)
			v.Session = newID().String() // a lookup of it is answered 404
			t.pollAs(o, v.Session)
			t.visitAs(o, "redirect", v, "")
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
		act: func(t *trial) {
			own, _ := t.ownThenPassed()
			t.poll(own)
		},
	},
	{
		name: "polling.two-shoppers", releases: true, orders: 2,
		title: "Two shoppers who order before either is looked up are both released",
		fix:   "Store the session with the order: the last one that you created may be another shopper's.",
		act: func(t *trial) {
			first, second := t.order(), t.order()
			t.force(first, session.ResultVerified)
			t.force(second, session.ResultVerified)
			t.poll(first)
			t.poll(second)
		},
	},
}

// slowShopper is how long a shopper takes at least: nobody looks into a camera faster.
const slowShopper = 6 * time.Second

// pollDamaged makes the shop look up parts of the ID of a session that has passed, and
// of the order's own, in the browser of an order that has not passed.
func (t *trial) pollDamaged() {
	own, other := t.ownThenPassed()
	for _, o := range []*order{other, own} {
		t.pollEach(own, damages(o.id.String(), false), func(name string) { t.tell(own, "session "+name) })
	}
}

// ownThenPassed begins an order, and then another one, in another browser, whose session
// passes. Only the first is judged.
func (t *trial) ownThenPassed() (own, other *order) {
	own, other = t.order(), t.orderIn(newBrowser())
	t.force(other, session.ResultVerified)
	return own, other
}

// otherPassed opens the Success URL and the lookup address of an unpassed order
// in its browser, but with the session of another order that has passed.
func (t *trial) otherPassed() {
	other := t.orderIn(newBrowser()) // not judged, because it has passed
	t.force(other, session.ResultVerified)
	token := t.goodToken(other)
	own := t.order()
	t.visitAs(own, "redirect", pass(other), token)
	if t.target.Poll == nil {
		return
	}
	t.pollAs(own, other.id.String())
	t.poll(own)
	eachCookie(own, other, t.target.Poll.at(own.id.String()), func(o *order, _ string) { t.poll(o) })
}

// resolve gives an order's session a result and makes the shop look it up.
func (t *trial) resolve(o *order, result session.Result) {
	t.unforced = !t.force(o, result)
	t.poll(o)
}

// expire makes an order's session expire and the shop look it up.
func (t *trial) expire(o *order) {
	check(t.gateway.Expire(t.ctx, o.id))
	t.poll(o)
}

// pollEach opens the address of each lookup in an order's browser, if the shop has one, and calls
// after with its name.
func (t *trial) pollEach(o *order, ids []damage, after func(name string)) {
	if t.target.Poll == nil {
		return
	}
	for _, id := range ids {
		t.pollAs(o, id.value)
		after(id.name)
	}
}

// poll makes the shop look up the status of an order's session now.
func (t *trial) poll(o *order) { t.pollAs(o, o.id.String()) }

// pollAs opens the address of a session's lookup in an order's browser, if the shop has one.
func (t *trial) pollAs(o *order, id string) {
	if t.target.Poll == nil {
		return
	}
	if v := t.request(o, t.target.Poll, id, false); v.class != "" {
		t.fail(Problem{Code: ProblemNoAnswer, What: "poll", Value: string(v.class)})
	}
}
