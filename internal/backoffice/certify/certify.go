// Package certify attacks a merchant's integration as a thief would: with forged
// redirects and webhooks, and with results that are not a pass. It signs only
// with test secrets and only for test sessions created for the run. It reaches
// only hosts that the tenant has registered, through the guarded dialer.
package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
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

// AnswerLimit is how soon a shop must answer: the gateway waits no longer for a
// webhook's answer.
const AnswerLimit = webhook.AttemptTimeout

// targetAge is the target age of the sessions that a run creates.
const targetAge = 18

// Config holds the dependencies of a Service.
type Config struct {
	Store    Store
	Tenants  Tenants
	Sessions Sessions
	Expire   func(ctx context.Context, actor audit.Actor, tenantID, sessionID uuid.UUID) error // expires a test session
	Client   *webhook.Client
	Rule     tenant.CallbackRule
	Random   io.Reader        // cryptographically secure
	Now      func() time.Time // UTC in whole microseconds
}

// Service runs certifications.
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
	*Service
	Options
	actor   audit.Actor
	tenant  tenant.Tenant
	gateway Gateway // nil for a run on the gateway's database
	target  *Target // nil for a run without a shop that reports releases: only webhooks are tried
	stored  Run
	hosts   []string
	named   map[uuid.UUID]bool // sessions created for this run
	chosen  []testCase
	trials  []*trial
	results []Result

	webhookKeys [][]byte // of test mode
	redirectKey []byte   // of test mode
	foreignKey  []byte   // known to nobody
}

// Run attacks a shop. Its errors wrap ErrCannotRun, or are ErrTooSoon,
// ErrDisabled or fault.NotFound. What was found is in the report.
func (s *Service) Run(ctx context.Context, actor audit.Actor, target Target, o Options) (*Report, error) {
	if target.Tenant == uuid.Nil {
		return nil, fmt.Errorf("%w: tenant must be the ID of the tenant", ErrCannotRun)
	}
	r, err := s.newRun(ctx, actor, target.Tenant, &target, o)
	if err != nil {
		return nil, err
	}
	if r.tenant.SuccessURL == "" || r.tenant.WebhookURL == "" { // the run signs redirects and webhooks for both
		return nil, fmt.Errorf("%w: the tenant needs a registered Success URL and a registered Webhook URL", ErrCannotRun)
	}
	if err := target.registered(s.Rule, r.tenant.CallbackURLs()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	if err := r.claim(ctx, r.tenant.CallbackURLs(), isNear); err != nil {
		return nil, err
	}
	return r.finish(ctx)
}

// Webhooks begins to attack a tenant's webhook receiver with events of sessions
// that the run creates. It returns the run as it is stored now, and a function
// that does the rest and stores what was found. Its errors are those of Run.
func (s *Service) Webhooks(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, o Options,
) (Run, func(context.Context) (*Report, error), error) {
	r, err := s.newRun(ctx, actor, tenantID, nil, o)
	if err != nil {
		return Run{}, nil, err
	}
	if r.tenant.WebhookURL == "" {
		return Run{}, nil, fmt.Errorf("%w: the tenant needs a registered Webhook URL", ErrCannotRun)
	}
	if err := r.claim(ctx, []string{r.tenant.WebhookURL}, func(string) bool { return false }); err != nil {
		return Run{}, nil, err
	}
	return r.stored, r.finish, nil
}

// newRun reads what a run needs. It asks for secrets of test mode only.
func (s *Service) newRun(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, target *Target, o Options,
) (*run, error) {
	t, err := s.Tenants.Tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	r := &run{Service: s, Options: o, actor: actor, tenant: t, target: target, named: map[uuid.UUID]bool{}}
	r.Limit = cmp.Or(r.Limit, AnswerLimit)
	if r.chosen, err = r.choose(); err != nil {
		return nil, err
	}
	if r.webhookKeys, err = s.Tenants.WebhookKeys(ctx, tenantID, false); err != nil {
		return nil, err
	}
	if r.redirectKey, err = s.Tenants.RedirectKey(ctx, tenantID, false); err != nil {
		return nil, err
	}
	r.foreignKey, err = credential.NewSecret(s.Random)
	return r, err
}

// claim stores that the run begins against the hosts of these addresses, unless
// this tenant ran against one of them recently. Hosts that are free are not
// counted.
func (r *run) claim(ctx context.Context, addresses []string, free func(host string) bool) error {
	for _, address := range addresses {
		e, err := r.Rule.Parse(address)
		if err != nil {
			return fmt.Errorf("%w: a registered URL is not allowed here: %w", ErrCannotRun, err)
		}
		if !slices.Contains(r.hosts, e.Host) {
			r.hosts = append(r.hosts, e.Host)
		}
	}
	slices.Sort(r.hosts)
	r.stored = Run{
		ID: newID(), TenantID: r.tenant.ID, StartedAt: r.Now(),
		EndpointID: webhook.EndpointID(r.tenant.ID, false, r.tenant.WebhookURL),
	}
	return r.Store.StartCertification(ctx, r.stored, slices.DeleteFunc(slices.Clone(r.hosts), free), audit.Act{
		Scope: audit.OfTenant(r.tenant.ID), At: r.stored.StartedAt, Actor: r.actor, Action: audit.CertifyRun,
		Target: r.tenant.ID.String(),
		Detail: audit.Detail{Params: map[string]string{"hosts": strings.Join(r.hosts, ", ")}},
	})
}

// finish runs the cases, and stores and returns what they found. A run that
// could not finish is stored without results. Only a run of all cases can be
// stored as passed.
func (r *run) finish(ctx context.Context) (*Report, error) {
	began := time.Now()
	if err := r.try(ctx); err != nil {
		r.results = nil
		if r.gateway != nil {
			return nil, err
		}
		return nil, errors.Join(err, r.store(ctx, false))
	}
	report := &Report{
		Tenant: r.tenant.ID, Hosts: r.hosts, StartedAt: r.stored.StartedAt, Took: time.Since(began), Sessions: len(r.named),
		Results: r.results,
	}
	if r.gateway != nil { // the gateway's database is not there
		return report, nil
	}
	return report, r.store(ctx, report.Passed() && len(r.Cases) == 0)
}

// isNear reports whether a host is this machine or an address of a private
// network, by its spelling. A run against one disturbs nobody else, and its
// developer tries again as soon as the shop is mended.
func isNear(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil &&
		(addr.IsLoopback() || addr.IsPrivate())
}

// storeTime bounds storing the results, which also happens after the run was
// cancelled.
const storeTime = 5 * time.Second

func (r *run) store(ctx context.Context, passed bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	now := r.Now()
	r.stored.FinishedAt, r.stored.Passed, r.stored.Results = &now, passed, r.results
	_, err := r.Store.FinishCertification(ctx, r.stored)
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
	created, err := r.Sessions.Create(ctx, tenant.Caller{TenantID: r.tenant.ID}, session.CreateRequest{
		TargetAge: targetAge, SuccessURL: &r.tenant.WebhookURL, CancelURL: &r.tenant.WebhookURL, // never opened, but required
	})
	if err != nil {
		return nil, errors.Join(ErrCannotRun, err)
	}
	_, link, _ := strings.Cut(created.VerificationURL, "/v/")
	s, err := r.Sessions.ByLink(ctx, link)
	if err != nil {
		return nil, err
	}
	return &order{session: s}, r.mayName(s)
}
