//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"agegate/internal/webhook"
)

// schedule is what retries says.
var schedule = []time.Duration{
	200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, time.Second, time.Second, time.Second,
}

// TestFlappingReceiver sends to a receiver that answers 500, hangs or breaks
// the connection.
func TestFlappingReceiver(t *testing.T) { //nolint:tparallel // beside decides
	onEach(t, false, func(t *testing.T, db database) {
		r := newReport(t, " 4 flapping receiver", db)
		receiver := newReceiver(t, func(int) answer {
			switch dice := rand.N(100); {
			case dice < 30:
				return refuse
			case dice < 40:
				return hang
			case dice < 45:
				return reset
			default:
				return accept
			}
		})
		g := newGateway(t, db)
		keys := g.newShops(6, receiver) // 6 times 8 in flight keep the hanging ones from taking long
		g.start()
		l := newLoad(keys, 0, g)
		events := sized(600, 60)
		l.complete(t, g, keys, events)
		db.settle(t)

		held := db.read(t)
		r.didf("%d events, 30 %% answered 500, 10 %% hang, 5 %% reset", len(held.events))
		seen := receiver.byEvent()
		var open, unequal, early []string
		posts := 0
		for id, e := range held.events {
			got := seen[id]
			posts += len(got)
			last := len(got) > 0 && got[len(got)-1].ok
			if last != (e.status == "delivered") || !last && (e.status != "failed" || len(got) != 1+len(schedule)) {
				open = append(open, fmt.Sprintf("event %s is %s after %d requests", id, e.status, len(got)))
			}
			if held.attempts[id] != len(got) {
				unequal = append(unequal, fmt.Sprintf("event %s: %d attempts recorded, %d seen", id, held.attempts[id], len(got)))
			}
			early = append(early, tooEarly(got)...)
		}
		r.mark("events made", fmt.Sprint(events), fmt.Sprint(len(held.events)), len(held.events) == events)
		r.none("events neither delivered nor ended per schedule", open)
		r.none(fmt.Sprintf("events whose attempts differ (%d requests seen)", posts), unequal)
		r.none("requests earlier than the schedule", early)
		_, bodies, _ := held.deliveries(receiver)
		r.none("events with a second body", bodies)
	})
}

// tooEarly lists the requests of one event that came before the schedule let
// them: less than nine tenths of the wait after the one before, or before that
// one, if it hung, was given up, or after one that was accepted.
func tooEarly(posts []post) (found []string) {
	for i := 1; i < len(posts); i++ {
		earlier, least := posts[i-1], schedule[min(i, len(schedule))-1]*9/10
		if earlier.done.Sub(earlier.at) > webhook.AttemptTimeout/2 {
			least = webhook.AttemptTimeout - time.Second // it began before it was connected
		}
		if gap := posts[i].at.Sub(earlier.at); earlier.ok || gap < least {
			found = append(found, fmt.Sprintf("event %s: request %d came %s after the one before", posts[i].event, i+1, gap))
		}
	}
	return found
}
