package metrics_test

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document"
	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"
	"agegate/internal/check/document/wallet"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// TestMetrics scrapes a gateway that has had one session with each result.
func TestMetrics(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, nil)
		for _, outcome := range []string{"verified", "fallback", "spoof"} {
			g.Force(t, gatewaytest.Browser(), g.Create(t, shop.Test.APIKey, 18), outcome)
		}
		documents(t, g)
		expired := g.Create(t, shop.Test.APIKey, 18)
		g.Clock.Advance(31 * time.Minute)
		if status := g.StatusOf(t, shop.Test.APIKey, expired); status != "EXPIRED" {
			t.Fatalf("the last session is %s", status)
		}
		endingIssuer(t, g)
		failingList(t, g)
		want := []string{
			`agegate_sessions_total{mode="test",status="PENDING"} 7`,
			`agegate_sessions_total{mode="test",status="PASSED"} 2`,
			`agegate_sessions_total{mode="test",status="FALLBACK"} 3`,
			`agegate_sessions_total{mode="test",status="SPOOF"} 1`,
			`agegate_sessions_total{mode="live",status="SPOOF"} 0`,
			`agegate_document_checks_total{mode="test",outcome="offered",way="none"} 3`,
			`agegate_document_checks_total{mode="test",outcome="declined",way="none"} 1`,
			`agegate_document_checks_total{mode="test",outcome="refused",way="wallet"} 4`,
			`agegate_document_checks_total{mode="test",outcome="failed",way="wallet"} 1`,
			`agegate_document_checks_total{mode="test",outcome="passed",way="photo"} 1`,
			`agegate_document_checks_total{mode="live",outcome="passed",way="wallet"} 0`,
			`agegate_webhook_attempts_total{class="delivered",mode="test"} 2`,
			`agegate_webhook_attempts_total{class="timeout",mode="live"} 0`,
			`agegate_http_request_duration_seconds_count{method="POST",route="/api/v1/sessions/create",status="201"} 7`,
			`agegate_checks_total{ended="passed"} 0`,
			`agegate_checks_total{ended="drawn"} 0`,
			`agegate_webhook_queue_depth 0`,
			`agegate_webhook_oldest_due_seconds 0`,
			`agegate_trust_ending{of="list"} 0`,
			`agegate_trust_ending{of="signer"} 0`,
			`agegate_trust_ending{of="issuer"} 1`,
			`agegate_trust_ending{of="verifier"} 0`,
			`agegate_trust_ending{of="registration"} 0`,
			`agegate_trust_lists_failing 1`,
			`agegate_database_last_backup_timestamp_seconds 0`,
			`agegate_panics_total 0`,
			`agegate_build_info{go="` + runtime.Version() + `",version=""} 1`,
			`agegate_database_connections_open `,
			`go_goroutines `,
		}
		text := scrape(t, g, want)
		for _, not := range []string{`status="EXPIRED"`, shop.Test.APIKey, expired.SessionID, "/v/" +
			expired.VerificationURL[len(expired.VerificationURL)-43:]} {
			if strings.Contains(text, not) {
				t.Errorf("the metrics hold %q", not)
			}
		}
		for _, name := range inUse(t) {
			if !strings.Contains(text, "\n"+name+"{") && !strings.Contains(text, "\n"+name+" ") {
				t.Errorf("the rules or the Grafana dashboard read %s, which is not served", name)
			}
		}
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("Prometheus' linter: %v, %v", problems, err)
		}
	}, "AGEGATE_METRICS_LISTEN=127.0.0.1:0")
}

// documents ends three document checks: passed after a refusal, declined, and
// failed by the third refusal. Their tenant has no webhook.
func documents(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	shop := g.Shop(t, "", func(s *tenant.Tenant) { s.DocumentCheck = true })
	refuse := func(s session.Session) error {
		_, err := g.App.Sessions.RefuseDocument(t.Context(), s, session.Document{Way: session.WayWallet, Why: "expired"})
		return err
	}
	end := func(s session.Session, result session.Result, way session.Way) error {
		_, err := g.App.Sessions.Resolve(t.Context(), s,
			session.CheckResult{Result: result, Source: session.SourceDocument, Way: way})
		return err
	}
	for _, act := range []func(s session.Session) error{
		func(s session.Session) error {
			_, err := g.App.Sessions.ConsentFaceMatch(t.Context(), s)
			return errors.Join(err, refuse(s), end(s, session.ResultVerified, session.WayPhoto))
		},
		func(s session.Session) error { return end(s, session.ResultFallback, "") },
		func(s session.Session) error { return errors.Join(refuse(s), refuse(s), refuse(s)) },
	} {
		created := g.Create(t, shop.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), created, "fallback")
		s, err := g.App.Sessions.ByLink(t.Context(),
			created.VerificationURL[strings.LastIndex(created.VerificationURL, "/")+1:])
		if err := errors.Join(err, act(s)); err != nil {
			t.Fatal(err)
		}
	}
}

// endingIssuer trusts an issuer whose certificate ends within 14 days, and one whose certificate does not.
func endingIssuer(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	trust, publisher := document.NewTrust(g.App.Store, g.Clock.Now), trustlisttest.NewPublisher("Issuer")
	for _, days := range []int{13, 15} {
		certificate := trustlisttest.Certify("Issuer", publisher.Key, g.Clock.Now().AddDate(0, 0, days))
		_, err := trust.Add(t.Context(), audit.System("test"), document.NewIssuer{
			Name: "Issuer", DocType: wallet.DocTypeMDL, PEM: trustlisttest.Publisher{Certificate: certificate}.PEM(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// failingList follows a list that cannot be read.
func failingList(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	lists := document.NewLists(g.App.Store, tenant.CallbackRule{}, nil, g.Clock.Now)
	l, err := lists.Add(t.Context(), audit.System("test"), document.NewList{
		Name: "AV", Format: trustlist.FormatAV, PEM: trustlisttest.NewPublisher("Publisher").PEM(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lists.Import(t.Context(), audit.System("test"), l.ID, nil); trustlist.ReasonOf(err) == "" {
		t.Fatal(err)
	}
}

// scrape reads the metrics until they contain every line.
func scrape(t *testing.T, g *gatewaytest.Gateway, want []string) string {
	t.Helper()
	address := regexp.MustCompile(`msg="serving metrics" address=(\S+)`)
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		lack, text := "the metrics' address", ""
		if m := address.FindStringSubmatch(g.Log.String()); m != nil {
			res, err := http.Get("http://" + m[1] + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			if err != nil || res.Body.Close() != nil {
				t.Fatal(err)
			}
			text, lack = string(body), ""
			for _, line := range want {
				if !strings.Contains(text, "\n"+line) {
					lack = line
				}
			}
		}
		if lack == "" {
			return text
		}
		if time.Now().After(limit) {
			t.Fatalf("no %s in:\n%s", lack, text)
		}
	}
}
