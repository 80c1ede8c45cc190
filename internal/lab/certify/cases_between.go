package certify

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

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
			act:   func(t *trial) error { return t.between(way) },
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
func (t *trial) steps(o, other *order) ([]step, error) {
	theirs, err := t.goodURL(other)
	if err != nil {
		return nil, err
	}
	cancel, err := t.cancelOf(t.ctx, o)
	if err != nil {
		return nil, err
	}
	all := []step{
		{"a lookup", false, func(in *order) { t.poll(in); t.poll(in) }},
		{"the pass of another order", false, func(*order) { _ = t.passAgain(other, WayRedirect, WayWebhook) }},
	}
	if t.target.Front != nil {
		all = append(all, step{"lookups that fail", false, func(in *order) { t.pollInTrouble(o, in) }})
	}
	opens := func(what, method, address string, form *Request) {
		all = append(all, step{what, address == cancel, func(in *order) {
			t.arrived(t.open(t.ctx, in, method, address, form, false), what)
		}})
	}
	bare := o.session.SuccessURL
	var form *Request // the last one goes to the Cancel URL, too
	opens("the redirect of another order", http.MethodGet, theirs, nil)
	opens("the Success URL alone", http.MethodGet, bare, nil)
	refused := pass(o)
	refused.Status, refused.IsAdult = string(session.ResultFallback), false
	for _, v := range []credential.Redirect{pass(o), refused} {
		for i, token := range t.badTokens(v) {
			address, err := credential.RedirectURL(bare, v, token)
			if err != nil {
				return nil, err
			}
			form = &Request{Form: valuesOf(address)}
			opens("a redirect that does not verify", http.MethodGet, address, nil)
			opens("a form that does not verify", http.MethodPost, address, form)
			if i == 0 {
				opens("a HEAD without a token", http.MethodHead, address, nil)
				opens("a form", http.MethodPost, bare, form)
			}
		}
	}
	if cancel != "" {
		opens("the Cancel URL", http.MethodGet, cancel, nil)
		opens("a form to the Cancel URL", http.MethodPost, cancel, form)
	}
	return t.forgeries(o, all)
}

// badTokens returns tokens for a redirect that do not verify, or no longer.
func (t *trial) badTokens(v credential.Redirect) []string {
	tokens := []string{"", v.Token(t.foreignKey, t.Now().Add(tokenTTL))}
	if t.redirectKey != nil {
		tokens = append(tokens, v.Token(t.redirectKey, t.Now().Add(-time.Minute)))
	}
	return tokens
}

// forgeries adds forged deliveries about an order.
func (t *trial) forgeries(o *order, all []step) ([]step, error) {
	for _, result := range []webhook.Result{webhook.ResultVerified, webhook.ResultRoutedToFallback} {
		if o.session.WebhookURL == "" {
			break
		}
		d, err := t.deliveryOf(o, result, false)
		if err != nil {
			return nil, err
		}
		d.what, d.keys = "a forged delivery", [][]byte{t.foreignKey}
		header, err := d.header()
		if err != nil {
			return nil, err
		}
		all = append(all, step{d.what, false, func(*order) { t.answered(t.post(d, header), d.what, either) }})
	}
	return all, nil
}

// pollInTrouble makes the shop look up an order's session while the gateway has no answer.
func (t *trial) pollInTrouble(o, in *order) {
	for _, status := range []int{http.StatusNotFound, http.StatusServiceUnavailable} {
		t.target.Front.set(o, trouble{name: "between", status: status, body: `{"detail":"It failed"}`})
		t.poll(in)
	}
	t.target.Front.set(o, trouble{})
}

// valuesOf returns the parameters of an address, the first value of each.
func valuesOf(address string) map[string]string {
	values := map[string]string{}
	if u, err := url.Parse(address); err == nil { // this package has made it
		for name, all := range u.Query() {
			values[name] = all[0]
		}
	}
	return values
}

// between releases an order in a way. It does every step before, in the buyer's browser, unless it
// gives the order up, and in a stranger's; and again after, each time followed by every pass of the order.
func (t *trial) between(way Way) error {
	o, other, err := t.ownThenOther()
	if err != nil {
		return err
	}
	steps, err := t.steps(o, other)
	if err != nil {
		return err
	}
	before := t.copyOf(o)
	for _, s := range steps {
		if !s.cancels {
			s.do(o)
		}
		s.do(o.in(newBrowser()))
		if err := t.watch(o, s.what, 0); err != nil {
			return err
		}
	}
	if err := t.passAgain(o, way); err != nil {
		return err
	}
	if err := errors.Join(t.expectRelease(o, way), t.watch(o, "the pass", 1)); err != nil {
		return err
	}
	for _, s := range steps {
		s.do(o)
		s.do(o.in(newBrowser()))
		if err := t.repeatPass(s.what, o); err != nil {
			return err
		}
	}
	if _, err := t.orderIn(t.ctx, o.browser); err != nil { // not judged
		return err
	}
	if err := t.repeatPass("a new order", o, before, o.in(newBrowser())); err != nil {
		return err
	}
	return t.respell(before, way)
}

