//go:build linux

package chaos

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"agegate/proof/table"
)

// TestOppositeVerdicts lets two replicas complete the same sessions with opposite
// verdicts, and kills the replicas alternately.
func TestOppositeVerdicts(t *testing.T) {
	beside(t, true)
	db := postgres(t)
	r := table.New(t, db.named(" 3 two replicas, opposite verdicts"))
	receiver := newReceiver(t, always(accept))
	replicas := [2]*gateway{newGateway(t, db), newGateway(t, db)}
	keys := replicas[0].newShops(4, receiver)
	for _, g := range replicas {
		g.start()
	}
	total, kills := table.Sized(10_000, 300), table.Sized(20, 2)
	race := &race{load: newLoad(keys, 0, replicas[:]...), claims: map[string]map[string]bool{}}

	ctx, cancel := context.WithTimeout(t.Context(), table.HangLimit)
	defer cancel()
	work := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range work {
				race.run(ctx, n)
			}
		})
	}
	for n := range total {
		work <- n
		if every := total / (kills + 1); n%every == every-1 && n/every < kills {
			g := replicas[n/every%2]
			g.kill()
			g.start()
		}
	}
	close(work)
	all.Wait()

	r.Didf("%d sessions, each forced to PASSED and FALLBACK at once, %d kills", total, kills)
	if ctx.Err() != nil {
		t.Error("not every session was answered in time")
	}
	r.None("double wins", race.doubleWins(receiver))
	audit(t, r, db, race.account, receiver)
}

// race is many sessions with two verdicts each.
type race struct {
	*load
	claims map[string]map[string]bool // statuses that were reported, by session
}

func (x *race) run(ctx context.Context, n int) {
	s, _, ok := x.insistOnCreate(ctx, x.gateways[n%2], x.keys[n%len(x.keys)])
	if !ok {
		return
	}
	var both sync.WaitGroup
	for i, outcome := range []string{"verified", "fallback"} {
		both.Go(func() { x.insist(ctx, x.gateways[(n/2+i)%2], s, outcome) })
	}
	both.Wait()
}

// insist forces an outcome until there is an answer.
func (x *race) insist(ctx context.Context, gateway string, s session, outcome string) {
	for ctx.Err() == nil {
		told, r := x.force(gateway, s, outcome)
		x.noteClaim(s, told, r)
		if told != "" {
			return
		}
		rest(ctx, retryPause)
	}
}

func (x *race) noteClaim(s session, told string, r reply) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.note("complete", r, 200, 303)
	if told == "" || told == ended {
		return
	}
	x.told[s.id] = told
	if x.claims[s.id] == nil {
		x.claims[s.id] = map[string]bool{}
	}
	x.claims[s.id][told] = true
}

// doubleWins lists the sessions for which both verdicts were reported to the
// shopper or the merchant.
func (x *race) doubleWins(receiver *receiver) (found []string) {
	for id, claims := range x.claims {
		if len(claims) > 1 {
			found = append(found, "pages of session "+id)
		}
	}
	told := map[string]string{}
	for _, p := range receiver.all() {
		if earlier, ok := told[p.session]; ok && earlier != p.status {
			found = append(found, fmt.Sprintf("webhooks of session %s: %s and %s", p.session, earlier, p.status))
		}
		told[p.session] = p.status
	}
	return found
}
