//go:build linux

package chaos

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestHangingReceiver queues events for a tenant whose receiver hangs and
// measures what the other tenants notice.
func TestHangingReceiver(t *testing.T) { //nolint:tparallel // beside decides
	onEach(t, true, func(t *testing.T, db database) {
		r := newReport(t, " 5 one tenant's receiver hangs", db)
		hanging, receiver := newReceiver(t, always(hang)), newReceiver(t, always(accept))
		g := newGateway(t, db)
		stuck, others := g.newShops(1, hanging), g.newShops(5, receiver)
		g.start()
		l := newLoad(others, 0, g)
		queued := sized(2000, 100)
		l.complete(t, g, stuck, queued)

		asked := map[string]time.Time{} // when the completion was sent, by session
		var answers []time.Duration
		for n := range sized(400, 40) {
			s, created, ok := l.create(g.url, others[n%len(others)], fmt.Sprint(n))
			if !ok {
				t.Fatalf("create: status %d", created.status)
			}
			told, completed := l.force(g.url, s, "verified")
			if told != "PASSED" {
				t.Fatalf("force: status %d", completed.status)
			}
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
		r.didf("%d queued for the hanging receiver, %d still pending at the end, %d events of 5 others", queued, pending, len(asked))
		r.within("p99 from completing to webhook, others", p99(latencies), 250*time.Millisecond)
		r.within("p99 of the others' requests", p99(answers), 250*time.Millisecond)
		if pending < queued/2 {
			t.Errorf("only %d deliveries were pending: the receiver did not hang", pending)
		}
	})
}

// complete makes n sessions end as PASSED, as fast as it can.
func (l *load) complete(t *testing.T, g *gateway, keys []string, n int) {
	t.Helper()
	var all sync.WaitGroup
	work := make(chan int)
	for range 8 {
		all.Go(func() {
			for i := range work {
				s, r, ok := l.create(g.url, keys[i%len(keys)], rand.Text())
				if !ok {
					t.Errorf("create: status %d", r.status)
					continue
				}
				if told, r := l.force(g.url, s, "verified"); told != "PASSED" {
					t.Errorf("force: status %d", r.status)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
}

// await waits until n requests have come.
func (r *receiver) await(t *testing.T, n int) []post {
	t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
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
