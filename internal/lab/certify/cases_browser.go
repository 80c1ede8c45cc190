package certify

import (
	"net/http"
	"strings"
)

// browserCases are about what a browser sends, and what it sends for several orders.
var browserCases = []testCase{
	{
		name: "redirect.browser", releases: true, orders: 2,
		title: "A browser that comes from the gateway's page, some minutes after the order, is recognized",
		fix: "Give the cookie that names the order SameSite=Lax (or None with Secure), Path=/ and a life of at least half " +
			"an hour: browsers do not send a Strict one when they come from another site. Refuse nothing for its fetch " +
			"metadata, and let a prefetch or HEAD use nothing up.",
		act: func(t *trial) {
			t.comeBack(http.MethodHead)
			t.comeBack("prefetch")
		},
	},
	{
		name: "redirect.next-order", releases: true, orders: 3,
		title: "An order is released by its own pass after another one of the same browser that expired, or was released",
		fix: "Keep the result with each order, not with the browser: a shopper whose session has expired begins another, " +
			"and one who has bought comes back.",
		act: func(t *trial) {
			first := t.orderIn(newBrowser()) // not judged, because it expires
			t.expire(first)
			t.visitGood(t.judged(first.browser), "")
			t.visitGood(t.judged(first.browser), "")
		},
	},
	{
		name: "redirect.other-order", orders: 3,
		title: "A pass releases only its own order, not another one of the same browser",
		fix: "Release the order whose session the token names, and no other: another order of this browser may be for " +
			"other goods, or for another age.",
		act: func(t *trial) {
			earlier := t.orderIn(newBrowser()) // not judged, because it passes
			own := t.judged(earlier.browser)
			t.passBeside(own, earlier)
			t.passBeside(own, t.orderIn(own.browser)) // not judged either
		},
	},
	{
		name: "redirect.mixed", orders: 2,
		title: "A good redirect of another order, mixed with values of this one, does not release this one",
		fix: "Read every value from the query, the one that you verify, and each once: not from a form, from cookies or " +
			"from whichever comes first. Release the order whose session the token names.",
		act: (*trial).mix,
	},
}

// passBeside opens the good redirect of another order of this order's browser twice, and its token at
// this order's Success URL.
func (t *trial) passBeside(own, other *order) {
	t.visitGood(other, "1")
	t.visitGood(other, "2")
	t.visitAs(own, "at the Success URL of the other one", pass(other), t.goodToken(other))
}

// mix sends the good redirect of another order together with an order's own values, as
// a form, as JSON and in the query, in the browser of each and in a new one.
func (t *trial) mix() {
	other := t.orderIn(newBrowser()) // not judged, because it has passed
	good := t.goodURL(other)
	own := t.order()
	unsigned := t.successURL(own, pass(own), "")
	mine, theirs := valuesOf(unsigned), valuesOf(good)
	delete(mine, "token") // it is empty
	bodies := []map[string]string{mine}
	path, q, _ := strings.Cut(good, "?")
	addresses := []string{path + "?" + q + "&" + encode(mine), path + "?" + encode(mine) + "&" + q}
	for name, value := range mine {
		if theirs[name] == value {
			continue
		}
		one := map[string]string{name: value}
		bodies = append(bodies, one)
		addresses = append(addresses, path+"?"+encode(one)+"&"+without(q, name), path+"?"+q+"&"+encode(one),
			path+"?"+encode(one)+"&"+q)
	}
	for _, browser := range []*browser{own.browser, other.browser, newBrowser()} {
		in := own.in(browser)
		for _, address := range addresses {
			t.visit(in, "in the query", address)
		}
		for _, body := range bodies {
			t.postBoth(in, good, body)
		}
		t.postBoth(in, unsigned, theirs)
		t.postBoth(in, own.successURL, theirs)
		t.tell(own, "two orders in one request")
	}
}

// postBoth sends values as a form and as JSON.
func (t *trial) postBoth(o *order, address string, values map[string]string) {
	object := map[string]any{}
	for name, value := range values {
		object[name] = value
	}
	for _, body := range []*Request{{Form: values}, {JSON: object}} {
		t.arrived(t.open(o, http.MethodPost, address, body, false), "by POST")
	}
}
