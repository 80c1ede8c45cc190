//go:build linux

package chaos

import (
	"testing"
	"time"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// TestFailover stops the primary permanently under load, and promotes the replica
// that confirmed every commit. The gateway's URL names both servers from the
// start.
func TestFailover(t *testing.T) {
	beside(t, true)
	primary := pgtest.NewServer(t, pgtest.FreeAddr(t))
	replica := primary.NewReplica(t, pgtest.FreeAddr(t))
	db := database{"PostgreSQL", primary.URL(replica.Addr + "," + primary.Addr)}
	r := table.New(t, db.named("15 PostgreSQL lost, its replica promoted"))
	receiver := newReceiver(t, always(accept))
	g := newGateway(t, db)
	l := newLoad(g.newShops(4, receiver), 10*time.Millisecond, g)
	confirm(t, primary)
	g.start()
	stop := l.start(6)
	l.awaitCreations(t, table.Sized(1000, 100))

	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	before, _ := l.acknowledged()
	time.Sleep(table.Sized(3*time.Second, 500*time.Millisecond)) // until an operator notices
	promoted := time.Now()
	replica.Exec(t, "SELECT pg_promote()")
	recovery := l.awaitAfter(t, promoted)
	l.awaitCreations(t, before+table.Sized(1000, 100))
	stop()
	creations, completions := l.acknowledged()
	r.Didf("%d creations before and %d after it, %d completions", before, creations-before, completions)
	if !g.running() {
		t.Error("the gateway has ended")
	}
	r.Within("first acknowledgement after the promotion", recovery, 3*time.Second)
	audit(t, r, database{"PostgreSQL", replica.URL(replica.Addr)}, l.account, receiver)
}

// confirm makes the primary wait for its replica at every commit.
func confirm(t *testing.T, primary *pgtest.Server) {
	t.Helper()
	primary.Exec(t, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	primary.Exec(t, "SELECT pg_reload_conf()")
	db := database{"PostgreSQL", primary.URL(primary.Addr)}
	for limit := time.Now().Add(table.HangLimit); db.count(t,
		"SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("the replica does not confirm within %s", table.HangLimit)
		}
	}
}
