package certify

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"agegate/internal/lab/suite"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
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
	act      func(t *trial)
}

// trial is a case while it runs.
type trial struct {
	testCase
	*run
	result     Result
	orders     []*order // each of them is judged
	unanswered bool
	unforced   bool   // the gateway gave no session the result that the case is about
	accepted   bool   // a delivery that must be refused was answered with 2xx
	let        string // the first of several attacks after which an order was released; "" if this is not known
	seen       int    // how often watch saw the order released
	again      func() // sends something again later; nil for nothing
}

// later sends something again when Target.Replay has passed.
func (t *trial) later(again func()) {
	due := time.Now().Add(t.target.Replay)
	t.again = func() {
		t.wait(time.Until(due))
		again()
	}
}

// tell notes which of several attacks a shop let in, if it releases at once.
func (t *trial) tell(o *order, what string) {
	if t.let == "" && !t.releases && t.released(o) > 0 {
		t.let = what
	}
}

// patience is how many times its time to settle a shop may take longer in all, for one that
// releases its orders one after the other in the background.
const patience = 5

// releasedInTime returns how often an order has been released, once that is as often as it
// must be or the run's patience is at its end.
func (t *trial) releasedInTime(o *order, least int) int {
	n, pause := t.released(o), t.target.Settle/4
	for n < least && t.patience > 0 {
		t.wait(pause)
		t.patience -= pause
		n = t.released(o)
	}
	return n
}

// watch fails the case if its order has been released more often than it may be, or no
// longer is. what says what was done last.
func (t *trial) watch(o *order, what string, most int) {
	n := t.released(o)
	if t.let != "" {
		return
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
		return
	}
	t.let = what
	t.fail(p)
}

// fail records a problem; the case continues.
func (t *trial) fail(p Problem) {
	t.result.Problems = append(t.result.Problems, p)
	t.result.Outcome = suite.Failed
}

// order begins an order; whether it is released decides the case.
func (t *trial) order() *order { return t.judged(newBrowser()) }

// judged begins an order in a browser. Whether it is released decides the case.
func (t *trial) judged(buyer *browser) *order {
	o := t.orderIn(buyer)
	t.orders = append(t.orders, o)
	return o
}

// judge records a problem for each order that was not released as often as it
// should be.
func (t *trial) judge() {
	// A shop that releases orders only in other ways need not release one in this way.
	least, most, released := 0, 0, 0
	if t.releases {
		most = 1
		if slices.ContainsFunc(t.ways(), t.target.releasesOn) {
			least = 1
		}
	}
	for _, o := range t.orders {
		n := t.releasedInTime(o, least)
		released += n
		switch {
		case n > 0 && most == 0:
			t.fail(Problem{Code: ProblemReleased, What: t.let, Value: strconv.Itoa(n)})
		case n > most && t.let == "": // otherwise watch has told it
			t.fail(Problem{Code: ProblemReleasedAgain, Value: strconv.Itoa(n)})
		case n < least:
			t.fail(Problem{Code: ProblemNotReleased})
		}
	}
	if t.accepted && released == 0 {
		t.result.Problems = append(t.result.Problems, Problem{Code: ProblemAcceptedOnly})
	}
	if t.unforced && t.result.Outcome == suite.Passed {
		t.result.Outcome, t.result.Problems = suite.Skipped, []Problem{{Code: ProblemUnforced}}
	}
}

// expect is the expected answer to a delivery.
type expect int

const (
	accept expect = iota // with 2xx
	refuse               // with anything else
	either
)

// The headers of a delivery.
const (
	headerID        = standardwebhooks.HeaderWebhookID
	headerTimestamp = standardwebhooks.HeaderWebhookTimestamp
	headerSignature = standardwebhooks.HeaderWebhookSignature
)

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

// good returns the delivery that the gateway would send for a new order's verified session.
func (t *trial) good() *delivery { return t.delivery(t.order(), webhook.ResultVerified) }

// delivery returns a delivery of an event of an order's session, as the gateway would send it.
func (t *trial) delivery(o *order, result webhook.Result) *delivery {
	return t.event(o, result, false, t.Now())
}

// event returns a delivery of an event of a mode and a time.
func (t *trial) event(o *order, result webhook.Result, livemode bool, at time.Time) *delivery {
	e := must(webhook.NewEvent(webhook.Completion{SessionID: o.id, Result: result, Livemode: livemode, CompletedAt: at,
		Destination: t.target.WebhookURL}))
	return &delivery{to: o, id: e.ID, at: t.Now(), keys: t.webhookKeys, body: e.Body}
}

// header signs a delivery.
func (d *delivery) header() http.Header {
	signed := d.signed
	if signed == nil {
		signed = d.body
	}
	header := must(webhook.Sign(d.keys, d.id, d.at, signed))
	if d.alter != nil {
		d.alter(header)
	}
	return header
}

