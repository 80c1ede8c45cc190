//go:build linux

package chaos

import (
	"math/rand/v2"
	"testing"
	"time"

	"agegate/internal/proof/table"
)

// TestKill kills the gateway at random points under load.
func TestKill(t *testing.T) { //nolint:tparallel // beside decides
	onEach(t, false, func(t *testing.T, db database) {
		r := table.New(t, db.named(" 1 kill -9 under load"))
		receiver := newReceiver(t, always(accept))
		g := newGateway(t, db)
		l := newLoad(g.newShops(4, receiver), 30*time.Millisecond, g)
		g.start()
		stop := l.start(6)
		kills := table.Sized(100, 4)
		for range kills {
			time.Sleep(200*time.Millisecond + rand.N(1800*time.Millisecond))
			g.kill()
			g.start()
		}
		stop()
		creations, completions := l.acknowledged()
		r.Didf("%d kills, %d creations and %d completions acknowledged", kills, creations, completions)
		audit(t, r, db, l.account, receiver)
	})
}
