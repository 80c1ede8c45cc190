package certify

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"agegate/internal/lab/suite"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

// testCase is a rule that a shop must follow.
type testCase struct {
	name  string // the way of release, a dot, and the attack
	title string // what must hold
	fix   string // what to do if it does not

	releases bool // the case is a pass, which must release the order
	fronted  bool // needs Target.Front
	signs    bool // needs the redirect secret: the gateway never signs what the case sends
	orders   int  // that it begins; 0 is one
	passes   bool // without the redirect secret, the order's own session must pass, although the case is no pass
	act      func(t *trial) error
}

// trial is a case while it runs.
type trial struct {
	testCase
	*run
	ctx        context.Context
	result     Result
	orders     []*order // each of them is judged
	unanswered bool
	accepted   bool   // a delivery that must be refused was answered with 2xx
	let        string // the first of several attacks after which an order was released; "" if this is not known
	seen       int    // how often watch saw the order released

	sent  time.Time    // when again was set
	again func() error // what is sent again later; nil for nothing
}

// later sends something again when Target.Replay has passed.
func (t *trial) later(again func() error) { t.sent, t.again = time.Now(), again }

// tell notes which of several attacks a shop let in, if it releases at once.
func (t *trial) tell(o *order, what string) error {
	if t.let != "" || t.releases {
		return nil
	}
	n, err := t.released(t.ctx, o)
	if n > 0 {
		t.let = what
	}
	return err
}

// patience is how many times its time to settle a shop may take longer in all, for one that
// releases its orders one after the other in the background.
const patience = 5

// releasedInTime returns how often an order has been released, once that is as often as it
// must be or the run's patience is at its end.
func (t *trial) releasedInTime(o *order, must int) (n int, err error) {
	for pause := t.target.Settle / 4; ; t.patience -= pause {
		if n, err = t.released(t.ctx, o); err != nil || n >= must || t.patience <= 0 {
			return n, err
		}
		if err = wait(t.ctx, pause); err != nil {
			return n, err
		}
	}
}

// watch fails the case if its order has been released more often than it may be, or no
// longer is. what says what was done last.
func (t *trial) watch(o *order, what string, most int) error {
	n, err := t.released(t.ctx, o)
	if err != nil || t.let != "" {
		return err
	}
	p := Problem{What: what, Value: strconv.Itoa(n)}
	switch {
	case n > most && most == 0:
		p.Code = ProblemReleased
	case n > most:
		p.Code = ProblemReleasedAgain
	case n < t.seen:
		p.Code = ProblemTakenBack
	default:
		t.seen = n
		return nil
	}
	t.let = what
	t.fail(p)
	return nil
}

// fail records a problem; the case continues.
func (t *trial) fail(p Problem) {
	t.result.Problems = append(t.result.Problems, p)
	t.result.Outcome = suite.Failed
}

// order begins an order; whether it is released decides the case.
func (t *trial) order() (*order, error) { return t.judged(newBrowser()) }

// judged begins an order in a browser. Whether it is released decides the case.
func (t *trial) judged(buyer *browser) (*order, error) {
	o, err := t.orderIn(t.ctx, buyer)
	if err == nil {
		t.orders = append(t.orders, o)
	}
	return o, err
}

// twoOrders begins two orders, each in a browser of its own; both are judged.
func (t *trial) twoOrders() (first, second *order, err error) {
	if first, err = t.order(); err == nil {
		second, err = t.order()
	}
	return first, second, err
}

// ownThenOther begins an order, and then another one, in another browser. Only the first
// is judged.
func (t *trial) ownThenOther() (own, other *order, err error) {
	if own, err = t.order(); err == nil {
		other, err = t.run.order(t.ctx)
	}
	return own, other, err
}

// goodOrder begins an order, and returns it with its goodURL.
func (t *trial) goodOrder() (o *order, address string, err error) {
	if o, err = t.order(); err == nil {
		address, err = t.goodURL(o)
	}
	return o, address, err
}

// judge records a problem for each order that was not released as often as it
// should be.
func (t *trial) judge() error {
	want := 0
	if t.releases {
		want = 1
	}
	released := 0
	for _, o := range t.orders {
		// A shop that releases orders only in other ways need not release one in
		// this way.
		must := 0
		if t.releases && slices.ContainsFunc(t.ways(), t.target.releasesOn) {
			must = 1
		}
		n, err := t.releasedInTime(o, must)
		if err != nil {
			return err
		}
		released += n
		switch {
		case n > 0 && want == 0:
			t.fail(Problem{Code: ProblemReleased, What: t.let, Value: strconv.Itoa(n)})
		case n > want && t.let == "": // otherwise watch has told it
			t.fail(Problem{Code: ProblemReleasedAgain, Value: strconv.Itoa(n)})
		case n < must:
			t.fail(Problem{Code: ProblemNotReleased})
		}
	}
	if t.accepted && released == 0 {
		t.result.Problems = append(t.result.Problems, Problem{Code: ProblemAcceptedOnly})
	}
	return nil
}

// expect is the expected answer to a delivery.
type expect int

const (
	accept expect = iota // with 2xx
	refuse               // with anything else
	either
)

// event returns the event of an order's session, as the gateway would send it.
func (t *trial) event(o *order, result webhook.Result, livemode bool, at time.Time) (webhook.Event, error) {
	return webhook.NewEvent(webhook.Completion{
		SessionID: o.session.ID, Result: result, Livemode: livemode, CompletedAt: at,
		Destination: o.session.WebhookURL,
	})
}

