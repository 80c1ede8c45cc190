package certify

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
)

// resultParams are the parameters of a success redirect.
var resultParams = []string{"token", "session", "status", "is_adult"}

// compareFix is the advice for every mistake that comparing the whole token would prevent.
const compareFix = "Write the token that you compute, \"{expires_ts}.{base64url_mac}\" without padding, and compare " +
	"it with the whole token in constant time; is_pass in the reference, \"Redirect token\", does."

var redirectCases = []testCase{
	{
		name: "redirect.good", releases: true, title: "A good redirect releases the order",
		fix: "Verify the token under the test redirect secret (rdsec_test_…) as the reference shows, \"Redirect token\".",
		act: func(t *trial) { t.visitGood(t.order(), "") },
	},
	{
		name: "redirect.expired", passes: true, title: "A token that has expired is refused",
		fix: "Refuse the token when the current Unix time is greater than the expires_ts in it.",
		act: func(t *trial) { t.visitChanged(t.expiredURL, query{change: func(q string) string { return q }}) },
	},
	{
		name: "redirect.unsigned-expiry", passes: true,
		title: "An expiry outside the token does not make an expired one good",
		fix:   "Take the expiry from the token alone, where it is signed; ignore every other parameter.",
		act: func(t *trial) {
			later := strconv.FormatInt(t.Now().Add(time.Hour).Unix(), 10)
			t.visitChanged(t.expiredURL, query{what: "with another expiry", change: func(q string) string {
				for _, name := range []string{"expires_ts", "expires", "expires_at", "expiry", "exp"} {
					q += "&" + name + "=" + later
				}
				return q
			}})
		},
	},
	{
		name: "redirect.altered-expiry", passes: true, title: "A token whose expiry was changed is refused",
		fix: "Include expires_ts in what you compute the MAC over: session|status|is_adult|expires_ts.",
		act: func(t *trial) {
			t.visitChanged(t.expiredURL, changedToken("", func(token string) string {
				_, mac, _ := strings.Cut(token, ".")
				return strconv.FormatInt(t.Now().Add(tokenTTL).Unix(), 10) + "." + mac
			}))
		},
	},
	{
		name: "redirect.other-session", orders: 2, title: "A good redirect of another order does not release this one",
		fix: "Require that session is the one that you created for this shopper's order, and release that order only.",
		act: func(t *trial) {
			other := t.orderIn(newBrowser()) // not judged, because its token is valid
			token, own := t.goodToken(other), t.order()
			t.visitAs(own, "", pass(other), token)
		},
	},
	{
		name: "redirect.swapped-session", orders: 2, title: "The token of another order with this order's session is refused",
		fix: "Compute the MAC over the session that you compare, the parameter as received.",
		act: func(t *trial) {
			other := t.orderIn(newBrowser()) // not judged, because its token is valid
			token, own := t.goodToken(other), t.order()
			t.visitAs(own, "", pass(own), token)
		},
	},
	{
		name: "redirect.other-tenant", title: "A token that another tenant's secret has signed is refused",
		fix: "Recompute the MAC under your own secret and compare. That a token is there, and well-formed, proves nothing.",
		act: func(t *trial) { t.visitSigned(t.foreignKey) },
	},
	{
		name: "redirect.other-mode", title: "A token of the other mode's secret is refused",
		fix: "Accept one mode's redirect secret only: that of the API key that created the session.",
		act: func(t *trial) {
			// A live secret never signs here: a random one is used in its place.
			t.visitSigned(must(credential.NewSecret(t.Random)))
		},
	},
	{
		name: "redirect.empty-key", title: "A token that was signed under the empty key is refused", fix: emptyKeyFix,
		act: func(t *trial) { t.visitSigned(nil) },
	},
	{
		name: "redirect.fallback", signs: true, orders: 2, title: "A signed ROUTED_TO_FALLBACK is no pass",
		fix: "Once the MAC is right, require status VERIFIED and is_adult true as well.",
		act: func(t *trial) {
			t.visitResult(session.ResultFallback, false)
			t.visitResult(session.ResultFallback, true)
		},
	},
	{
		name: "redirect.not-adult", signs: true, title: "A signed VERIFIED with is_adult false is no pass",
		fix: "Require both status VERIFIED and is_adult true.",
		act: func(t *trial) { t.visitResult(session.ResultVerified, false) },
	},
	{
		name: "redirect.junk", passes: true, title: "A token with .junk behind it, or one letter changed, is refused",
		fix: compareFix,
		act: func(t *trial) {
			changes := []query{changedToken("", func(token string) string { return token + ".junk" })}
			for _, n := range []int{2, 20, 40} { // the last letter stands for unused bits, too
				changes = append(changes, changedToken("", func(token string) string { return flip(token, n) }))
			}
			t.visitChanged(t.goodURL, changes...)
		},
	},
	{
		name: "redirect.padding", passes: true, title: "A token with base64 padding behind it is refused", fix: compareFix,
		act: func(t *trial) {
			t.visitChanged(t.goodURL, changedToken("", func(token string) string { return token + "=" }))
		},
	},
	{
		name: "redirect.respelled", passes: true, title: "A token whose letters only look or sort alike is refused",
		fix: compareFix + " Compare bytes, never without regard to case or by a language's rules.",
		act: func(t *trial) {
			t.visitChanged(t.goodURL, changedToken("", otherCase), changedToken("", alike.Replace),
				changedToken("", func(token string) string { return token + "\u200b" })) // zero width space
		},
	},
	{
		name: "redirect.missing", passes: true, title: "A redirect without one of its four parameters is refused",
		fix: "Require token, session, status and is_adult; let none of them default to what you hope for.",
		act: func(t *trial) {
			var missing []query
			for _, name := range resultParams {
				missing = append(missing, query{"without " + name, func(q string) string { return without(q, name) }})
			}
			t.visitChanged(t.goodURL, missing...)
		},
	},
	{
		name: "redirect.doubled", passes: true, title: "A redirect with one of its four parameters twice is refused",
		fix: "Require each of the four parameters exactly once: otherwise one part of your code may verify the first and " +
			"another use the second.",
		act: func(t *trial) {
			var doubled []query
			for _, name := range resultParams {
				other := name + "=" + map[string]string{"token": "0.AAAA", "session": newID().String(),
					"status": "ROUTED_TO_FALLBACK", "is_adult": "false"}[name]
				doubled = append(doubled,
					query{name + " again behind", func(q string) string { return q + "&" + other }},
					query{name + " again in front", func(q string) string { return other + "&" + q }})
			}
			t.visitChanged(t.goodURL, doubled...)
		},
	},
	{
		name: "redirect.other-cookie", orders: 2,
		title: "Another order's redirect does not release this one, with any of that browser's cookies",
		fix: "Let one cookie, which nobody can guess, name the order, and take the session from what you stored with that " +
			"order. A session in a cookie of its own is the shopper's to change.",
		act: (*trial).swapCookies,
	},
	{
		name: "redirect.posted", title: "A form sent to the Success URL, without a token, releases nothing",
		fix: compareFix + " A form that is sent there needs the token, too.",
		act: func(t *trial) {
			o := t.order()
			unsigned := t.successURL(o, pass(o), "")
			t.postBoth(o, o.successURL, valuesOf(unsigned))
			t.postBoth(o, unsigned, valuesOf(unsigned))
		},
	},
	{
		name: "redirect.cancelled", title: "The Cancel URL releases nothing",
		fix: "Show the cart again, and nothing else: after ROUTED_TO_FALLBACK the page's button leads there, and anybody " +
			"can open it.",
		act: func(t *trial) {
			o := t.order()
			if address := t.cancelOf(o); address != "" {
				t.visit(o, "before a result", address)
			}
			t.force(o, session.ResultFallback)
			if address := t.cancelOf(o); address != "" {
				t.visit(o, "", address)
				t.visit(o, "with the result that the shopper likes", must(credential.RedirectURL(address, pass(o), "")))
			}
		},
	},
	{
		name: "redirect.replay", releases: true,
		title: "A good redirect that is opened again, also with a new token of the session, releases once",
		fix: "Accept each session once: make the release one conditional statement of your database, such as UPDATE … " +
			"WHERE released_at IS NULL.",
		act: func(t *trial) {
			o := t.order()
			address := t.goodURL(o)
			t.visit(o, "1", address)
			t.visit(o, "2", address)
			if t.redirectKey != nil {
				// The gateway signs another token when the page of a session that passed is opened again.
				t.visitAs(o, "with another token", pass(o), pass(o).Token(t.redirectKey, t.Now().Add(tokenTTL+time.Minute)))
			}
		},
	},
	{
		name: "redirect.at-once", releases: true, title: "Twenty good redirects of one order at once release once",
		fix: onceFix,
		act: func(t *trial) {
			o := t.order()
			address := t.goodURL(o)
			visits := make([]visit, atOnce)
			sideBySide(atOnce, func(i int) { visits[i] = t.get(o, address) })
			// report the same failure only once
			if i := slices.IndexFunc(visits, func(v visit) bool { return v.class != "" }); i >= 0 {
				t.arrived(visits[i], "")
			}
		},
	},
}

