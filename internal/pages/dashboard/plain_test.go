package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
)

// TestNoDashboardOverPlainHTTP runs a gateway whose base URL is http: it works
// without the dashboard, and logs why.
func TestNoDashboardOverPlainHTTP(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_BASE_URL=http://gateway.internal:8080",
		"AGEGATE_DASHBOARD_URL=")
	for path, status := range map[string]int{"/healthz": http.StatusOK, "/dashboard/login": http.StatusNotFound} {
		res, err := http.Get(g.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	if !strings.Contains(g.Log.String(), "no dashboard is served: AGEGATE_DASHBOARD_URL must be") {
		t.Error("the log does not say why there is no dashboard")
	}
}
