package gatewaytest

import (
	"net/http"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func TestWebhookSecretRotation(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		receiver := NewReceiver(t)
		c := g.Shop(t, receiver.URL, nil)
		next, err := g.App.Tenants.RotateWebhookSecret(t.Context(), audit.System("test"), c.Tenant.ID, false, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		verifies := func(d Delivery, secret string) bool {
			t.Helper()
			wh, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			// On SQLite a delivery's timestamp comes from the clock that the test
			// moves.
			return wh.VerifyIgnoringTimestamp(d.Body, d.Header) == nil
		}
		deliver := func(n int) Delivery {
			t.Helper()
			g.Force(t, Browser(), g.Create(t, c.Test.APIKey, 18), "verified")
			return receiver.Wait(t, n)[n-1]
		}
		during := deliver(1)
		if !verifies(during, c.Test.WebhookSecret) || !verifies(during, next) {
			t.Error("during the overlap, one of the secrets does not verify")
		}
		g.Clock.Advance(time.Hour)
		after := deliver(2)
		if verifies(after, c.Test.WebhookSecret) || !verifies(after, next) {
			t.Error("after the overlap, the old secret still signs or the new one does not")
		}
		last, err := g.App.Tenants.RotateWebhookSecret(t.Context(), audit.System("test"), c.Tenant.ID, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d := deliver(3); verifies(d, next) || !verifies(d, last) {
			t.Error("an overlap of nothing let the old secret sign")
		}
	})
}

func TestRedirectSecretRotation(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", nil)
		pass := func() {
			t.Helper()
			s := g.Create(t, c.Test.APIKey, 18)
			res, _ := g.Force(t, Browser(), s, "verified")
			if res.StatusCode != http.StatusSeeOther {
				t.Fatalf("status %d", res.StatusCode)
			}
			g.checkRedirect(t, res, c, s)
		}
		if err := g.App.Tenants.PromoteRedirectSecret(t.Context(), audit.System("test"), c.Tenant.ID,
			false); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("promoting nothing: %v", err)
		}
		next, err := g.App.Tenants.StageRedirectSecret(t.Context(), audit.System("test"), c.Tenant.ID, false)
		if err != nil {
			t.Fatal(err)
		}
		pass() // a staged secret does not sign yet
		if err := g.App.Tenants.PromoteRedirectSecret(t.Context(), audit.System("test"), c.Tenant.ID, false); err != nil {
			t.Fatal(err)
		}
		c.Test.RedirectSecret = next
		pass()
		g.Clock.Advance(48 * time.Hour)
		pass()
	})
}
