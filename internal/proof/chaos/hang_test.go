//go:build linux

package chaos

import (
	"slices"
	"testing"
	"time"

	"agegate/internal/proof/table"
)

// TestHangingReceiver queues events for a tenant whose receiver hangs and
// measures what the other tenants notice.
func TestHangingReceiver(t *testing.T) { //nolint:tparallel // beside decides
	onEach(t, true, func(t *testing.T, db database) {
		r := table.New(t, db.named(" 5 one tenant's receiver hangs"))
		hanging, receiver := newReceiver(t, always(hang)), newReceiver(t, always(accept))
		g := newGateway(t, db)
		stuck, others := g.newShops(1, hanging), g.newShops(5, receiver)
		g.start()
		l := newLoad(others, 0, g)
		queued := table.Sized(2000, 100)
		l.completeMany(t, g.url, stuck, queued)

		asked := map[string]time.Time{} // when the completion was sent, by session
		var answers []time.Duration
		for n := range table.Sized(400, 40) {
			s, created, completed := l.complete(t, g.url, others[n%len(others)])
			asked[s.id] = completed.sent
			answers = append(answers, created.took, completed.took)
			time.Sleep(40 * time.Millisecond)
		}
		arrived := receiver.await(t, len(asked))
		var latencies []time.Duration
		for _, p := range arrived {
			latencies = append(latencies, p.at.Sub(asked[p.session]))
		}
		pending := db.count(t, "SELECT count(*) FROM webhook_events WHERE status = 'pending'")
		r.Didf("%d queued for the hanging receiver, %d still pending at the end, %d events of 5 others", queued, pending, len(asked))
		r.Within("p99 from completing to webhook, others", p99(latencies), 250*time.Millisecond)
		r.Within("p99 of the others' requests", p99(answers), 250*time.Millisecond)
		if pending < queued/2 {
			t.Errorf("only %d deliveries were pending: the receiver did not hang", pending)
		}
	})
}

// await waits until n requests have come.
func (r *receiver) await(t *testing.T, n int) []post {
	t.Helper()
	for limit := time.Now().Add(table.HangLimit); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if got := r.all(); len(got) >= n {
			return got
		}
	}
	t.Fatalf("%d requests came, want %d", len(r.all()), n)
	return nil
}

func p99(durations []time.Duration) time.Duration {
	slices.Sort(durations)
	return durations[(len(durations)*99+99)/100-1]
}
