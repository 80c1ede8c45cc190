// Package conformance tests a running gateway from the outside, as a merchant's
// QA would: against the published contract and the parts of the service's
// specification that are visible from outside. It shares no code with the
// gateway, so that a mistake there is not repeated here.
package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"agegate/internal/lab/suite"
)

// Options says what to test and with which credentials. BaseURL and TestKey are
// required. A case whose credential is missing is skipped.
type Options struct {
	BaseURL string // of the API, without a trailing slash
	TestKey string // of a tenant with a registered Success and Cancel URL

	LiveKey        string // of the same tenant
	OtherKey       string // of another tenant
	RevokedKey     string
	DisabledKey    string // of a disabled tenant
	CappedKey      string // a test key of a tenant whose daily cap is reached
	UnpaidKey      string // a live key of a tenant with neither allowance nor credit
	BareKey        string // a test key of a tenant with a Success URL and no Cancel URL
	LastTestKey    string // a test key of a tenant with one test session left today, which a run uses up
	LastLiveKey    string // a live key of a tenant with one unit left, which a run holds
	RedirectSecret string // rdsec_test_… of the tenant
	WebhookSecret  string // whsec_… of the tenant's test mode

	WebhookURL string       // that the tenant has registered; "" if unknown
	Listener   net.Listener // receives the tenant's webhooks; nil if there is no Webhook URL. Run closes it.
	// Register registers another Webhook URL, as the operator; nil if the run must not.
	Register        func(ctx context.Context, webhookURL string) error
	WithoutWebhooks bool // skip the webhook cases instead of reporting them as not reachable

	Cases       []string      // path.Match patterns of case names; empty runs all
	Draws       int           // number of requests of each random case; a tenth of them creates sessions
	Seed        uint64        // of the random requests
	Rate        float64       // requests a second; 0 is unlimited
	CaseTimeout time.Duration // for one case, not counting its waits for webhooks and expiry
	WebhookWait time.Duration // the longest wait for one delivery
	// how long to wait for a session to expire; a case is skipped if this is less than the session's life
	ExpiryWait time.Duration
	TokenTTL   time.Duration // the life of redirect tokens that the operator configured

	Progress func(done, total int, last Result) // called after each case; may be nil
}

// Defaults of Options.
const (
	DefaultDraws       = 60
	DefaultRate        = 50
	DefaultCaseTimeout = 30 * time.Second
	DefaultWebhookWait = 30 * time.Second
	DefaultTokenTTL    = 10 * time.Minute
)

// ErrCannotRun is wrapped by the errors of Run: the gateway was not tested.
var ErrCannotRun = errors.New("the suite cannot run")

// testCase is a requirement of the contract and its test.
type testCase struct {
	Name  string   // "area.promise", as Options.Cases selects it
	Title string   // what must hold
	Cites []string // sections of the specification ("SPEC 4.1") and headings and operations of openapi.yaml

	needs    []*need
	sessions int // maximum number of test sessions, without the shared ones
	live     int // live sessions that it creates
	run      func(*trial)
}

// need is a credential or a setting without which a case is skipped.
type need struct {
	text string // why it is skipped
	met  func(*Options) bool
}

