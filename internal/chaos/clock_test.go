//go:build linux

package chaos

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// TestClocksApart runs two replicas whose clocks are ten minutes apart against
// a receiver that refuses each event twice.
func TestClocksApart(t *testing.T) {
	beside(t, false)
	db := postgres(t)
	r := newReport(t, "10 clocks of two replicas 10 minutes apart", db)
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
	time.Sleep(sized(20*time.Second, 3*time.Second))
	stop()
	creations, completions := l.acknowledged()
	r.didf("%d creations and %d completions over both, each event refused twice", creations, completions)
	r.audit(db, l.account, receiver)

	var early, stale []string
	for id, posts := range receiver.byEvent() {
		early = append(early, tooEarly(posts)...)
		for _, p := range posts {
			stamp, err := strconv.ParseInt(p.stamp, 10, 64)
			if off := p.at.Sub(time.Unix(stamp, 0)).Abs(); err != nil || off > time.Minute {
				stale = append(stale, fmt.Sprintf("event %s: stamped %s off", id, off))
			}
		}
	}
	r.none("requests early or double", early)
	r.none("requests stamped with a wrong clock", stale)
}
