package certify

import (
	"net/http"
	"strconv"

	"agegate/internal/rules/credential"
)

// ageCase needs the age that an order needs.
const ageCase = "order.age"

const storedFix = "Store the session with the order in your database, and find the order by a cookie that nobody " +
	"can guess. What a program keeps in a variable, such as the last session, is another shopper's."

const recordFix = onceFix + " A lock that ends by itself is no record of a release."

// shopperCases have more than one browser, or a browser that brings something in place of
// a token.
var shopperCases = []testCase{
	{
		name: "redirect.two-shoppers", releases: true, orders: 2, fix: storedFix,
		title: "Two shoppers who order before either comes back are both released, each once",
		act: func(t *trial) {
			first, second := t.order(), t.order()
			t.visitGood(first, "the first")
			t.visitGood(second, "the second")
		},
	},
	{
		name: "redirect.later-session", orders: 2, fix: storedFix,
		title: "The good redirect of a later order does not release this one",
		act: func(t *trial) {
			own, other, address := t.ownThenGood()
			t.visit(own, "", address)
			t.visitAs(own, "", pass(other), t.goodToken(other))
		},
	},
	{
		name: "redirect.no-cookies", orders: 3, fix: storedFix,
		title: "A good redirect that is opened again without cookies releases no other order",
		act: func(t *trial) {
			_, other, address := t.ownThenGood()
			t.order()
			t.visit(other, "with cookies", address)
			t.visit(other.in(newBrowser()), "without cookies", address)
		},
	},
	{
		name: "redirect.replay-elsewhere", releases: true, fix: onceFix,
		title: "A good redirect that is opened again without cookies releases its order once",
		act: func(t *trial) {
			o := t.order()
			address := t.goodURL(o)
			t.visit(o, "with cookies", address)
			t.visit(o.in(newBrowser()), "without cookies", address)
		},
	},
	{
		name: "redirect.replay-later", releases: true,
		title: "A good redirect that is opened again some seconds later releases once", fix: recordFix,
		act: func(t *trial) {
			o := t.order()
			address := t.goodURL(o)
			t.visit(o, "1", address)
			t.later(func() { t.visit(o, "2", address) })
		},
	},
	{
		name: "webhook.duplicate-later", releases: true,
		title: "A delivery that comes again some seconds later releases once", fix: recordFix,
		act: func(t *trial) {
			d := t.good()
			d.what = "1"
			t.send(d, accept)
			t.later(func() {
				d.what, d.at = "2", t.Now()
				t.send(d, accept)
			})
		},
	},
	{
		name: "redirect.plain-cookie", orders: 3, title: "A cookie that anybody can write, such as adult=1, is no pass",
		fix: "Keep a pass on your server, under a cookie that nobody can guess, or sign the cookie. The shopper can " +
			"write adult=1 into a cookie.",
		act: (*trial).plainCookie,
	},
	{
		name: "redirect.referer", title: "A Referer or an Origin of the gateway is no pass",
		fix: "Where a browser says that it comes from proves nothing: require a token that verifies.",
		act: func(t *trial) {
			own := t.order()
			link := parse("the verification URL", own.link)
			origin := link.Scheme + "://" + link.Host
			for _, from := range []string{origin + "/", own.link} {
				sent := own.in(own.browser)
				sent.header = http.Header{"Referer": {from}, "Origin": {origin}}
				t.visitUnsigned(sent)
			}
		},
	},
	{
		name: ageCase, title: "The session asks for the age that the order needs",
		fix: "Give target_age of what is sold when you create the session: an order for one age must not be released " +
			"by a pass for a lower one.",
		act: func(t *trial) {
			if age := t.askedAge(t.order()); age != "" && age != strconv.Itoa(t.target.Age) {
				t.fail(Problem{Code: ProblemAge, Value: age})
			}
		},
	},
}

// ownThenGood begins an order, and then another one, in another browser, whose good
// redirect it returns. Only the first is judged.
func (t *trial) ownThenGood() (own, other *order, address string) {
	own, other = t.order(), t.orderIn(newBrowser())
	return own, other, t.goodURL(other)
}

// visitUnsigned opens the Success URL of an order as anybody can write it.
func (t *trial) visitUnsigned(o *order) {
	t.visit(o, "without a result", o.successURL)
	t.visit(o, "without a token", must(credential.RedirectURL(o.successURL, pass(o), "")))
}

// guesses are names of cookies that a shop might trust.
var guesses = []string{"adult", "is_adult", "isAdult", "age_verified", "ageVerified", "verified", "passed",
	"over18", "age_ok"}

// plainCookie opens the Success URL, and begins an order, with cookies that anybody could
// write: guessed ones, and those that the browser of an order that passed was given.
func (t *trial) plainCookie() {
	own, other, address := t.ownThenGood()
	u := parse("the gateway's redirect", address)
	before := other.browser.Cookies(u)
	t.get(other, address)
	given := plainCookies(other.browser, u, before)
	last := newBrowser()
	for _, value := range []string{"1", "true"} {
		var plain []*http.Cookie
		for _, name := range guesses {
			plain = append(plain, &http.Cookie{Name: name, Value: value, Path: "/"}) //nolint:gosec // a browser's own
		}
		for _, c := range given {
			c.Path = "/"
			plain = append(plain, c)
		}
		sent := own.in(newBrowser())
		sent.browser.SetCookies(u, append(own.browser.Cookies(u), plain...))
		t.visitUnsigned(sent)
		last.SetCookies(u, plain)
	}
	begun := &order{browser: last}
	v := t.request(begun, &t.target.Order, "", true)
	if isLink(v.address()) {
		t.adopt(begun, v)
		t.orders = append(t.orders, begun)
	} else if v.class == "" && v.status < http.StatusBadRequest {
		t.fail(Problem{Code: ProblemUnchecked})
	}
}
