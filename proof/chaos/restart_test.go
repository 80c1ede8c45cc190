//go:build linux

package chaos

import (
	"math/rand/v2"
	"testing"
	"time"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// TestDatabaseRestart crashes PostgreSQL under load.
func TestDatabaseRestart(t *testing.T) {
	beside(t, true)
	server := pgtest.NewServer(t, pgtest.FreeAddr(t))
	db := database{"PostgreSQL", server.URL(server.Addr)}
	r := table.New(t, db.named(" 2 PostgreSQL restarted, -m immediate"))
	receiver := newReceiver(t, always(accept))
	g := newGateway(t, db)
	l := newLoad(g.newShops(4, receiver), 10*time.Millisecond, g)
	g.start()
	stop := l.start(6)
	restarts := table.Sized(10, 2)
	for range restarts {
		time.Sleep(time.Second + rand.N(time.Second))
		if err := server.Crash(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	stop()
	creations, completions := l.acknowledged()
	r.Didf("%d restarts, %d creations and %d completions acknowledged", restarts, creations, completions)
	if !g.running() {
		t.Error("the gateway has ended")
	}
	r.Within("longest gap between acknowledgements", l.longestGap(), 3*time.Second)
	audit(t, r, db, l.account, receiver)
}
