package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
)

// TestLameDuck: a process that is to end is not ready at once, serves what still arrives, also on new connections, and
// in the second half ends each connection with its answer.
func TestLameDuck(t *testing.T) {
	t.Parallel()
	const lameDuck = 10 * time.Second
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_LAME_DUCK="+lameDuck.String())
	shop := g.Shop(t, "", nil)
	_, ready := get(t, g, "/readyz")
	asked, ended := time.Now(), make(chan time.Duration, 1)
	go func() {
		g.Stop()
		ended <- time.Since(asked)
	}()
	var refused string
	gatewaytest.WaitFor(t, "it is not ready", func() bool {
		res, body := get(t, g, "/readyz")
		refused = body
		return res.StatusCode == http.StatusServiceUnavailable
	})
	if !strings.Contains(ready, `"accepting":"ok"`) || !strings.Contains(refused, `"accepting":"failed"`) {
		t.Errorf("/readyz says %s, and at the end %s", ready, refused)
	}
	g.Create(t, shop.Test.APIKey, 18) // fails the test unless it is answered
	http.DefaultClient.CloseIdleConnections()
	gatewaytest.WaitFor(t, "connections end with their answers", func() bool {
		res, _ := get(t, g, "/healthz")
		return res.Close
	})
	g.Create(t, shop.Test.APIKey, 18)
	if took := <-ended; took < lameDuck {
		t.Errorf("it ended after %s", took)
	}
}
