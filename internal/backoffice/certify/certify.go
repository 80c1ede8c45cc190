// Package certify attacks a merchant's integration as a thief would: with forged
// redirects and webhooks, and with results that are not a pass. It signs only
// with test secrets and only for test sessions created for the run. It reaches
// only hosts that the tenant has registered, through the guarded dialer.
//
// A developer attacks a whole shop from outside the gateway (Attack). The dashboard
// attacks the webhook receiver alone, with the secrets of the database (Service).
package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"agegate/internal/backoffice/suite"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// ErrCannotRun is wrapped by the errors of runs that could not start or could not finish.
var ErrCannotRun = errors.New("the integration cannot be tested")

// AnswerLimit is the time a shop has to answer. The gateway waits just as long for the
// answer to a webhook.
const AnswerLimit = webhook.AttemptTimeout

// targetAge is the target age of the sessions that a run creates.
const targetAge = 18

// Tools are what every run uses.
type Tools struct {
	Client *webhook.Client
	Random io.Reader        // cryptographically secure
	Now    func() time.Time // UTC in whole microseconds
}

// Config holds the dependencies of a Service.
type Config struct {
	Tools

	Store    Store
	Tenants  Tenants
	Sessions Sessions
	Clock    Clock
	Rule     tenant.CallbackRule
}

// Service attacks the webhook receivers of tenants.
type Service struct{ Config }

// NewService returns a service.
func NewService(cfg Config) *Service { return &Service{cfg} }

// Options configure a run and report its progress.
type Options struct {
	Progress func(done, total int, last Result) // called after each case; may be nil
	Cases    []string                           // path.Match patterns of case names; empty tries all
	Limit    time.Duration                      // for each answer; 0 is AnswerLimit
}

// run is the state of one run.
type run struct {
	Tools
	Options
	hosts   []string           // that may be reached
	named   map[uuid.UUID]bool // sessions created for this run
	chosen  []testCase
	trials  []*trial
	results []Result

	webhookKeys [][]byte // of test mode; none if they are not known
	redirectKey []byte   // of test mode; nil if it is not known
	foreignKey  []byte   // known to nobody

	// Of a run of Attack.
	gateway Gateway
	target  *Target

	// Of a run of Service, whose target is nil.
	service *Service
	actor   audit.Actor
	tenant  tenant.Tenant
	stored  Run
}

// newRun returns a run of the cases that o names and that are possible.
func newRun(tools Tools, o Options, possible func(testCase) bool) (*run, error) {
	r := &run{Tools: tools, Options: o, named: map[uuid.UUID]bool{}}
	r.Limit = cmp.Or(r.Limit, AnswerLimit)
	var err error
	if r.chosen, err = choose(o.Cases, possible); err != nil {
		return nil, err
	}
	r.foreignKey, err = credential.NewSecret(tools.Random)
	return r, err
}

// Webhooks starts an attack on a tenant's webhook receiver with events of sessions that
// the run creates. It returns the stored run, and a function that carries out the rest
// and stores the findings. Its errors are those of Run.
func (s *Service) Webhooks(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, o Options,
) (Run, func(context.Context) (*Report, error), error) {
	r, err := s.newRun(ctx, actor, tenantID, o)
	if err != nil {
		return Run{}, nil, err
	}
	if r.tenant.WebhookURL == "" {
		return Run{}, nil, fmt.Errorf("%w: the tenant needs a registered Webhook URL", ErrCannotRun)
	}
	return r.stored, r.finish, r.claim(ctx)
}

// newRun reads what a run needs. It asks for secrets of test mode only.
func (s *Service) newRun(ctx context.Context, actor audit.Actor, tenantID uuid.UUID, o Options) (*run, error) {
	t, err := s.Tenants.Tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	r, err := newRun(s.Tools, o, testCase.byAnswer)
	if err != nil {
		return nil, err
	}
	r.service = s
	r.actor = actor
	r.tenant = t
	r.webhookKeys, err = s.Tenants.WebhookKeys(ctx, tenantID, false)
	return r, err
}

// claim stores that the run begins against the host of the Webhook URL, unless
// this tenant ran against it recently.
func (r *run) claim(ctx context.Context) error {
	e, err := r.service.Rule.Parse(r.tenant.WebhookURL)
	if err != nil {
		return fmt.Errorf("%w: a registered URL is not allowed here: %w", ErrCannotRun, err)
	}
	r.hosts = []string{e.Host}
	r.stored = Run{
		ID: newID(), TenantID: r.tenant.ID, StartedAt: r.Now(),
		EndpointID: webhook.EndpointID(r.tenant.ID, false, r.tenant.WebhookURL),
	}
	return r.service.Store.StartCertification(ctx, r.stored, r.hosts, audit.Act{
		Scope: audit.OfTenant(r.tenant.ID), At: r.stored.StartedAt, Actor: r.actor, Action: audit.CertifyRun,
		Target: r.tenant.ID.String(),
		Detail: audit.Detail{Params: map[string]string{"hosts": strings.Join(r.hosts, ", ")}},
	})
}

