package dashboard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"agegate/internal/backoffice/certify"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/webhook"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestCertifier: a careful receiver passes, and a careless one is shown what it
// accepted. A host is tested only once in a while. The checklist shows the
// result.
func TestCertifier(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		var verifier atomic.Pointer[standardwebhooks.Webhook]
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if v := verifier.Load(); err != nil || v != nil && v.Verify(body, r.Header) != nil {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = io.WriteString(w, hostile)
		}))
		t.Cleanup(receiver.Close)
		const path = "/test/webhooks/certify"
		ended := func(d *devBrowser, said string) (page string) {
			t.Helper()
			gatewaytest.WaitFor(t, said, func() bool {
				page = d.see(t, 200, path)
				return strings.Contains(page, said)
			})
			if strings.Contains(page, "<img") {
				t.Error("the answer is in the page")
			}
			return page
		}

		careless := newDevBrowser(t, g, receiver.URL)
		if page := careless.see(t, 200, path); !strings.Contains(page, "has not been tested yet") {
			t.Error("the page of an endpoint that was never tested says nothing of it")
		}
		res, _ := careless.Fill(t, careless.base+path, nil)
		want(t, "test", res, 303, careless.base+path)
		page := ended(careless, "10 of 21 passed")
		if n := strings.Count(page, "let in: a forged delivery was answered with 200"); n != 13 ||
			!strings.Contains(page, "Fix:") {
			t.Errorf("%d forgeries were let in", n)
		}
		groups := strings.Split(page, `data-testid="results"`)[1:]
		if len(groups) != 3 || !strings.Contains(groups[0], "Forged deliveries are refused") ||
			!strings.Contains(groups[2], "Good deliveries are accepted") {
			t.Errorf("%d groups, or in another order than the failed ones first", len(groups))
		}
		for _, group := range groups {
			passed := strings.Index(group, ">Passed<")
			if failed := strings.LastIndex(group, ">Failed<"); passed >= 0 && failed > passed {
				t.Error("a group has a failed case after a passed one")
			}
		}

		d := newDevBrowser(t, g, receiver.URL)
		v, err := standardwebhooks.NewWebhook(d.shop.Test.WebhookSecret)
		if err != nil {
			t.Fatal(err)
		}
		verifier.Store(v)
		res, _ = d.Fill(t, d.base+path, nil)
		want(t, "test", res, 303, d.base+path)
		ended(d, "21 of 21 passed")
		const sessions = 23 // of the run, which end with it
		d.logged(t, append([]audit.Action{audit.CertifyRun},
			slices.Repeat([]audit.Action{audit.SessionExpire}, sessions)...)...)
		if listed := d.see(t, 200, "/test/sessions"); strings.Count(listed, ">Receiver test</td>") != sessions ||
			!strings.Contains(listed, "Receiver tests are not counted.") {
			t.Error("the list of sessions does not mark those of the run")
		}
		if overview := d.see(t, 200, "/test"); !strings.Contains(overview, "No sessions yet") {
			t.Error("the overview shows the run's sessions")
		}
		for who, certified := range map[*devBrowser]bool{careless: false, d: true} {
			if list, err := g.App.Insight.Checklist(t.Context(), who.shop.Tenant); err != nil || list.Certified != certified {
				t.Errorf("the checklist has certified %t, %v; want %t", list.Certified, err, certified)
			}
		}
		res, page = d.Fill(t, d.base+path, nil)
		if res.StatusCode != 409 || !strings.Contains(page, "less than ten minutes ago") {
			t.Errorf("a second test: %d", res.StatusCode)
		}
		d.see(t, 404, "/live/webhooks/certify")

		none := newDevBrowser(t, g, "")
		if res, page = none.Fill(t, none.base+path, nil); res.StatusCode != 409 ||
			!strings.Contains(page, "No Webhook URL is set") {
			t.Errorf("without a URL: %d", res.StatusCode)
		}

		// A run whose process was killed, and one that could not be carried out.
		g.Clock.Advance(certify.Pause)
		run := certify.Run{ID: d.User.ID, TenantID: d.shop.Tenant.ID, StartedAt: g.Clock.Now(),
			EndpointID: webhook.EndpointID(d.shop.Tenant.ID, false, receiver.URL)}
		err = g.App.Store.StartCertification(t.Context(), run, []string{"127.0.0.1"}, audit.Act{
			Scope: audit.OfTenant(run.TenantID), At: run.StartedAt, Actor: audit.System("test"), Action: audit.CertifyRun,
		})
		if err != nil {
			t.Fatal(err)
		}
		ended(d, "Under way")
		g.Clock.Advance(certify.MaxTime)
		ended(d, "Could not be done")
	})
}
