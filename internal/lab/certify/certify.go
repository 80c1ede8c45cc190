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
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// ErrCannotRun is wrapped by the errors of runs that could not start or could not finish.
var ErrCannotRun = errors.New("the integration cannot be tested")

// ErrNotForced is wrapped by Gateway's errors for a result that the gateway does not force.
var ErrNotForced = errors.New("the gateway does not force it; does the shop use a test key?")

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

// Gateway is a running gateway as a test key sees it. Its errors hold no input
// of the shop.
type Gateway interface {
	// Registered reports whether a session may redirect to the address, that is
	// whether the tenant has registered its host and port.
	Registered(ctx context.Context, address string) (bool, error)
	// Pending reports whether the key's tenant has an open session of this ID.
	Pending(ctx context.Context, id uuid.UUID) (bool, error)
	// Force gives the test session of a verification URL of this gateway a result,
	// and returns where the page then redirects, or "". It wraps ErrNotForced if no session
	// of the tenant ends so.
	Force(ctx context.Context, verificationURL string, result session.Result) (redirect string, err error)
	// Page returns the hosted page of a verification URL of this gateway, in English. It
	// changes nothing.
	Page(ctx context.Context, verificationURL string) ([]byte, error)
	// Expire makes an open test session expire.
	Expire(ctx context.Context, id uuid.UUID) error
	// ExpireRedirect makes the next redirect of a test session carry an expired
	// token.
	ExpireRedirect(ctx context.Context, id uuid.UUID) error
}

// sessionHeader is a header of a shop's answer to an order: the ID of its
// session. JSON has it as session_id.
const sessionHeader = "Agegate-Session"

// Secrets are the tenant's signing secrets of test mode, decoded. One that is not
// known is nil.
type Secrets struct{ Redirect, Webhook []byte }

// run is the state of one run.
type run struct {
	Tools
	Options
	gateway Gateway
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
func Attack(ctx context.Context, g Gateway, known Secrets, target Target, tools Tools, o Options) (*Report, error) {
	r := &run{Tools: tools, Options: o, gateway: g, target: &target, named: map[uuid.UUID]bool{},
		redirectKey: known.Redirect, patience: patience * target.Settle}
	r.Limit = cmp.Or(r.Limit, AnswerLimit)
	if known.Webhook != nil {
		r.webhookKeys = [][]byte{known.Webhook}
	}
	chosen, err := choose(o.Cases, &target, known)
	if err != nil {
		return nil, err
	}
	if r.foreignKey, err = credential.NewSecret(tools.Random); err != nil {
		return nil, err
	}
	if err := r.reach(ctx); err != nil {
		return nil, err
	}
	started, began := r.Now(), time.Now()
	if err := r.try(ctx, chosen); err != nil {
		return nil, err
	}
	return &Report{Hosts: r.hosts, StartedAt: started, Took: time.Since(began), Sessions: len(r.named),
		Results: r.results}, nil
}

// reach checks that the run reaches only addresses of the tenant, and learns the
// Success URL.
func (r *run) reach(ctx context.Context) error {
	for _, q := range r.target.requests() {
		if err := r.permit(ctx, q.name+".url", q.at(uuid.Nil.String())); err != nil {
			return err
		}
	}
	if r.target.SuccessURL == "" {
		if err := r.learn(ctx); err != nil {
			return err
		}
	}
	for name, address := range map[string]string{"webhook_url": r.target.WebhookURL, "cancel_url": r.target.CancelURL} {
		if address == "" {
			continue
		}
		if err := r.permit(ctx, name, address); err != nil {
			return err
		}
	}
	return r.permit(ctx, "success_url", placeholder.ReplaceAllString(r.target.SuccessURL, "x"))
}

// permit returns an error that names the field if the tenant has not registered
// the address's host and port.
func (r *run) permit(ctx context.Context, field, address string) error {
	e, err := (tenant.CallbackRule{AllowInsecure: true}).Parse(address)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCannotRun, field, err)
	}
	ok, err := r.gateway.Registered(ctx, address)
	if err != nil {
		return errors.Join(ErrCannotRun, err)
	}
	if !ok {
		return fmt.Errorf("%w: %s: its host and port are not those of a URL that the tenant has registered; register "+
			"them, or write them as registered (localhost and 127.0.0.1 are two hosts)", ErrCannotRun, field)
	}
	if !slices.Contains(r.hosts, e.Host) {
		r.hosts = append(r.hosts, e.Host)
	}
	return nil
}

// try carries out each case, gives the shop time to release its orders, and
// judges the case. The first case is a good delivery: if it gets no answer,
// nothing else is tried.
func (r *run) try(ctx context.Context, chosen []testCase) error {
	var trials []*trial
	for i, c := range chosen {
		t := &trial{run: r, ctx: ctx, testCase: c, result: Result{Case: c.name, Title: c.title, Outcome: suite.Passed}}
		started := time.Now()
		if err := t.act(t); err != nil {
			return err
		}
		t.result.Took = time.Since(started)
		trials = append(trials, t)
		if i == 0 && t.unanswered {
			break
		}
	}
	if err := r.repeat(ctx, trials); err != nil {
		return err
	}
	if err := wait(ctx, r.target.settle()); err != nil {
		return err
	}
	for i, c := range chosen {
		result := Result{Case: c.name, Title: c.title, Outcome: suite.Skipped, Problems: []Problem{{Code: ProblemUntried}}}
		if i < len(trials) {
			if err := trials[i].judge(); err != nil {
				return err
			}
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
	return nil
}

// repeat sends what trials left to be sent again, each Target.Replay after it was sent first.
func (r *run) repeat(ctx context.Context, trials []*trial) error {
	for _, t := range trials {
		if t.again == nil {
			continue
		}
		if err := wait(ctx, time.Until(t.sent.Add(r.target.Replay))); err != nil {
			return err
		}
		if err := t.again(); err != nil {
			return err
		}
	}
	return nil
}
