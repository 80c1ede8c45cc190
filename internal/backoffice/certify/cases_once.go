package certify

// onceCases is the prefix of cases that confirm an order in several ways. The rest of the name
// lists the ways.
const onceCases = "once"

var severalCases = []testCase{{
	name: "once.redirect-and-webhook", releases: true,
	title: "A good redirect and a good delivery of one order release it once, in either order",
	fix: "Keep one record of the release for all ways that confirm a pass: what the redirect releases, the webhook " +
		"must find released.",
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
}}

// visitGood opens an order's good redirect in its browser.
func (t *trial) visitGood(o *order, what string) error {
	address, err := t.goodURL(o)
	if err == nil {
		t.visit(o, what, address)
	}
	return err
}
