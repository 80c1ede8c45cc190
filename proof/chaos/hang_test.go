//go:build linux

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/rules/webhook"
	"agegate/proof/table"

	"github.com/google/uuid"
)

// TestHangingReceivers queues events for tenants whose receivers do not answer,
// and measures the delay for other tenants.
func TestHangingReceivers(t *testing.T) { //nolint:tparallel // beside decides
	for _, tc := range []struct {
		name    string
		tenants int
		queued  int // events for each of them
		hangs   int // one in this many requests hangs
	}{
		{" 5 one tenant's receiver hangs", 1, table.Sized(2000, 100), 1},
		{"11 the receivers of 100 tenants hang", table.Sized(100, 12), table.Sized(1000, 20), 1},
		{"12 those of 100 tenants hang every other time", table.Sized(100, 12), table.Sized(1000, 20), 2},
	} {
		t.Run(strings.TrimSpace(tc.name), func(t *testing.T) {
			onServer(t, true, func(t *testing.T, db database) {
				r := table.New(t, db.named(tc.name))
				var requests atomic.Int64
				hanging := newReceiver(t, func(int) answer {
					if requests.Add(1)%int64(tc.hangs) == 0 {
						return hang
					}
					return accept
				})
				receiver := newReceiver(t, func(int) answer { return accept })
				g := newGateway(t, db)
				stuck, others := g.newShops(tc.tenants, hanging), g.newShops(5, receiver)
				db.queue(t, hanging.url, tc.queued)
				g.start()
				l := newLoad(others, 0, g)
				l.completeMany(t, g.url, stuck, len(stuck))

				asked := map[string]time.Time{} // when the request for the completion was sent, by session
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
				queued := len(stuck) * (tc.queued + 1)
				pending := db.count(t, "SELECT count(*) FROM webhook_events WHERE status = 'pending'")
				r.Didf("%d queued for %d hanging receivers, %d still pending at the end, %d events of 5 others",
					queued, tc.tenants, pending, len(asked))
				r.Within("p99 from completing to webhook, others", p99(latencies), 250*time.Millisecond)
				r.Within("p99 of the others' requests", p99(answers), 250*time.Millisecond)
				if hung := int(requests.Load()) / tc.hangs; hung < max(1, tc.tenants/2) {
					t.Errorf("only %d requests were left to hang", hung)
				}
			})
		})
	}
}

// queue creates n due events for each tenant whose webhooks go to the receiver at
// the URL.
func (db database) queue(t *testing.T, url string, n int) {
	t.Helper()
	conn := db.connect(t)
	exec := func(statement string) {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var tenants [][2]string
	query := fmt.Sprintf("SELECT CAST(id AS text), webhook_url FROM tenants WHERE webhook_url LIKE '%s/%%'", url)
	each(t, conn, query, func(scan func(...any) error) error {
		var tenant [2]string
		err := scan(&tenant[0], &tenant[1])
		tenants = append(tenants, tenant)
		return err
	})
	for _, tenant := range tenants {
		endpoint := webhook.EndpointID(uuid.MustParse(tenant[0]), false, tenant[1])
		for batch := range slices.Chunk(make([]int, n), 500) {
			var rows []string
			for range batch {
				rows = append(rows, fmt.Sprintf(
					"('evt_%s', '%s', '%s', false, '%s', '%s', '{}', 'pending', '2026-01-01 00:00:00+00:00', '2026-01-01 "+
						"00:00:00+00:00', 0, 0, '', 0)",
					uuid.Must(uuid.NewV7()), tenant[0], uuid.New(), tenant[1], endpoint))
			}
			exec(`INSERT INTO webhook_events (id, tenant_id, session_id, livemode, destination, endpoint_id, body,
				status, created_at, next_attempt_at, attempts, step, last_class, last_status) VALUES ` + strings.Join(rows, ", "))
		}
	}
}

// await waits until n requests have arrived.
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
