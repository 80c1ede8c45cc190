package security

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"agegate/internal/backoffice/certificate/certificatetest"
	"agegate/internal/edge/httpd/httpdtest"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"
)

// TestResetStreams: a stranger resets each HTTP/2 request as soon as it has begun, which
// takes it from the count of open ones.
func TestResetStreams(t *testing.T) {
	dir, host := t.TempDir(), "gate.example"
	chain, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certificatetest.Write(t, chain, key, host, 1, time.Now().Add(time.Hour))
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_BASE_URL=https://"+host, "AGEGATE_VERIFY_URL=https://"+host,
		"AGEGATE_DASHBOARD_URL=https://"+host, "AGEGATE_TLS_CERT="+chain, "AGEGATE_TLS_KEY="+key)
	sent, _ := httpdtest.Reset(t, g.App.Addr(), host, "/dashboard/login", 20000, func(int) {
		time.Sleep(200 * time.Microsecond) // it begins
	})
	r := table.New(t, "Reset HTTP/2 streams")
	r.Didf("requests on one connection, each reset after 0.2 ms")
	r.Mark("requests until the connection is closed", "< 20000", fmt.Sprint(sent), sent < 20000)
}
