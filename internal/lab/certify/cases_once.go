package certify

import (
	"agegate/internal/rules/routine"
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
		act: func(t *trial) error {
			if err := t.sendGood(nil); err != nil {
				return err
			}
			if err := t.visitGood(t.orders[0], "webhook, then redirect"); err != nil {
				return err
			}
			d, err := t.good()
			if err != nil {
				return err
			}
			if err := t.visitGood(d.to, "redirect, then webhook"); err != nil {
				return err
			}
			return t.send(d, accept)
		},
	},
	{
		name: "once.redirect-and-webhook" + together, releases: true, orders: togetherOrders, fix: onceForAllFix,
		title: "A good redirect, a good delivery and a lookup of one order at the same moment release it once",
		act: func(t *trial) error {
			for range togetherOrders {
				if err := t.sendAndVisit(); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "once.redirect-and-polling", releases: true, orders: 2, fix: onceForAllFix,
		title: "A good redirect and a lookup of one order release it once, in either order",
		act: func(t *trial) error {
			if err := t.resolved(session.ResultVerified); err != nil {
				return err
			}
			if err := t.visitGood(t.orders[0], "lookup, then redirect"); err != nil {
				return err
			}
			o, err := t.order()
			if err != nil {
				return err
			}
			if err := t.force(t.ctx, o, session.ResultVerified); err != nil {
				return err
			}
			if err := t.visitGood(o, "redirect, then lookup"); err != nil {
				return err
			}
			t.poll(o)
			return nil
		},
	},
}

// visitGood opens an order's good redirect in its browser.
func (t *trial) visitGood(o *order, what string) error {
	address, err := t.goodURL(o)
	if err == nil {
		t.visit(o, what, address)
	}
	return err
}

// sendAndVisit begins an order, and sends its good delivery while its browser
// opens its good redirect and the shop looks it up.
func (t *trial) sendAndVisit() error {
	d, err := t.good()
	if err != nil {
		return err
	}
	address, err := t.goodURL(d.to)
	if err != nil {
		return err
	}
	if _, err := t.redirectOf(t.ctx, d.to); err != nil { // the lookup says PASSED
		return err
	}
	header, err := d.header()
	if err != nil {
		return err
	}
	var answer webhook.Answer
	var seen visit
	var all routine.Group
	all.Start(func() error { answer = t.post(d, header); return nil })
	all.Start(func() error { seen = t.get(d.to, address); return nil })
	all.Start(func() error { t.poll(d.to); return nil })
	if err := all.Wait(); err != nil {
		return err
	}
	t.answered(answer, "", accept)
	t.arrived(seen, "")
	return nil
}
