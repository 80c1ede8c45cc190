//go:build linux

package chaos

import (
	"fmt"
	"testing"
	"time"

	"agegate/proof/table"
)

// TestClocksApart runs two replicas whose clocks are ten minutes apart against
// a receiver that refuses each event twice.
func TestClocksApart(t *testing.T) {
	beside(t, false)
	db := postgres(t)
	r := table.New(t, db.named("10 clocks of two replicas 10 minutes apart"))
	receiver := newReceiver(t, func(before int) answer {
		if before < 2 {
			return refuse
		}
		return accept
	})
	right, ahead := newGateway(t, db), newGateway(t, db)
	ahead.program, ahead.args = skewed, nil
	keys := right.newShops(4, receiver)
	right.start()
	ahead.start()
	l := newLoad(keys, 20*time.Millisecond, right, ahead)
	stop := l.start(6)
	time.Sleep(table.Sized(20*time.Second, 3*time.Second))
	stop()
	creations, completions := l.acknowledged()
	r.Didf("%d creations and %d completions over both, each event refused twice", creations, completions)
	audit(t, r, db, l.account, receiver)

	var early, stale []string
	for id, posts := range receiver.byEvent() {
		early = append(early, tooEarly(posts)...)
		for _, p := range posts {
			if off := p.at.Sub(time.Unix(p.stamp, 0)).Abs(); off > table.HangLimit {
				stale = append(stale, fmt.Sprintf("event %s: stamped %s off", id, off))
			}
		}
	}
	r.None("requests early or double", early)
	r.None("requests stamped with a wrong clock", stale)
}
