package certify

import (
	"net/http"
	"net/url"
	"strings"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

const betweenFix = "Change an order on a pass alone, which you have verified, and never take a release back: a page, " +
	"a form, a lookup that says PENDING and a forgery change nothing. Keep the release under your own ID of the order, " +
	"never under a text of the address or a cookie."

// betweenCases return what anybody can do between the steps of a pass.
var betweenCases = func() (all []testCase) {
	for i, way := range ways {
		what := []string{"redirect", "delivery", "lookup"}[i]
		all = append(all, testCase{
			name: string(way) + ".between", releases: true, orders: 3, fix: betweenFix,
			title: "What anybody can open before or after a good " + what + " neither stops, repeats nor undoes the release",
			act:   func(t *trial) { t.between(way) },
		})
	}
	return all
}()

// step is a request that is no pass. Anybody can send it.
type step struct {
	what    string
	cancels bool
	do      func(in *order)
}

// steps returns what anybody can do at an order's addresses, where another order passes, too.
func (t *trial) steps(o, other *order) []step {
	theirs, cancel := t.goodURL(other), t.cancelOf(o)
	all := []step{
		{"a lookup", false, func(in *order) { t.poll(in); t.poll(in) }},
		{"the pass of another order", false, func(*order) { t.visitGood(other, ""); t.passAgain(other, WayWebhook) }},
	}
	if t.target.Front != nil {
		all = append(all, step{"lookups that fail", false, func(in *order) { t.pollInTrouble(o, in) }})
	}
	opens := func(what, method, address string, form *Request) {
		all = append(all, step{what, address == cancel, func(in *order) {
			t.arrived(t.open(in, method, address, form, false), what)
		}})
	}
	var form *Request // the last one goes to the Cancel URL, too
	opens("the redirect of another order", http.MethodGet, theirs, nil)
	opens("the Success URL alone", http.MethodGet, o.successURL, nil)
	refused := pass(o)
	refused.Status, refused.IsAdult = string(session.ResultFallback), false
	for _, v := range []credential.Redirect{pass(o), refused} {
		tokens := []string{"", t.token(t.foreignKey, v)} // that do not verify, or no longer
		if t.redirectKey != nil {
			tokens = append(tokens, t.expired(v))
		}
		for i, token := range tokens {
			address := must(credential.RedirectURL(o.successURL, v, token))
			form = &Request{Form: valuesOf(address)}
			opens("a redirect that does not verify", http.MethodGet, address, nil)
			opens("a form that does not verify", http.MethodPost, address, form)
			if i == 0 {
				opens("a HEAD without a token", http.MethodHead, address, nil)
				opens("a form", http.MethodPost, o.successURL, form)
			}
		}
	}
	if cancel != "" {
		opens("the Cancel URL", http.MethodGet, cancel, nil)
		opens("a form to the Cancel URL", http.MethodPost, cancel, form)
	}
	if t.target.WebhookURL == "" {
		return all
	}
	for _, result := range []webhook.Result{webhook.ResultVerified, webhook.ResultRoutedToFallback} {
		d := t.delivery(o, result)
		d.what, d.keys = "a forged delivery", [][]byte{t.foreignKey}
		all = append(all, step{d.what, false, func(*order) { t.send(d, either) }})
	}
	return all
}

// pollInTrouble makes the shop look up an order's session while the gateway has no answer.
func (t *trial) pollInTrouble(o, in *order) {
	for _, status := range []int{http.StatusNotFound, http.StatusServiceUnavailable} {
		t.target.Front.set(o, trouble{name: "between", status: status, body: `{"detail":"It failed"}`})
		t.poll(in)
	}
	t.target.Front.set(o, trouble{})
}

// between releases an order in a way. It does every step before, in the buyer's browser, unless it
// gives the order up, and in a stranger's; and again after, each time followed by every pass of the order.
func (t *trial) between(way Way) {
	o, other := t.order(), t.orderIn(newBrowser())
	steps := t.steps(o, other)
	before := t.copyOf(o)
	for _, s := range steps {
		if !s.cancels {
			s.do(o)
		}
		s.do(o.in(newBrowser()))
		t.watch(o, s.what, 0)
	}
	t.passAgain(o, way)
	t.expectRelease(o, way)
	t.watch(o, "the pass", 1)
	for _, s := range steps {
		s.do(o)
		s.do(o.in(newBrowser()))
		t.repeatPass(s.what, o)
	}
	t.orderIn(o.browser) // not judged
	t.repeatPass("a new order", o, before, o.in(newBrowser()))
	t.respell(before, way)
}

// repeatPass repeats the pass of a released order, in its browser and others, after something else.
func (t *trial) repeatPass(after string, o *order, others ...*order) {
	t.watch(o, after, 1)
	for _, in := range append(others, o) {
		t.visitGood(in, "")
		t.watch(o, after+", then the redirect again", 1)
	}
	t.passAgain(o, WayWebhook)
	t.watch(o, after+", then the delivery again", 1)
}

// copyOf returns an order in a browser with the cookies that its own one has now.
func (r *run) copyOf(o *order, more ...*http.Cookie) *order {
	copied := newBrowser()
	for _, at := range []string{o.successURL, r.target.Order.URL, r.target.Probe.at(o.id.String())} {
		if u, err := url.Parse(at); err == nil {
			all := append(o.browser.Cookies(u), more...)
			for _, c := range all {
				c.Path = "/"
			}
			copied.SetCookies(u, all)
		}
	}
	return o.in(copied)
}

// expectRelease gives the shop time to release an order by the pass of a way, which it must do
// before another way's pass comes.
func (t *trial) expectRelease(o *order, way Way) {
	if t.released(o) > 0 || !t.target.releasesOn(way) {
		return
	}
	t.wait(t.target.settle())
	if t.releasedInTime(o, 1) == 0 {
		t.fail(Problem{Code: ProblemNotReleased, What: "after what anybody can open"})
	}
}

// passAgain confirms the pass of an order in a way, as far as it is known.
func (t *trial) passAgain(o *order, way Way) {
	switch way {
	case WayRedirect:
		t.visitGood(o, "")
	case WayWebhook:
		if t.webhookKeys != nil && t.target.WebhookURL != "" {
			t.send(t.delivery(o, webhook.ResultVerified), either) // another event of the session
		}
	case WayPolling:
		t.redirectOf(o)
		t.poll(o)
	}
}

// respell repeats the pass of a released order in other spellings, and by other methods.
func (t *trial) respell(o *order, way Way) {
	good := t.goodURL(o)
	if way == WayRedirect {
		for _, r := range respellings(good) {
			t.openAgain(o, r.name, http.MethodGet, r.value, nil)
		}
		t.respellCookies(o, good)
	}
	t.openAgain(o, "HEAD", http.MethodHead, good, nil)
	t.openAgain(o, "a form", http.MethodPost, good, &Request{Form: valuesOf(good)})
	t.passAgain(o, WayPolling)
	t.watch(o, "a lookup", 1)
	if way == WayPolling {
		t.pollEach(o, idSpellings(o.id.String()), func(name string) {
			t.watch(o, "a lookup, the session "+name, 1)
		})
	}
}

// openAgain opens an address of a released order, which must stay released once.
func (t *trial) openAgain(o *order, what, method, address string, form *Request) {
	t.arrived(t.open(o, method, address, form, false), what)
	t.watch(o, what, 1)
}

// respellCookies sends a released order's pass with each of its cookies spelled in other ways.
func (t *trial) respellCookies(o *order, good string) {
	for _, c := range o.browser.Cookies(parse("the gateway's redirect", good)) {
		for _, r := range spellings(c.Name, c.Value) {
			name, value, _ := strings.Cut(r.value, "=")
			in := t.copyOf(o, &http.Cookie{Name: name, Value: value}) //nolint:gosec // a browser's own
			t.openAgain(in, "the cookie "+c.Name+" "+r.name, http.MethodGet, good, nil)
		}
	}
}
