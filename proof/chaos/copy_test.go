//go:build linux

package chaos

import (
	"path/filepath"
	"testing"
	"time"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// TestGrow copies all of SQLite to PostgreSQL with the command in docs/operations/grow.md.
func TestGrow(t *testing.T) {
	beside(t, false)
	r := table.New(t, "17 SQLite is copied to PostgreSQL")
	small, large := sqlite(t), database{"PostgreSQL", pgtest.EmptyURL(t)}
	receiver := newReceiver(t, func(before int) answer {
		if before == 0 {
			return refuse
		}
		return accept
	})
	free := "AGEGATE_FREE_CHECKS_PER_MONTH=-1"
	settings := []string{free, "AGEGATE_WEBHOOK_RETRY_TEST=2s,400ms,800ms,1s,1s,1s"}
	g := newGateway(t, small, settings...)
	shop := g.register(receiver.url)
	l := newLoad(append(g.newShops(2, receiver), shop.Test), 10*time.Millisecond, g)
	g.start()
	stop := l.startCharged(shop.Live)
	l.awaitMany(t, small, table.Sized(5000, 200))
	stop()
	g.terminate()
	r.None("balances that the ledger does not explain", small.unbalanced(t))

	began := time.Now()
	runDocumented(t, t.TempDir(), commands(t, "operations/grow.md", "SQLite to PostgreSQL", 0),
		append(g.env, "PATH="+filepath.Dir(binary)+":/usr/bin:/bin", "NEW_DATABASE_URL="+large.url))
	took := time.Since(began)
	g.env = append(g.env, "AGEGATE_DATABASE_URL="+large.url)
	g.start()
	creations, _ := l.acknowledged()
	stop = l.startCharged(shop.Live)
	l.awaitCreations(t, creations+table.Sized(1000, 50))
	stop()
	r.Didf("%d creations before, copied in %.1f s", creations, took.Seconds())
	r.None("balances that the ledger does not explain then", large.unbalanced(t))
	audit(t, r, large, l.account, receiver)
}