// alike replaces letters of a token by other letters that count as equal when case is
// ignored: the Kelvin sign and the long s. It also replaces the dot, so that every
// token changes.
var alike = strings.NewReplacer("K", "\u212a", "k", "\u212a", "S", "\u017f", "s", "\u017f", ".", "\u200b.")

// query is a change to the query of a redirect.
type query struct {
	what   string
	change func(string) string
}

// visitSigned opens a good redirect of a new order that a key has signed.
func (t *trial) visitSigned(key []byte) {
	o := t.order()
	t.visitAs(o, "", pass(o), t.token(key, pass(o)))
}

// visitResult opens a new order's redirect with a result that the tenant's secret has signed.
func (t *trial) visitResult(result session.Result, adult bool) {
	o := t.order()
	v := credential.Redirect{Session: o.id.String(), Status: string(result), IsAdult: adult}
	t.visitAs(o, "", v, t.token(t.redirectKey, v))
}

// visitChanged opens a new order's address with each change to its query.
func (t *trial) visitChanged(address func(*order) string, changes ...query) {
	o := t.order()
	u := parse("the gateway's redirect", address(o))
	good := u.RawQuery
	for _, c := range changes {
		u.RawQuery = c.change(good)
		t.visit(o, c.what, u.String())
		if len(changes) > 1 {
			t.tell(o, c.what)
		}
	}
}

