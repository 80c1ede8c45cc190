package dashboard_test

import (
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
)

// TestFailedWebhooksAreSeen: if every delivery failed, the overview shows 0 %,
// not that nothing was delivered.
func TestFailedWebhooksAreSeen(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	receiver := gatewaytest.NewReceiver(t)
	receiver.Answer(500)
	shop := g.Shop(t, receiver.URL, nil)
	for range 2 {
		g.Force(t, gatewaytest.Browser(), g.Create(t, shop.Test.APIKey, 18), "verified")
	}
	receiver.Wait(t, 2)
	// an attempt under way must not leave a trace
	g.Exec(t, "UPDATE webhook_events SET status = 'failed', next_attempt_at = NULL, lease_token = NULL")
	boss := member(t, g, shop.Tenant.ID, account.Viewer)
	_, body := boss.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test")
	_, tile, _ := strings.Cut(body, `data-testid="none-sent"`)
	const none = "<strong>0%</strong> <small>of 2 in the last 24 hours"
	if tile = tile[:min(len(tile), 300)]; !strings.Contains(tile, none) {
		t.Errorf("the tile says %q", tile)
	}
}
