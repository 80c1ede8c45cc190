//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"agegate/proof/table"
)

// TestTerminate ends the gateway by SIGTERM under load, once while webhooks are
// under way to a receiver that does not answer.
func TestTerminate(t *testing.T) { //nolint:tparallel // beside decides
	onServer(t, true, func(t *testing.T, db database) {
		r := table.New(t, db.named(" 8 SIGTERM under load"))
		hanging, receiver := newReceiver(t, always(hang)), newReceiver(t, always(accept))
		g := newGateway(t, db)
		keys, stuck := g.newShops(4, receiver), g.newShops(1, hanging)
		l := newLoad(keys, 5*time.Millisecond, g)
		stop := l.start(8)
		defer func() { stop() }()
		terms := table.Sized(20, 3)
		var slowest time.Duration
		var ends []span
		var codes, leases []string
		for n := range terms {
			g.start()
			time.Sleep(200*time.Millisecond + rand.N(500*time.Millisecond))
			if n == terms-1 {
				newLoad(stuck, 0, g).completeMany(t, g.url, stuck, 5)
				hanging.await(t, 5)
			}
			asked := time.Now()
			took, code := g.terminate()
			ends = append(ends, span{asked, asked.Add(took)})
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
		underWay, later := l.unanswered(ends)
		creations, completions := l.acknowledged()
		r.Didf("%d times, the last with 5 webhooks hanging; %d creations, %d completions", terms, creations, completions)
		r.None("requests under way and not answered", underWay)
		r.TimelyNone("requests sent meanwhile and not answered", later)
		r.None("exits with an error", codes)
		r.None("exits that left leases behind", leases)
		r.Within("slowest exit", slowest, 20*time.Second)
	})
}

// span is the time from a SIGTERM to the end of the process.
type span struct{ from, to time.Time }

// unanswered separates the unanswered requests: those that were already sent when
// SIGTERM came, which must be answered, and those sent later on a kept
// connection. The gateway tells the client of each kept connection to close it
// and waits a second before it closes one, so only a client that is late finds it
// closed.
func (a *account) unanswered(ends []span) (underWay, later []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.cut {
		what := fmt.Sprintf("%s after %s", c.operation, c.took)
		if slices.ContainsFunc(ends, func(s span) bool { return c.wrote.After(s.from) && c.wrote.Before(s.to) }) {
			later = append(later, what)
		} else {
			underWay = append(underWay, what)
		}
	}
	return underWay, later
}