var (
	needLive     = &need{"needs a live key of the tenant", func(o *Options) bool { return o.LiveKey != "" }}
	needOther    = &need{"needs a key of another tenant", func(o *Options) bool { return o.OtherKey != "" }}
	needRevoked  = &need{"needs a revoked key", func(o *Options) bool { return o.RevokedKey != "" }}
	needDisabled = &need{"needs a key of a disabled tenant", func(o *Options) bool { return o.DisabledKey != "" }}
	needCapped   = &need{"needs a test key of a tenant whose daily cap is reached",
		func(o *Options) bool { return o.CappedKey != "" }}
	needUnpaid = &need{"needs a live key of a tenant with neither allowance nor credit",
		func(o *Options) bool { return o.UnpaidKey != "" }}
	needBare = &need{"needs a test key of a tenant without a Cancel URL",
		func(o *Options) bool { return o.BareKey != "" }}
	needLastTest = &need{"needs a test key of a tenant with one test session left",
		func(o *Options) bool { return o.LastTestKey != "" }}
	needLastLive = &need{"needs a live key of a tenant with one unit left",
		func(o *Options) bool { return o.LastLiveKey != "" }}
	needWebhookURL = &need{"needs the tenant's Webhook URL", func(o *Options) bool { return o.WebhookURL != "" }}
	needRegister   = &need{"needs the operator's command that registers a Webhook URL",
		func(o *Options) bool { return o.Register != nil }}
	needRedirectSecret = &need{"needs the redirect secret of test mode",
		func(o *Options) bool { return o.RedirectSecret != "" }}
	needWebhooks = &need{"without webhooks, as asked for", func(o *Options) bool { return !o.WithoutWebhooks }}
	needExpiry   = &need{"needs a wait for the session to expire", func(o *Options) bool { return o.ExpiryWait != 0 }}
)

// run is one run.
type run struct {
	Options
	contract *contract
	api      *http.Client
	limiter  *rate.Limiter
	receiver *receiver
	redacted func(string) string // a text without secrets

	test     []string // values of the X-API-Key header, with the test key
	offset   time.Duration
	sessions atomic.Int64 // test sessions created so far
	live     atomic.Int64 // live sessions created so far
	blocked  string       // why no more sessions can be created, or ""

	shared        map[string]*session // by outcome
	ended         map[string]string   // what the first lookup said of a session that has ended
	onlyDocuments *bool               // whether the tenant checks documents only; nil until this is known
	webhooks      *string             // why webhooks do not reach the receiver, or "" if they do; nil until this is known
}

// Plan is what a run would do and how many sessions it would use.
type Plan struct {
	Cases    []Result // skipped ones say why; the others have no outcome
	Skipped  int      // because a credential is missing
	Sessions int      // maximum number of test sessions that it creates
	Live     int      // maximum number of live sessions that it creates
}

// sharedSessions is the number of sessions created once for all cases: one that
// stays PENDING, and one forced into each outcome.
const sharedSessions = 4

// PlanOf returns the plan of a run with these options.
func PlanOf(o Options) (Plan, error) {
	selected, err := o.selected()
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Sessions: sharedSessions}
	for _, c := range selected {
		listed := o.begun(c)
		if listed.Outcome == suite.Skipped {
			plan.Skipped++
		} else {
			plan.Sessions += c.sessions
			plan.Live += c.live
		}
		plan.Cases = append(plan.Cases, listed)
	}
	return plan, nil
}

// begun returns the result of a case that has not run yet: skipped if the options exclude
// it, otherwise without an outcome.
func (o *Options) begun(c testCase) Result {
	r := Result{Case: c.Name, Title: c.Title, Cites: c.Cites}
	for _, n := range c.needs {
		if !n.met(o) {
			r.Outcome, r.Details = suite.Skipped, []string{n.text}
			break
		}
	}
	return r
}

// cases returns all cases, in the order in which they run.
func (o *Options) cases() []testCase {
	return slices.Concat(documentCases, createCases, callbackCases, lookupCases, pageCases, answerCases,
		randomCases(o.Draws), testModeCases, expiryCases, webhookCases)
}

func (o *Options) selected() ([]testCase, error) {
	chosen, err := suite.Choose(o.cases(), func(c testCase) string { return c.Name }, o.Cases)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	return chosen, nil
}

// Run tests the gateway. An error wraps ErrCannotRun: the gateway could not be
// tested, or not to the end. The report has what was found until then.
func Run(ctx context.Context, o Options) (*Report, error) {
	var receiving *receiver
	if o.Listener != nil {
		receiving = newReceiver(o.Listener)
		defer func() { _ = receiving.server.Close() }() // the run is over
	}
	selected, err := o.selected()
	if err != nil {
		return nil, err
	}
	s, err := newRun(o)
	if err != nil {
		return nil, err
	}
	s.receiver = receiving
	started := time.Now().UTC()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	report := &Report{BaseURL: o.BaseURL, StartedAt: started, Seed: o.Seed}
	for i, c := range selected {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ErrCannotRun, ctx.Err())
		}
		result := s.one(ctx, c)
		report.Results = append(report.Results, result)
		if o.Progress != nil {
			o.Progress(i+1, len(selected), result)
		}
	}
	report.Took = time.Since(started)
	report.Sessions, report.Live = s.sessions.Load(), s.live.Load()
	report.Statuses, report.Examples = s.contract.coverage()
	return report, nil
}

