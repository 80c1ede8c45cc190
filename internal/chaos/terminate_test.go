//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestTerminate ends the gateway by SIGTERM under load, once with webhooks
// under way to a receiver that hangs.
func TestTerminate(t *testing.T) { //nolint:tparallel // beside decides
	onEach(t, true, func(t *testing.T, db database) {
		r := newReport(t, " 8 SIGTERM under load", db)
		hanging, receiver := newReceiver(t, always(hang)), newReceiver(t, always(accept))
		g := newGateway(t, db)
		keys, stuck := g.newShops(4, receiver), g.newShops(1, hanging)
		l := newLoad(keys, 5*time.Millisecond, g)
		stop := l.start(8)
		defer func() { stop() }()
		terms := sized(20, 3)
		var slowest time.Duration
		var codes, leases []string
		for n := range terms {
			g.start()
			time.Sleep(200*time.Millisecond + rand.N(500*time.Millisecond))
			if n == terms-1 {
				newLoad(stuck, 0, g).complete(t, g, stuck, 5)
				hanging.await(t, 5)
			}
			took, code := g.terminate()
			slowest = max(slowest, took)
			if code != 0 {
				codes = append(codes, fmt.Sprintf("exit code %d", code))
			}
			if held := db.count(t, "SELECT count(*) FROM webhook_events WHERE lease_token IS NOT NULL AND status = 'pending'"); held > 0 {
				leases = append(leases, fmt.Sprintf("%d leases", held))
			}
		}
		stop()
		stop = func() {}
		l.mu.Lock()
		cut := l.cut
		l.mu.Unlock()
		creations, completions := l.acknowledged()
		r.didf("%d times, the last with 5 webhooks hanging; %d creations, %d completions", terms, creations, completions)
		r.none("requests sent and not answered", cut)
		r.none("exits with an error", codes)
		r.none("exits that left leases behind", leases)
		r.within("slowest exit", slowest, 20*time.Second)
	})
}
