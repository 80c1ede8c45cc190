package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/app"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/session"
)

// TestRetention: finished sessions are deleted when they are old enough, with an
// entry in each tenant's log; open and younger sessions stay, and no unit is lost.
func TestRetention(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		done := g.Create(t, shop.Test.APIKey, 18)
		if res, _ := g.Force(t, gatewaytest.Browser(), done, "verified"); res.StatusCode != http.StatusSeeOther {
			t.Fatalf("the forced outcome: %d", res.StatusCode)
		}
		settled := settle(t, g, shop.Live.APIKey)
		lapsed, theirs := g.Create(t, shop.Live.APIKey, 18), g.Create(t, other.Test.APIKey, 18)
		g.Clock.Advance(29 * 24 * time.Hour)
		younger := g.Create(t, shop.Test.APIKey, 18)
		known := func(key string, c gatewaytest.Created, want int) {
			t.Helper()
			g.Do(t, gatewaytest.Row{Name: "status", Path: "/api/v1/sessions/" + c.SessionID + "/status", Key: key, Status: want})
		}
		prune := func() {
			t.Helper()
			if err := app.PruneSessions(g.App, t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		prune()
		known(shop.Test.APIKey, done, http.StatusOK)
		g.Clock.Advance(24*time.Hour + time.Second)
		prune()
		known(shop.Test.APIKey, done, http.StatusNotFound)
		known(shop.Live.APIKey, lapsed, http.StatusNotFound)
		known(shop.Live.APIKey, settled, http.StatusNotFound)
		known(other.Test.APIKey, theirs, http.StatusNotFound)
		known(shop.Test.APIKey, younger, http.StatusOK)

		entries, sum := 0, int64(0)
		for entry, err := range billingtest.Ledger(t.Context(), g.App.Store, shop.Tenant.ID) {
			if err != nil {
				t.Fatal(err)
			}
			entries, sum = entries+1, sum+entry.Delta
		}
		if entries != 4 || sum != -1 {
			t.Errorf("the ledger keeps %d entries that sum to %d, want hold and release, hold and settlement", entries, sum)
		}
		for rows, want := range map[string]int{
			"sessions": 1, "holds": 0, "idempotency_claims": 0, "handovers": 0, "webhook_events": 0,
			"usage_counters WHERE counter = 'free' AND used = 1": 1,
		} {
			if n := g.Count(t, rows); n != want {
				t.Errorf("%d rows of %s, want %d", n, rows, want)
			}
		}
		acts, err := g.App.Store.AuditEntries(t.Context(),
			audit.Filter{Scope: audit.OfTenant(other.Tenant.ID), Action: audit.SessionPrune})
		if err != nil {
			t.Fatal(err)
		}
		if len(acts) != 1 || acts[0].Actor != audit.System("retention") {
			t.Errorf("the log of the other tenant: %+v", acts)
		}
	}, "AGEGATE_RETENTION=30d")
}

// settle creates a live session under an idempotency key, hands it over to a phone and lets it pass.
func settle(t *testing.T, g *gatewaytest.Gateway, key string) (c gatewaytest.Created) {
	t.Helper()
	body := g.Do(t, gatewaytest.Row{
		Name: "create", Path: "/api/v1/sessions/create", Key: key, Body: `{"target_age":18}`,
		Header: map[string]string{"Idempotency-Key": "order-1"}, Status: http.StatusCreated,
	})
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	_, link, _ := strings.Cut(c.VerificationURL, "/v/")
	s, err := g.App.Sessions.ByLink(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.NewHandovers(g.App.Sessions, g.App.Store).Offer(t.Context(), s, "cookie"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.App.Sessions.Resolve(t.Context(), s, session.CheckResult{Result: session.ResultVerified}); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestReleaseGoesOn: if the holds of one tenant cannot be released, those of the others still are.
func TestReleaseGoesOn(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		broken := g.Shop(t, "", nil)
		for range 2 { // whose ledger entry the database refuses
			g.Create(t, broken.Live.APIKey, 18)
		}
		g.Exec(t, "CREATE UNIQUE INDEX one ON ledger_entries (kind) WHERE kind = 'release' AND tenant_id = '"+
			broken.Tenant.ID.String()+"'")
		const others = 5
		for range others {
			g.Create(t, g.Shop(t, "", nil).Live.APIKey, 18)
		}
		g.Clock.Advance(time.Hour)
		if err := app.ReleaseHolds(g.App, t.Context()); err == nil ||
			!strings.Contains(err.Error(), broken.Tenant.ID.String()) {
			t.Errorf("%v, want an error that names the tenant", err)
		}
		left, err := g.App.Store.ExpiredHolders(t.Context(), g.Clock.Now())
		if err != nil || len(left) != 1 || left[0] != broken.Tenant.ID {
			t.Errorf("holds are left of %v, %v", left, err)
		}
	})
}
