// Package certify attacks a merchant's integration as a thief would: with forged
// redirects and webhooks, and with results that are not a pass. It signs only
// with test secrets and only for test sessions that the shop made for the run. It
// reaches only hosts that the tenant has registered, through the guarded dialer.
package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"agegate/internal/lab/suite"
	"agegate/internal/lab/testkey"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// ErrCannotRun is wrapped by the errors of runs that could not start or could not finish.
var ErrCannotRun = errors.New("the integration cannot be tested")

// AnswerLimit is the time a shop has to answer. The gateway waits just as long for the
// answer to a webhook.
const AnswerLimit = webhook.AttemptTimeout

// Tools are what every run uses.
type Tools struct {
	Client *webhook.Client
	Random io.Reader        // cryptographically secure
	Now    func() time.Time // UTC in whole microseconds
}

// Options configure a run and report its progress.
type Options struct {
	Progress func(done, total int, last Result) // called after each case; may be nil
	Cases    []string                           // path.Match patterns of case names; empty tries all
	Limit    time.Duration                      // for each answer; 0 is AnswerLimit
}

// sessionHeader is a header of a shop's answer to an order: the ID of its
// session. JSON has it as session_id.
const sessionHeader = "Agegate-Session"

// Secrets are the tenant's signing secrets of test mode, decoded. One that is not
// known is nil.
type Secrets struct{ Redirect, Webhook []byte }

// stopped is the panic that ends a run, of the reason why it cannot be finished. Attack recovers it.
type stopped struct{ why error }

// stopf ends the run.
func stopf(format string, args ...any) { panic(stopped{fmt.Errorf(format, args...)}) }

// check ends the run if there is an error.
func check(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// must returns a value, unless there is an error: that ends the run.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// run is the state of one run.
type run struct {
	Tools
	Options
	ctx     context.Context
	gateway *testkey.Gateway
	target  *Target
	hosts   []string           // that may be reached
	named   map[uuid.UUID]bool // sessions created for this run
	results []Result
	cancels bool // each order's Cancel URL tells its Success URL
	varying bool // each order has a Success URL of its own, which only the gateway's redirect tells

	patience time.Duration // what is left of it

	webhookKeys [][]byte // of test mode; none if they are not known
	redirectKey []byte   // of test mode; nil if it is not known
	foreignKey  []byte   // known to nobody
}

// Attack attacks a shop from outside the gateway, with the cases that are possible (see LeftOut)
// and that o names. If the redirect secret is not known, it sends only tokens of the gateway's own
// redirects, and forgeries signed with made-up keys. Its errors wrap ErrCannotRun.
func Attack(
	ctx context.Context, g *testkey.Gateway, known Secrets, target Target, tools Tools, o Options,
) (report *Report, err error) {
	defer func() {
		switch ended := recover().(type) {
		case nil:
		case stopped:
			report, err = nil, fmt.Errorf("%w: %w", ErrCannotRun, ended.why)
		default:
			panic(ended)
		}
	}()
	r := &run{Tools: tools, Options: o, ctx: ctx, gateway: g, target: &target, named: map[uuid.UUID]bool{},
		redirectKey: known.Redirect, patience: patience * target.Settle}
	r.Limit = cmp.Or(r.Limit, AnswerLimit)
	if known.Webhook != nil {
		r.webhookKeys = [][]byte{known.Webhook}
	}
	chosen := must(choose(o.Cases, &target, known))
	r.foreignKey = must(credential.NewSecret(tools.Random))
	r.reach()
	started, began := r.Now(), time.Now()
	r.try(chosen)
	return &Report{Hosts: r.hosts, StartedAt: started, Took: time.Since(began), Sessions: len(r.named),
		Results: r.results}, nil
}

// reach checks that the run reaches only addresses of the tenant, and learns the
// Success URL.
func (r *run) reach() {
	for _, q := range r.target.Requests() {
		r.permit(q.Name+".url", q.at(uuid.Nil.String()))
	}
	if r.target.SuccessURL == "" {
		r.learn()
	}
	r.permit("success_url", placeholder.ReplaceAllString(r.target.SuccessURL, "x"))
	if r.target.WebhookURL != "" {
		r.permit("webhook_url", r.target.WebhookURL)
	}
	if r.target.CancelURL != "" {
		r.permit("cancel_url", r.target.CancelURL)
	}
}

// permit ends the run with an error that names the field if the tenant has not registered
// the address's host and port.
func (r *run) permit(field, address string) {
	e, err := (tenant.CallbackRule{AllowInsecure: true}).Parse(address)
	if err != nil {
		stopf("%s: %w", field, err)
	}
	if !must(r.gateway.Registered(r.ctx, address)) {
		stopf("%s: its host and port are not those of a URL that the tenant has registered; register "+
			"them, or write them as registered (localhost and 127.0.0.1 are two hosts)", field)
	}
	if !slices.Contains(r.hosts, e.Host) {
		r.hosts = append(r.hosts, e.Host)
	}
}

// try carries out each case, gives the shop time to release its orders, and
// judges the case. The first case is a good delivery: if it gets no answer,
// nothing else is tried.
func (r *run) try(chosen []testCase) {
	var trials []*trial
	for i, c := range chosen {
		t := &trial{run: r, testCase: c, result: Result{Case: c.name, Title: c.title, Outcome: suite.Passed}}
		started := time.Now()
		t.act(t)
		t.result.Took = time.Since(started)
		trials = append(trials, t)
		if i == 0 && t.unanswered {
			break
		}
	}
	for _, t := range trials {
		if t.again != nil {
			t.again()
		}
	}
	r.wait(r.target.settle())
	for i, c := range chosen {
		result := Result{Case: c.name, Title: c.title, Outcome: suite.Skipped, Problems: []Problem{{Code: ProblemUntried}}}
		if i < len(trials) {
			trials[i].judge()
			result = trials[i].result
		}
		if result.Outcome == suite.Failed {
			result.Fix = c.fix
		}
		r.results = append(r.results, result)
		if r.Progress != nil {
			r.Progress(i+1, len(chosen), result)
		}
	}
}

func (r *run) wait(d time.Duration) { check(routine.Wait(r.ctx, d)) }
