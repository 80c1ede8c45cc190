package mutants

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/audit"
	"agegate/internal/conformance"
	"agegate/internal/proof/harness"
	"agegate/internal/proof/table"
	"agegate/internal/store/pgtest"
	"agegate/internal/tenant"
)

// subject is a gateway behind a proxy, and what the suite is told of it.
type subject struct {
	*proxy
	options conformance.Options
}

// newSubject starts a gateway with a tenant for every case.
func newSubject(t *testing.T, databaseURL string, settings ...string) *subject {
	t.Helper()
	p := newProxy(t)
	g := harness.Start(t, databaseURL, append([]string{"AGEGATE_BASE_URL=" + p.url, "AGEGATE_VERIFY_URL=" + p.url,
		"AGEGATE_TEST_DAILY_CAP=-1", "AGEGATE_WEBHOOK_RETRY_TEST=200ms,1s,1s", "AGEGATE_LOG_LEVEL=error"}, settings...)...)
	to, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.gateway.Store(to)
	actor := audit.System("test")
	shop := g.Shop(t, p.hookURL, nil)
	p.secret = shop.Test.WebhookSecret
	off := g.Shop(t, "", nil)
	if err := g.App.Tenants.SetDisabled(t.Context(), actor, off.Tenant.ID, true, ""); err != nil {
		t.Fatal(err)
	}
	revoked, key, err := g.App.Tenants.CreateKey(t.Context(), actor, shop.Tenant.ID, false, "")
	if err := errors.Join(err, g.App.Tenants.RevokeKey(t.Context(), actor, shop.Tenant.ID, revoked.ID)); err != nil {
		t.Fatal(err)
	}
	none := int64(0)
	return &subject{p, conformance.Options{
		BaseURL: p.url, TestKey: shop.Test.APIKey, LiveKey: shop.Live.APIKey, OtherKey: g.Shop(t, "", nil).Test.APIKey,
		RevokedKey: key, DisabledKey: off.Test.APIKey,
		CappedKey:      g.Shop(t, "", func(t *tenant.Tenant) { t.TestCap = &none }).Test.APIKey,
		UnpaidKey:      g.Shop(t, "", func(t *tenant.Tenant) { t.FreeChecks = &none }).Live.APIKey,
		BareKey:        g.Shop(t, "", func(t *tenant.Tenant) { t.SuccessURL, t.CancelURL = "", "" }).Test.APIKey,
		RedirectSecret: shop.Test.RedirectSecret, WebhookSecret: shop.Test.WebhookSecret,
		Draws: 20, Seed: 1, WebhookWait: time.Minute, CaseTimeout: time.Minute,
	}}
}

// run runs the suite on a subject that is wrong in one way.
func (s *subject) run(t *testing.T, wrong fault, cases ...string) *conformance.Report {
	t.Helper()
	s.fault.Store(&wrong)
	defer s.fault.Store(&fault{})
	o := s.options
	o.Cases, o.Listener = cases, s.listen(t)
	defer s.receiver.Store(nil)
	if wrong.expires || slices.Contains(cases, "expiry.*") {
		o.ExpiryWait = 30 * time.Second
	}
	if wrong.silent {
		o.WebhookWait = time.Second
	}
	report, err := conformance.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestEveryCasePassesAndCanFail: every case passes on the gateway; and on a
// gateway with a fault the case that tests for it fails.
func TestEveryCasePassesAndCanFail(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { passAndFail(t, harness.SQLite) })
	if table.Full() {
		t.Run("postgres", func(t *testing.T) { passAndFail(t, pgtest.URL) })
	}
}

func passAndFail(t *testing.T, database func(testing.TB) string) {
	lasting := newSubject(t, database(t))
	brief := newSubject(t, database(t), "AGEGATE_SESSION_TTL=1s")
	results := allPass(t, lasting.run(t, fault{}))
	results = append(results, allPass(t, brief.run(t, fault{}, "expiry.*"))...)
	faults := slices.Concat(answerFaults, requestFaults, pageFaults, webhookFaults, uncalledFor())
	missed := map[string]bool{}
	for _, r := range results {
		missed[r.Case] = true
	}
	for _, f := range faults {
		delete(missed, f.caught)
		t.Run(f.name, func(t *testing.T) {
			s := lasting
			if f.expires {
				s = brief
			}
			report := s.run(t, f, f.caught)
			r := report.Results[0]
			if r.Outcome != conformance.Failed && !(f.silent && r.Outcome == conformance.NotReachable) || report.ExitCode() != conformance.ExitFailed {
				t.Errorf("%s is %s %q, want failed", f.caught, r.Outcome, r.Details)
			}
		})
	}
	for name := range missed {
		if !slices.Contains(unfailable, name) {
			t.Errorf("no fault shows that %s can fail", name)
		}
	}
}

// unfailable are the cases without a fault here: a proxy without state cannot
// cause theirs, and the camera check of the page is off.
var unfailable = []string{"force.at_once", "consent.disclosure"}

// allPass fails the test for every case that does not pass, and returns those
// that do.
func allPass(t *testing.T, report *conformance.Report) (passed []conformance.Result) {
	t.Helper()
	for _, r := range report.Results {
		switch {
		case r.Outcome == conformance.Passed:
			passed = append(passed, r)
		case r.Outcome != conformance.Skipped || !slices.Contains([]string{"expiry.lookup", "consent.disclosure"}, r.Case):
			t.Errorf("%s is %s: %s", r.Case, r.Outcome, strings.Join(r.Details, "\n"))
		}
	}
	t.Log(report.Summary())
	return passed
}

// uncalledFor is the fault of a webhook for a session that must send none.
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
