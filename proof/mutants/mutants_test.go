package mutants

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/lab/conformance"
	"agegate/internal/lab/suite"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/pgtest"
	"agegate/proof/table"

	"github.com/google/uuid"
)

// subject is a gateway behind a proxy, and the suite's options for it.
type subject struct {
	*proxy
	options conformance.Options
	scarce  string // a test key with three sessions left
	app     *gatewaytest.Gateway
	tenant  uuid.UUID
}

// newSubject starts a gateway with one tenant for every credential of the suite.
func newSubject(t *testing.T, databaseURL string, settings ...string) *subject {
	t.Helper()
	p := newProxy(t)
	g := gatewaytest.Start(t, databaseURL, append([]string{"AGEGATE_BASE_URL=" + p.url, "AGEGATE_VERIFY_URL=" + p.url,
		"AGEGATE_TEST_DAILY_CAP=-1", "AGEGATE_WEBHOOK_RETRY_TEST=3s,1s,1s", "AGEGATE_LOG_LEVEL=error"}, settings...)...)
	to, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.gateway.Store(to)
	actor := audit.System("test")
	shop := g.Shop(t, p.hookURL, func(t *tenant.Tenant) { t.AgeVisibility = true })
	p.secret = shop.Test.WebhookSecret
	off := g.Shop(t, "", nil)
	if err := g.App.Tenants.SetDisabled(t.Context(), actor, off.Tenant.ID, true, ""); err != nil {
		t.Fatal(err)
	}
	revoked, key, err := g.App.Tenants.CreateKey(t.Context(), actor, shop.Tenant.ID, false, "")
	if err := errors.Join(err, g.App.Tenants.RevokeKey(t.Context(), actor, shop.Tenant.ID, revoked.ID)); err != nil {
		t.Fatal(err)
	}
	none, few := int64(0), int64(3)
	scarce := g.Shop(t, "", func(t *tenant.Tenant) { t.TestCap = &few })
	s := &subject{proxy: p, scarce: scarce.Test.APIKey, app: g, tenant: shop.Tenant.ID, options: conformance.Options{
		BaseURL: p.url, TestKey: shop.Test.APIKey, LiveKey: shop.Live.APIKey, OtherKey: g.Shop(t, "", nil).Test.APIKey,
		RevokedKey: key, DisabledKey: off.Test.APIKey,
		CappedKey:      g.Shop(t, "", func(t *tenant.Tenant) { t.TestCap = &none }).Test.APIKey,
		UnpaidKey:      g.Shop(t, "", func(t *tenant.Tenant) { t.FreeChecks = &none }).Live.APIKey,
		BareKey:        g.Shop(t, "", func(t *tenant.Tenant) { t.CancelURL = "" }).Test.APIKey,
		RedirectSecret: shop.Test.RedirectSecret, WebhookSecret: shop.Test.WebhookSecret,
		WebhookURL: p.hookURL, Draws: 20, Seed: 1, WebhookWait: time.Minute, CaseTimeout: time.Minute,
	}}
	s.options.Register = func(_ context.Context, webhookURL string) error {
		s.update(t, tenant.Changes{WebhookURL: &webhookURL})
		return nil
	}
	return s
}

// update changes the tenant as its operator does.
func (s *subject) update(t *testing.T, changes tenant.Changes) {
	t.Helper()
	if _, err := s.app.App.Tenants.Update(t.Context(), audit.System("test"), s.tenant, changes); err != nil {
		t.Error(err)
	}
}

// run runs the suite on a subject with one fault.
func (s *subject) run(t *testing.T, wrong fault, cases ...string) *conformance.Report {
	t.Helper()
	s.fault.Store(&wrong)
	defer s.fault.Store(&fault{})
	o := s.options
	o.Cases, o.Listener = cases, s.listen(t)
	defer s.receiver.Store(nil)
	if len(cases) > 0 && strings.HasPrefix(cases[0], "expiry.") {
		o.ExpiryWait = time.Minute
	}
	if wrong.silent {
		o.WebhookWait = time.Second
	}
	if wrong.brief {
		o.WebhookWait = 8 * time.Second
	}
	if len(cases) == 0 || slices.ContainsFunc(cases, usesUp) {
		one := int64(1)
		o.LastTestKey = s.app.Shop(t, "", func(t *tenant.Tenant) { t.TestCap = &one }).Test.APIKey
		o.LastLiveKey = s.app.Shop(t, "", func(t *tenant.Tenant) { t.FreeChecks = &one }).Live.APIKey
	}
	report, err := conformance.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json", "junit", "html"} {
		var b strings.Builder
		if err := report.Write(&b, format); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{o.TestKey, o.LiveKey, o.OtherKey, o.RedirectSecret, o.WebhookSecret} {
			if strings.Contains(b.String(), secret) {
				t.Errorf("the %s report contains a key or secret", format)
			}
		}
		if linkOrToken.MatchString(b.String()) {
			t.Errorf("the %s report contains a link or a token", format)
		}
	}
	return report
}

// usesUp reports whether a case uses up the sessions of its key.
func usesUp(name string) bool {
	return strings.HasPrefix(name, "create.last") || strings.HasPrefix(name, "expiry.")
}

// ofBrief reports whether a case runs on the gateway whose sessions expire within
// seconds and whose tenant has the document check on.
func ofBrief(name string) bool {
	return strings.HasPrefix(name, "expiry.") || name == "force.document" || name == "testmode.clock_document"
}

// ofDocuments reports whether a case runs on the gateway whose tenant checks documents only.
func ofDocuments(name string) bool { return name == "force.document_only" }

