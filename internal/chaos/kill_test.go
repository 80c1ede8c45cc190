//go:build linux

package chaos

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestKill kills the gateway at random points under load.
func TestKill(t *testing.T) { //nolint:tparallel // beside decides
	onEach(t, false, func(t *testing.T, db database) {
		r := newReport(t, " 1 kill -9 under load", db)
		receiver := newReceiver(t, always(accept))
		g := newGateway(t, db)
		l := newLoad(g.newShops(4, receiver), 30*time.Millisecond, g)
		g.start()
		stop := l.start(6)
		kills := sized(100, 4)
		for range kills {
			time.Sleep(200*time.Millisecond + rand.N(1800*time.Millisecond))
			g.kill()
			g.start()
		}
		stop()
		creations, completions := l.acknowledged()
		r.didf("%d kills, %d creations and %d completions acknowledged", kills, creations, completions)
		r.audit(db, l.account, receiver)
	})
}