// post sends a delivery.
func (t *trial) post(d *delivery) webhook.Answer {
	ctx, cancel := context.WithTimeout(t.ctx, t.Limit)
	defer cancel()
	return t.Client.Post(ctx, t.target.WebhookURL, d.header(), d.body)
}

// send sends a delivery and checks its answer.
func (t *trial) send(d *delivery, want expect) { t.answered(t.post(d), d.what, want) }

// altered is the act of a case that sends the good delivery of a new order after each alteration.
func altered(want expect, alter ...func(t *trial, d *delivery)) func(t *trial) {
	return func(t *trial) {
		for _, change := range alter {
			d := t.good()
			change(t, d)
			t.send(d, want)
		}
	}
}

// alteredSignature is the act of a case that sends a good delivery with a changed signature.
func alteredSignature(want expect, change func(good string) string) func(t *trial) {
	return altered(want, func(_ *trial, d *delivery) { d.alter = changeSignature(change) })
}

// changeSignature changes the signature of a delivery.
func changeSignature(change func(good string) string) func(http.Header) {
	return func(h http.Header) { h.Set(headerSignature, change(h.Get(headerSignature))) }
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

// sideBySide calls a function n times at the same moment, with 0 and up. A panic of a call, such as
// that of stopf, goes on in the caller.
func sideBySide(n int, act func(i int)) {
	panics := make([]any, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			defer func() { panics[i] = recover() }()
			act(i)
		})
	}
	all.Wait()
	for _, value := range panics {
		if value != nil {
			panic(value)
		}
	}
}

// pass returns the values that the gateway signs for a verified session.
func pass(o *order) credential.Redirect {
	return credential.Redirect{Session: o.id.String(), Status: string(session.ResultVerified), IsAdult: true}
}

// tokenTTL is how long the tokens of a run are valid.
const tokenTTL = 10 * time.Minute

// token signs a redirect's values as the gateway does, for tokenTTL.
func (t *trial) token(key []byte, v credential.Redirect) string {
	return v.Token(key, t.Now().Add(tokenTTL))
}

// expired signs a redirect's values with the tenant's secret, for a time that is over.
func (t *trial) expired(v credential.Redirect) string {
	return v.Token(t.redirectKey, t.Now().Add(-time.Minute))
}

// goodURL returns the address to which the gateway redirects the browser after a
// pass.
func (t *trial) goodURL(o *order) string {
	if t.redirectKey == nil {
		return t.redirectOf(o)
	}
	return t.successURL(o, pass(o), t.token(t.redirectKey, pass(o)))
}

// expiredURL is goodURL with a token that has expired.
func (t *trial) expiredURL(o *order) string {
	if t.redirectKey != nil {
		return t.successURL(o, pass(o), t.expired(pass(o)))
	}
	check(t.gateway.ExpireRedirect(t.ctx, o.id))
	return t.redirectOf(o)
}

// goodToken returns the token of goodURL.
func (t *trial) goodToken(o *order) string { return valuesOf(t.goodURL(o))["token"] }

// successURL returns the Success URL of an order with the values of a redirect. If only
// the gateway's redirect tells it, the session passes, where the shop releases by
// redirect alone or must release; elsewhere the address is that of the run's first order.
func (t *trial) successURL(o *order, v credential.Redirect, token string) string {
	base := o.successURL
	alone := !t.target.releasesOn(WayWebhook) && !t.target.releasesOn(WayPolling)
	if t.varying && (t.releases || alone && t.ways()[0] == WayRedirect) {
		base = withoutResult(t.redirectOf(o))
	}
	return must(credential.RedirectURL(base, v, token))
}

// visit opens an address in the order's browser. It ignores what the shop shows:
// only releases count.
func (t *trial) visit(o *order, what, address string) { t.arrived(t.get(o, address), what) }

// visitGood opens an order's good redirect in its browser.
func (t *trial) visitGood(o *order, what string) { t.visit(o, what, t.goodURL(o)) }

// visitAs opens an order's Success URL with the values of a redirect and a token.
func (t *trial) visitAs(o *order, what string, v credential.Redirect, token string) {
	t.visit(o, what, t.successURL(o, v, token))
}

// get opens an address in the order's browser.
func (t *trial) get(o *order, address string) visit {
	return t.open(o, http.MethodGet, address, nil, false)
}

// arrived checks that there was an answer.
func (t *trial) arrived(v visit, what string) {
	if v.class != "" {
		t.unanswered = true
		t.fail(Problem{Code: ProblemNoAnswer, What: what, Value: string(v.class)})
	}
}

// parse parses an address. The error has its name alone: it may hold a token.
func parse(name, address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		stopf("%s cannot be read", name)
	}
	return u
}

// valuesOf returns the parameters of a redirect, the first value of each.
func valuesOf(address string) map[string]string {
	values := map[string]string{}
	for name, all := range parse("the gateway's redirect", address).Query() {
		values[name] = all[0]
	}
	return values
}