// repeatPass repeats the pass of a released order, in its browser and others, after something else.
func (t *trial) repeatPass(after string, o *order, others ...*order) error {
	err := t.watch(o, after, 1)
	for _, in := range append(others, o) {
		err = errors.Join(err, t.passAgain(in, WayRedirect), t.watch(o, after+", then the redirect again", 1))
	}
	return errors.Join(err, t.passAgain(o, WayWebhook), t.watch(o, after+", then the delivery again", 1))
}

// copyOf returns an order in a browser with the cookies that its own one has now.
func (r *run) copyOf(o *order, more ...*http.Cookie) *order {
	copied := newBrowser()
	for _, at := range []string{o.session.SuccessURL, r.target.Order.URL, r.target.Probe.at(o.session.ID.String())} {
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
func (t *trial) expectRelease(o *order, way Way) error {
	n, err := t.released(t.ctx, o)
	if err != nil || n > 0 || !t.target.releasesOn(way) {
		return err
	}
	if err := wait(t.ctx, t.target.settle()); err != nil {
		return err
	}
	if n, err = t.releasedInTime(o, 1); err == nil && n == 0 {
		t.fail(Problem{Code: ProblemNotReleased, What: "after what anybody can open"})
	}
	return err
}

// passAgain confirms the pass of an order in some ways, as far as they are known.
func (t *trial) passAgain(o *order, by ...Way) error {
	for _, way := range by {
		switch way {
		case WayRedirect:
			if err := t.visitGood(o, ""); err != nil {
				return err
			}
		case WayWebhook:
			if t.webhookKeys == nil || o.session.WebhookURL == "" {
				continue
			}
			d, err := t.deliveryOf(o, webhook.ResultVerified, false) // another event of the session
			if err != nil {
				return err
			}
			if err := t.send(d, either); err != nil {
				return err
			}
		case WayPolling:
			if _, err := t.redirectOf(t.ctx, o); err != nil {
				return err
			}
			t.poll(o)
		}
	}
	return nil
}

// respell repeats the pass of a released order in other spellings, and by other methods.
func (t *trial) respell(o *order, way Way) error {
	good, err := t.goodURL(o)
	if err != nil {
		return err
	}
	if way == WayRedirect {
		for _, r := range respellings(good) {
			if err := t.openAgain(o, r.name, http.MethodGet, r.value, nil); err != nil {
				return err
			}
		}
		if err := t.respellCookies(o, good); err != nil {
			return err
		}
	}
	err = errors.Join(t.openAgain(o, "HEAD", http.MethodHead, good, nil),
		t.openAgain(o, "a form", http.MethodPost, good, &Request{Form: valuesOf(good)}),
		t.passAgain(o, WayPolling), t.watch(o, "a lookup", 1))
	if err != nil || t.target.Poll == nil || way != WayPolling {
		return err
	}
	for _, id := range idSpellings(o.session.ID.String()) {
		t.pollAs(o, id.value)
		if err := t.watch(o, "a lookup, the session "+id.name, 1); err != nil {
			return err
		}
	}
	return nil
}

// openAgain opens an address of a released order, which must stay released once.
func (t *trial) openAgain(o *order, what, method, address string, form *Request) error {
	t.arrived(t.open(t.ctx, o, method, address, form, false), what)
	return t.watch(o, what, 1)
}

// respellCookies sends a released order's pass with each of its cookies spelled in other ways.
func (t *trial) respellCookies(o *order, good string) error {
	u, err := url.Parse(good)
	if err != nil {
		return err
	}
	for _, c := range o.browser.Cookies(u) {
		for _, r := range spellings(c.Name, c.Value) {
			name, value, _ := strings.Cut(r.value, "=")
			in := t.copyOf(o, &http.Cookie{Name: name, Value: value}) //nolint:gosec // a browser's own
			if err := t.openAgain(in, "the cookie "+c.Name+" "+r.name, http.MethodGet, good, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