func newRun(o Options) (*run, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%w: the base URL must be an absolute http or https URL", ErrCannotRun)
	}
	if !strings.HasPrefix(o.TestKey, "svc_test_") {
		return nil, fmt.Errorf("%w: the test key must begin with svc_test_, so that nothing is billed", ErrCannotRun)
	}
	if o.LiveKey != "" && strings.HasPrefix(o.LiveKey, "svc_test_") {
		return nil, fmt.Errorf("%w: the live key is a test key", ErrCannotRun)
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	doc, err := readContract()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	o.CaseTimeout = cmp.Or(o.CaseTimeout, DefaultCaseTimeout)
	o.WebhookWait = cmp.Or(o.WebhookWait, DefaultWebhookWait)
	o.TokenTTL = cmp.Or(o.TokenTTL, DefaultTokenTTL)
	limit := rate.Inf
	if o.Rate > 0 {
		limit = rate.Limit(o.Rate)
	}
	return &run{
		Options: o, contract: doc, api: newClient(nil), limiter: rate.NewLimiter(limit, 5),
		redacted: redactor(o), test: []string{o.TestKey}, shared: map[string]*session{}, ended: map[string]string{},
	}, nil
}

// drawer returns the random numbers for a case; they do not depend on the cases
// that ran before.
func (s *run) drawer(name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))                    // never fails
	return rand.New(rand.NewPCG(s.Seed, h.Sum64())) //nolint:gosec // repeatable on purpose
}

// prepare creates the session that stays PENDING, and detects problems that would
// make every case fail.
func (s *run) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.CaseTimeout)
	defer cancel()
	t := &trial{run: s, ctx: ctx, random: s.drawer("")}
	got, err := t.send(creation(adult))
	if err != nil {
		return fmt.Errorf("%w: the gateway does not answer: %s", ErrCannotRun, s.redacted(err.Error()))
	}
	if date := got.date(); !date.IsZero() {
		s.offset = time.Until(date)
	}
	switch got.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return fmt.Errorf("%w: the gateway answers the test key with %d: %s", ErrCannotRun, got.status,
			s.redacted(string(got.body)))
	case http.StatusUnprocessableEntity:
		if strings.Contains(string(got.body), "success_url") || strings.Contains(string(got.body), "cancel_url") {
			return fmt.Errorf("%w: the tenant needs a registered Success URL and a registered Cancel URL", ErrCannotRun)
		}
	}
	if made, ok := got.created(creation(adult)); ok {
		s.shared["pending"] = made
	}
	return nil
}

// one runs a case, which a panic with an outcome ends.
func (s *run) one(ctx context.Context, c testCase) (result Result) {
	if result = s.begun(c); result.Outcome == suite.Skipped {
		return result
	}
	result.Outcome = suite.Passed
	wait := s.CaseTimeout
	if slices.Contains(c.needs, needWebhooks) {
		wait += 3 * s.WebhookWait
	}
	if slices.Contains(c.needs, needExpiry) {
		wait += s.ExpiryWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	t := &trial{run: s, ctx: ctx, random: s.drawer(c.Name)}
	started := time.Now()
	defer func() {
		result.Took = time.Since(started)
		for _, p := range t.problems {
			result.Details = append(result.Details, s.redacted(p))
		}
		if len(t.problems) > 0 {
			result.Outcome = suite.Failed
		}
		switch ended := recover().(type) {
		case nil:
		case suite.Outcome:
			result.Outcome = ended
		default:
			panic(ended)
		}
	}()
	if slices.Contains(c.needs, needWebhooks) {
		t.requireWebhooks()
	}
	c.run(t)
	return result
}
