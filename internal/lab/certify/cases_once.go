package certify

import (
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

// onceCases is the prefix of the names of cases that confirm an order in several ways.
// The rest of the name lists the ways. It ends in together if they confirm the order at
// the same moment.
const (
	onceCases = "once"
	together  = "-together"
)

// togetherOrders is the number of orders that is enough to show a race: a shop that
// keeps one record for each way releases most of them twice.
const togetherOrders = 20

const onceForAllFix = "Keep one record of the release for all ways that confirm a pass: what one releases, the " +
	"others must find released. " + onceFix

var severalCases = []testCase{
	{
		name: "once.redirect-and-webhook", releases: true, orders: 2, fix: onceForAllFix,
		title: "A good redirect and a good delivery of one order release it once, in either order",
		act: func(t *trial) {
			first := t.good()
			t.send(first, accept)
			t.visitGood(first.to, "webhook, then redirect")
			second := t.good()
			t.visitGood(second.to, "redirect, then webhook")
			t.send(second, accept)
		},
	},
	{
		name: "once.redirect-and-webhook" + together, releases: true, orders: togetherOrders, fix: onceForAllFix,
		title: "A good redirect, a good delivery and a lookup of one order at the same moment release it once",
		act: func(t *trial) {
			for range togetherOrders {
				t.sendAndVisit()
			}
		},
	},
	{
		name: "once.redirect-and-polling", releases: true, orders: 2, fix: onceForAllFix,
		title: "A good redirect and a lookup of one order release it once, in either order",
		act: func(t *trial) {
			first := t.order()
			t.resolve(first, session.ResultVerified)
			t.visitGood(first, "lookup, then redirect")
			second := t.order()
			t.force(second, session.ResultVerified)
			t.visitGood(second, "redirect, then lookup")
			t.poll(second)
		},
	},
}

// sendAndVisit begins an order, and sends its good delivery while its browser
// opens its good redirect and the shop looks it up.
func (t *trial) sendAndVisit() {
	d := t.good()
	address := t.goodURL(d.to)
	t.redirectOf(d.to) // the lookup says PASSED
	var answer webhook.Answer
	var seen visit
	passes := []func(){
		func() { answer = t.post(d) },
		func() { seen = t.get(d.to, address) },
		func() { t.poll(d.to) },
	}
	sideBySide(len(passes), func(i int) { passes[i]() })
	t.answered(answer, "", accept)
	t.arrived(seen, "")
}