// finish carries out the run, and stores and returns its findings. A run that could
// not finish is stored without results. Only a run of all cases can be stored as
// passed. The run's sessions expire before it is stored.
func (r *run) finish(ctx context.Context) (*Report, error) {
	report, err := r.report(ctx)
	if err != nil {
		return nil, errors.Join(err, r.expire(ctx), r.store(ctx, nil, false))
	}
	ended := r.expire(ctx)
	return report, errors.Join(ended, r.store(ctx, report.Results, report.Passed() && len(r.Cases) == 0))
}

// report carries out the run and returns what it found.
func (r *run) report(ctx context.Context) (*Report, error) {
	started, began := r.Now(), time.Now()
	if err := r.try(ctx); err != nil {
		return nil, err
	}
	return &Report{Hosts: r.hosts, StartedAt: started, Took: time.Since(began), Sessions: len(r.named),
		Results: r.results}, nil
}

// storeTime limits the end of a run, even of a cancelled one: expiring its sessions
// and storing its results.
const storeTime = 5 * time.Second

// expire makes the sessions of the run expire. Nobody will ever open them.
func (r *run) expire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	for id := range r.named {
		err := r.service.Clock.Expire(ctx, r.actor, webhook.OfMode(r.tenant.ID, false), id)
		if err != nil && !errors.Is(err, session.ErrNotOpen) {
			return err
		}
	}
	return nil
}

func (r *run) store(ctx context.Context, results []Result, passed bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	now := r.Now()
	r.stored.FinishedAt = &now
	r.stored.Passed = passed
	r.stored.Results = results
	_, err := r.service.Store.FinishCertification(ctx, r.stored)
	return err
}

// try carries out each case, gives the shop time to release its orders, and
// judges the case. The first case is a good delivery: if it gets no answer,
// nothing else is tried.
func (r *run) try(ctx context.Context) error {
	for i, c := range r.chosen {
		t := &trial{run: r, ctx: ctx, testCase: c, result: Result{Case: c.name, Title: c.title, Outcome: suite.Passed}}
		started := time.Now()
		if err := t.act(); err != nil {
			return err
		}
		t.result.Took = time.Since(started)
		r.trials = append(r.trials, t)
		if i == 0 && t.unanswered {
			break
		}
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	for i, c := range r.chosen {
		result := Result{Case: c.name, Title: c.title, Outcome: suite.Skipped, Problems: []Problem{{Code: ProblemUntried}}}
		if i < len(r.trials) {
			if err := r.trials[i].judge(); err != nil {
				return err
			}
			result = r.trials[i].result
		}
		if result.Outcome == suite.Failed {
			result.Fix = c.fix
		}
		r.results = append(r.results, result)
		if r.Progress != nil {
			r.Progress(i+1, len(r.chosen), result)
		}
	}
	return nil
}

// settle waits as long as the shop may take to release an order.
func (r *run) settle(ctx context.Context) error {
	if r.target == nil {
		return nil
	}
	d := r.target.Settle
	if r.target.Poll == nil {
		d = max(d, pollSettle)
	}
	return wait(ctx, d)
}

// session creates a session, which stands for an order in a run without a shop.
func (r *run) session(ctx context.Context) (*order, error) {
	created, err := r.service.Sessions.Create(ctx, tenant.Caller{TenantID: r.tenant.ID}, session.CreateRequest{
		TargetAge: targetAge, SuccessURL: &r.tenant.WebhookURL, CancelURL: &r.tenant.WebhookURL, // never opened, but required
		Source: session.SourceReceiver,
	})
	if err != nil {
		return nil, errors.Join(ErrCannotRun, err)
	}
	_, link, _ := strings.Cut(created.VerificationURL, "/v/")
	s, err := r.service.Sessions.ByLink(ctx, link)
	if err != nil {
		return nil, err
	}
	return &order{session: s}, r.mayName(s)
}

var errForeign = fmt.Errorf("%w: the order's session is not an open test session that the tenant has made for this run",
	ErrCannotRun)

// mayName returns an error unless the session was created for this run and the
// run has claimed its addresses. Nothing is signed for any other session.
func (r *run) mayName(s session.Session) error {
	if s.TenantID != r.tenant.ID || s.Livemode || s.CreatedAt.Before(r.stored.StartedAt) ||
		s.Status != session.StatusPending || r.named[s.ID] {
		return errForeign
	}
	for _, address := range []string{s.SuccessURL, s.WebhookURL} {
		if address == "" {
			continue
		}
		e, err := r.service.Rule.Parse(address)
		if err != nil || !slices.Contains(r.hosts, e.Host) {
			return fmt.Errorf("%w: the session's addresses are not those that are registered now", ErrCannotRun)
		}
	}
	r.named[s.ID] = true
	return nil
}