// changedToken changes the token in the query of a redirect.
func changedToken(what string, change func(string) string) query {
	return changedParam("token", what, change)
}

// changedParam changes one of resultParams in the query of a redirect. Their good values are not escaped there.
func changedParam(name, what string, change func(string) string) query {
	return query{what, func(q string) string {
		pairs := strings.Split(q, "&")
		for i, pair := range pairs {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				pairs[i] = name + "=" + url.QueryEscape(change(value))
			}
		}
		return strings.Join(pairs, "&")
	}}
}

// swapCookies opens the good redirect of another order, which has passed, in this
// order's browser. It does so once for each cookie of the other order's browser, and
// sends that cookie in place of this browser's own.
func (t *trial) swapCookies() {
	other := t.orderIn(newBrowser()) // not judged, because it has passed
	address := t.goodURL(other)
	eachCookie(t.order(), other, address, func(o *order, name string) { t.visit(o, name, address) })
}

// eachCookie calls act for each cookie that the other order's browser has at an address,
// with the own order in a browser where this cookie takes the place of its own.
func eachCookie(own, other *order, address string, act func(o *order, name string)) {
	at := parse("an address", address)
	for _, theirs := range other.browser.Cookies(at) {
		browser := newBrowser()
		browser.SetCookies(at, append(own.browser.Cookies(at), theirs))
		act(own.in(browser), theirs.Name)
	}
}
