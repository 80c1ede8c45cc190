//go:build linux

package chaos

import (
	"math/rand/v2"
	"testing"
	"time"

	"agegate/proof/table"
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
			// Each kill may repeat a delivery that was already answered. The
			// share of these depends on the number of sessions between kills, so
			// that number must be the same on slow machines.
			made, _ := l.acknowledged()
			l.awaitCreations(t, made+50+rand.N(table.Sized(250, 50)))
			time.Sleep(rand.N(100 * time.Millisecond))
			g.kill()
			g.start()
		}
		stop()
		creations, completions := l.acknowledged()
		r.Didf("%d kills, %d creations and %d completions acknowledged", kills, creations, completions)
		audit(t, r, db, l.account, receiver)
	})
}
