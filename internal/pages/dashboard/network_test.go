package dashboard_test

import (
	"net/http"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
)

// TestSpoofedNetworks: addresses that a client claims create no buckets.
func TestSpoofedNetworks(t *testing.T) {
	for proxies, networks := range map[string]int{"": 0, "127.0.0.0/8": 1, "192.0.2.0/24": 1} {
		g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_TRUSTED_PROXIES="+proxies)
		for _, claimed := range []string{"198.51.100.1", "2001:db8::1", "127.0.0.1"} {
			g.Clock.Advance(time.Second)
			res, _ := g.Nobody().Send(t, http.MethodPost, "/dashboard/login", credentials("nobody"),
				map[string]string{"Sec-Fetch-Site": "same-origin", "X-Forwarded-For": claimed + ", 203.0.113.7"})
			want(t, claimed, res, 422, "")
		}
		rows, err := g.App.Store.PruneAccounts(t.Context(), g.Clock.Now().Add(25*time.Hour), 100)
		if err != nil || rows != 2+networks { // in addition to the account's and the instance's
			t.Errorf("behind %q: %d buckets, want %d, %v", proxies, rows, 2+networks, err)
		}
	}
}