// delivery is a webhook sent to a shop.
type delivery struct {
	to     *order
	what   string // distinguishes several deliveries of one case
	id     string
	at     time.Time
	keys   [][]byte
	signed []byte // the signed bytes; nil if they are the body
	body   []byte
	alter  func(http.Header)
}

// good returns the delivery that the gateway would send for a verified session.
func (t *trial) good() (*delivery, error) { return t.delivery(webhook.ResultVerified, false) }

func (t *trial) delivery(result webhook.Result, livemode bool) (*delivery, error) {
	o, err := t.order()
	if err != nil {
		return nil, err
	}
	return t.deliveryOf(o, result, livemode)
}

// deliveryOf returns a delivery about an order that was begun.
func (t *trial) deliveryOf(o *order, result webhook.Result, livemode bool) (*delivery, error) {
	e, err := t.event(o, result, livemode, t.Now())
	return &delivery{to: o, id: e.ID, at: t.Now(), keys: t.webhookKeys, body: e.Body}, err
}

// send sends a delivery and checks its answer.
func (t *trial) send(d *delivery, want expect) error {
	header, err := d.header()
	if err != nil {
		return err
	}
	t.answered(t.post(d, header), d.what, want)
	return nil
}

// header signs a delivery.
func (d *delivery) header() (http.Header, error) {
	signed := d.signed
	if signed == nil {
		signed = d.body
	}
	header, err := webhook.Sign(d.keys, d.id, d.at, signed)
	if err == nil && d.alter != nil {
		d.alter(header)
	}
	return header, err
}

func (t *trial) post(d *delivery, header http.Header) webhook.Answer {
	ctx, cancel := context.WithTimeout(t.ctx, t.Limit)
	defer cancel()
	return t.Client.Post(ctx, d.to.session.WebhookURL, header, d.body)
}

// answered checks the answer to a delivery, but not its body.
func (t *trial) answered(a webhook.Answer, what string, want expect) {
	switch ok := a.Class == webhook.ClassDelivered; {
	case a.StatusCode == 0:
		t.unanswered = true
		t.fail(Problem{Code: ProblemNoAnswer, What: what, Value: string(a.Class)})
	case want == accept && !ok:
		t.fail(Problem{Code: ProblemNotAccepted, What: what, Value: strconv.Itoa(a.StatusCode)})
	case want == refuse && ok:
		t.accepted = true
	}
}

// pass returns the values that the gateway signs for a verified session.
func pass(o *order) credential.Redirect {
	return credential.Redirect{Session: o.session.ID.String(), Status: string(session.ResultVerified), IsAdult: true}
}

// tokenTTL is how long the tokens of a run are valid.
const tokenTTL = 10 * time.Minute

// token signs a redirect's values as the gateway does, for tokenTTL.
func (t *trial) token(v credential.Redirect) string {
	return v.Token(t.redirectKey, t.Now().Add(tokenTTL))
}

// goodURL returns the address to which the gateway redirects the browser after a
// pass.
func (t *trial) goodURL(o *order) (string, error) {
	if t.redirectKey == nil {
		return t.redirectOf(t.ctx, o)
	}
	return t.successURL(o, pass(o), t.token(pass(o)))
}

// expiredURL is goodURL with a token that has expired.
func (t *trial) expiredURL(o *order) (string, error) {
	if t.redirectKey != nil {
		return t.successURL(o, pass(o), pass(o).Token(t.redirectKey, t.Now().Add(-time.Minute)))
	}
	if err := t.gateway.ExpireRedirect(t.ctx, o.session.ID); err != nil {
		return "", errors.Join(ErrCannotRun, err)
	}
	return t.redirectOf(t.ctx, o)
}

// goodToken returns the token of goodURL.
func (t *trial) goodToken(o *order) (string, error) {
	address, err := t.goodURL(o)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return u.Query().Get("token"), nil
}

// successURL returns the Success URL of an order with the values of a redirect. If only
// the gateway's redirect tells it, the session passes, where the shop releases by
// redirect alone or must release; elsewhere the address is that of the run's first order.
func (t *trial) successURL(o *order, v credential.Redirect, token string) (string, error) {
	base := o.session.SuccessURL
	alone := !t.target.releasesOn(WayWebhook) && !t.target.releasesOn(WayPolling)
	if t.varying && (t.releases || alone && t.ways()[0] == WayRedirect) {
		address, err := t.redirectOf(t.ctx, o)
		if err != nil {
			return "", err
		}
		if base, err = withoutResult(address); err != nil {
			return "", err
		}
	}
	return credential.RedirectURL(base, v, token)
}

// visitAtOnce opens an address several times at the same time.
func (t *trial) visitAtOnce(o *order, address string) error {
	visits := make([]visit, atOnce)
	var all routine.Group
	for i := range visits {
		all.Start(func() error { visits[i] = t.get(o, address); return nil })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	// report the same failure only once
	if i := slices.IndexFunc(visits, func(v visit) bool { return v.class != "" }); i >= 0 {
		t.arrived(visits[i], "")
	}
	return nil
}

// visit opens an address in the order's browser. It ignores what the shop shows:
// only releases count.
func (t *trial) visit(o *order, what, address string) { t.arrived(t.get(o, address), what) }

// get opens an address in the order's browser.
func (t *trial) get(o *order, address string) visit {
	return t.open(t.ctx, o, http.MethodGet, address, nil, false)
}

// arrived checks that there was an answer.
func (t *trial) arrived(v visit, what string) {
	if v.class != "" {
		t.unanswered = true
		t.fail(Problem{Code: ProblemNoAnswer, What: what, Value: string(v.class)})
	}
}
