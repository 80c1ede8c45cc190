//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"agegate/internal/rules/webhook"
	"agegate/proof/table"
)

// schedule is the list in retries.
var schedule = []time.Duration{
	200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, time.Second, time.Second, time.Second,
}

// TestFlappingReceiver sends webhooks to a receiver that answers 500, does not
// answer or breaks the connection.
func TestFlappingReceiver(t *testing.T) { //nolint:tparallel // beside decides
	onServer(t, false, func(t *testing.T, db database) {
		r := table.New(t, db.named(" 4 flapping receiver"))
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
		// 6 tenants with 8 attempts in flight each, so that attempts without an answer do not take long
		keys := g.newShops(6, receiver)
		g.start()
		l := newLoad(keys, 0, g)
		events := table.Sized(600, 60)
		l.completeMany(t, g.url, keys, events)
		db.settle(t)

		held := db.read(t)
		r.Didf("%d events, 30 %% answered 500, 10 %% hang, 5 %% reset", len(held.events))
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
		r.Mark("events made", fmt.Sprint(events), fmt.Sprint(len(held.events)), len(held.events) == events)
		r.None("events neither delivered nor ended per schedule", open)
		r.None(fmt.Sprintf("events whose attempts differ (%d requests seen)", posts), unequal)
		r.None("requests earlier than the schedule", early)
		_, bodies, _ := held.deliveries(receiver)
		r.None("events with a second body", bodies)
	})
}

// tooEarly lists the requests of an event that came earlier than the schedule
// allows: less than nine tenths of the wait after the request before, before that
// request was given up, or after an accepted one. The time of a request that was
// given up is taken from the gateway's timestamps, in whole seconds, because the
// request may have reached a slow receiver late.
func tooEarly(posts []post) (found []string) {
	for i := 1; i < len(posts); i++ {
		earlier, least := posts[i-1], schedule[min(i, len(schedule))-1]*9/10
		gap := posts[i].at.Sub(earlier.at)
		if earlier.left {
			least, gap = webhook.AttemptTimeout-time.Second, time.Duration(posts[i].stamp-earlier.stamp)*time.Second
		}
		if earlier.ok || gap < least {
			found = append(found, fmt.Sprintf("event %s: request %d came %s after the one before", posts[i].event, i+1, gap))
		}
	}
	return found
}