// linkOrToken matches the address of a hosted page, and a redirect token.
var linkOrToken = regexp.MustCompile(`/v/[A-Za-z0-9_-]{43}|\b\d{10}\.[A-Za-z0-9_-]{43}\b`)

func TestMain(m *testing.M) {
	flag.Parse()
	table.SideBySide(6)
	os.Exit(m.Run())
}

// TestEveryCasePassesAndCanFail: every case passes on the gateway, and fails on a
// gateway with the fault that it tests for.
func TestEveryCasePassesAndCanFail(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { passAndFail(t, gatewaytest.SQLite) })
	if table.Full() {
		t.Run("postgres", func(t *testing.T) { passAndFail(t, pgtest.URL) })
	}
}

// part are the cases that run on one of two gateways, and what came of them.
type part struct {
	*subject
	name   string
	cases  []string // all if empty
	faults []fault
	passed []conformance.Result
}

func passAndFail(t *testing.T, database func(testing.TB) string) {
	camera := []string{"AGEGATE_ESTIMATOR=onnx", "AGEGATE_INFERENCE_WORKERS=1", "AGEGATE_MODELS_DIR=" +
		filepath.Join(visiontest.Root(), "models")}
	lasting := &part{name: "lasting", subject: newSubject(t, database(t), camera...)}
	brief := &part{name: "brief", cases: []string{"expiry.*", "force.document", "testmode.clock_document"},
		subject: newSubject(t, database(t), slices.Concat(camera, []string{"AGEGATE_SESSION_TTL=10s"})...)}
	on := true
	brief.update(t, tenant.Changes{DocumentCheck: &on})
	documents := &part{name: "documents", cases: []string{"force.document_only"}, subject: newSubject(t, database(t))}
	documents.update(t, tenant.Changes{DocumentCheck: &on, DocumentOnly: &on})
	caught := map[string]bool{}
	for _, f := range slices.Concat(answerFaults, requestFaults, pageFaults, webhookFaults, uncalledFor(), survivors(),
		testModeFaults, exactFaults(), lifeFaults(),
		edgeFaults(), feedFaults(), receiverFaults(), missedFaults()) {
		if f.costly && !table.Full() {
			continue
		}
		caught[f.caught] = true
		p := lasting
		if ofBrief(f.caught) {
			p = brief
		}
		if ofDocuments(f.caught) {
			p = documents
		}
		p.faults = append(p.faults, f)
	}
	t.Run("gateways", func(t *testing.T) {
		for _, p := range []*part{lasting, brief, documents} {
			t.Run(p.name, p.test)
		}
	})
	t.Run("cannot run", func(t *testing.T) { cannotRun(t, lasting.subject) })
	for _, r := range slices.Concat(lasting.passed, brief.passed, documents.passed) {
		if !caught[r.Case] {
			t.Errorf("no fault shows that %s can fail", r.Case)
		}
	}
}

// test runs the part's cases without a fault, and with each fault the case that
// catches it.
func (p *part) test(t *testing.T) {
	t.Parallel()
	p.passed = allPass(t, p.run(t, fault{}, p.cases...))
	for _, f := range p.faults {
		t.Run(f.name, func(t *testing.T) {
			report := p.run(t, f, f.caught)
			r := report.Results[0]
			want := suite.Failed
			if f.silent {
				want = suite.NotReachable
			}
			if r.Outcome != want || report.ExitCode() != conformance.ExitFailed {
				t.Errorf("%s is %s %q, want %s", f.caught, r.Outcome, r.Details, want)
			}
		})
	}
}

// allPass fails the test for every case that does not pass, and returns the cases
// that do.
func allPass(t *testing.T, report *conformance.Report) (passed []conformance.Result) {
	t.Helper()
	for _, r := range report.Results {
		switch {
		case r.Outcome == suite.Passed:
			passed = append(passed, r)
		case r.Outcome != suite.Skipped || !ofBrief(r.Case) && !ofDocuments(r.Case):
			t.Errorf("%s is %s: %s", r.Case, r.Outcome, strings.Join(r.Details, "\n"))
		}
	}
	t.Log(report.Summary())
	return passed
}

// cannotRun checks that a gateway that cannot be tested is not reported as a
// failing one.
func cannotRun(t *testing.T, s *subject) {
	for name, key := range map[string]string{"401": s.options.RevokedKey, "403": s.options.DisabledKey,
		"429": s.options.CappedKey, "registered Cancel URL": s.options.BareKey} {
		o := s.options
		o.TestKey = key
		if _, err := conformance.Run(t.Context(), o); !errors.Is(err, conformance.ErrCannotRun) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error about %s", err, name)
		}
	}
	o := s.options
	o.TestKey, o.Cases = s.scarce, []string{"create.age_accepted", "status.pending"}
	report, err := conformance.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r := report.Results; r[0].Outcome != suite.Blocked || r[1].Outcome != suite.Passed ||
		report.ExitCode() != conformance.ExitCannotRun {
		t.Errorf("at the daily cap: %+v, exit status %d", r, report.ExitCode())
	}
}

// uncalledFor returns the fault of sending a webhook for a session that must send
// none.
func uncalledFor() []fault {
	var open string
	return []fault{{
		name: "a webhook for an open session", caught: "webhook.once",
		answer: func(r *reply) {
			if !r.is("create") || r.status != http.StatusCreated {
				return
			}
			r.edit(func(m map[string]any) {
				if id := fmt.Sprint(m["session_id"]); open == "" {
					open = id // the first session, which stays open
				}
			})
		},
		delivery: func(*post) []string { return []string{open} },
	}}
}
