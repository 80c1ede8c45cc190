package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// party returns the same session of the same tenant for the same numbers.
func party(tenant, session byte) Party {
	return Party{Tenant: uuid.UUID{1, tenant}, Session: uuid.UUID{2, tenant, session}}
}

// driver joins and leaves a queue one step at a time and records who has a turn.
type driver struct {
	queue  *Queue
	in     map[Party]*waiter
	turns  []Party // in the order they were given
	active map[Party]bool
}

func newDriver(turns int) *driver {
	return &driver{queue: NewQueue(turns, 0), in: map[Party]*waiter{}, active: map[Party]bool{}}
}

func (d *driver) join(p Party) (replaced bool, err error) {
	old := d.in[p]
	w, _ := d.queue.join(p)
	if old != nil {
		if err := <-old.done; !errors.Is(err, ErrReplaced) {
			return true, fmt.Errorf("the older work ended with %w", err)
		}
	}
	d.in[p] = w
	return old != nil, d.update()
}

func (d *driver) leave(p Party) error {
	delete(d.active, p)
	d.queue.leave(p)
	return d.update()
}

func (d *driver) withdraw(p Party) error {
	if !d.queue.withdraw(p, d.in[p]) {
		return errors.New("what waited could not be withdrawn")
	}
	delete(d.in, p)
	return d.update()
}

// update finds out which party got a turn. One step gives at most one.
func (d *driver) update() error {
	given := 0
	for p, w := range d.in {
		select {
		case err := <-w.done:
			if err != nil || d.active[p] {
				return fmt.Errorf("%v got a second turn, or %w", p, err)
			}
			delete(d.in, p)
			d.active[p] = true
			d.turns = append(d.turns, p)
			given++
		default:
		}
	}
	if given > 1 {
		return fmt.Errorf("%d turns given in one step", given)
	}
	return nil
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A tenant with many sessions gets one turn for each of another tenant's, and a
// tenant that comes late is served next.
func TestTurnsAlternateBetweenTenants(t *testing.T) {
	d := newDriver(1)
	for session := range byte(4) {
		_, err := d.join(party(1, session))
		ok(t, err)
	}
	ok(t, d.leave(party(1, 0)))
	for session := range byte(2) {
		_, err := d.join(party(2, session))
		ok(t, err)
	}
	for range 5 {
		ok(t, d.leave(d.turns[len(d.turns)-1]))
	}
	want := []Party{party(1, 0), party(1, 1), party(2, 0), party(1, 2), party(2, 1), party(1, 3)}
	if !slices.Equal(d.turns, want) {
		t.Errorf("turns %v, want %v", d.turns, want)
	}
	if len(d.queue.lines) != 0 {
		t.Errorf("%d tenants kept", len(d.queue.lines))
	}
}

// What the queue can sustain depends on the length of turns, and is at least
// one.
func TestSustains(t *testing.T) {
	q := NewQueue(2, 0)
	if got, want := q.Sustains(5), int(load*2/(5*firstCost.Seconds())); got != want {
		t.Errorf("%d before anything was measured, want %d", got, want)
	}
	for range 3 * firstTurns { // the first turns count more than later ones
		q.measure(10 * time.Millisecond)
	}
	if got := q.Sustains(5); got < 13 || got > 15 { // of 20 ms on average
		t.Errorf("%d after the first turns, want about 14", got)
	}
	for _, row := range []struct {
		turn time.Duration
		want int
	}{{10 * time.Millisecond, 28}, {100 * time.Millisecond, 2}, {2 * time.Second, 1}, {5 * time.Millisecond, 56}} {
		for range 20 * memory {
			q.measure(row.turn)
		}
		if got := q.Sustains(5); got < row.want-1 || got > row.want+1 {
			t.Errorf("turns of %s: %d, want about %d", row.turn, got, row.want)
		}
	}
	leave, err := q.Enter(t.Context(), party(1, 0))
	ok(t, err)
	before := q.cost
	leave()
	if q.cost >= before {
		t.Error("a short turn did not count")
	}
}

// A second stream of a session replaces the first one's waiting work. It waits
// until the first one's running work has ended.
func TestASessionHasOneTurnAndOneWaiting(t *testing.T) {
	d := newDriver(2)
	for range 3 {
		_, err := d.join(party(1, 0))
		ok(t, err)
	}
	if len(d.turns) != 1 || d.queue.free != 1 {
		t.Fatalf("%d turns, %d free, want 1 of each", len(d.turns), d.queue.free)
	}
	ok(t, d.leave(party(1, 0)))
	if len(d.turns) != 2 {
		t.Error("the session's turn did not come when the first had ended")
	}
}

func TestEnterEndsWithItsContext(t *testing.T) {
	q := NewQueue(1, 0)
	leave, err := q.Enter(t.Context(), party(1, 0))
	ok(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := q.Enter(ctx, party(1, 1))
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
	leave()
	if _, err := q.Enter(ctx, party(1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after the context's end", err)
	}
	leave, err = q.Enter(t.Context(), party(2, 0))
	ok(t, err)
	leave()
	if q.free != 1 || len(q.lines) != 0 {
		t.Errorf("%d turns free, %d tenants kept", q.free, len(q.lines))
	}
}

// A tenant's line is bounded, and does not shorten the lines of others. Work
// without a session replaces none, and leaves at its deadline.
func TestTakeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		q, many, few := NewQueue(1, most), uuid.UUID{1}, uuid.UUID{2}
		leave, err := q.Take(t.Context(), many)
		ok(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ended := make(chan error, most)
		for range most {
			go func() {
				_, err := q.Take(ctx, many)
				ended <- err
			}()
		}
		synctest.Wait()
		if _, err := q.Take(ctx, many); !errors.Is(err, errFull) {
			t.Errorf("one more than may wait: %v", err)
		}
		other := make(chan func(), 1)
		go func() {
			next, err := q.Take(t.Context(), few)
			ok(t, err)
			other <- next
		}()
		for range most {
			if err := <-ended; !errors.Is(err, errLate) || fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("after its time: %v", err)
			}
		}
		leave()
		(<-other)()
		if q.free != 1 || len(q.lines) != 0 {
			t.Errorf("%d turns free, %d tenants kept", q.free, len(q.lines))
		}
	})
}

// In any sequence of arrivals, no turn stays free while somebody could have it.
// While a tenant waits for its next turn, no other tenant gets more than one;
// the same holds among the sessions of a tenant.
func TestFairness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 4).Draw(t, "turns")
		d := newDriver(slots)
		tenants, sessions := patience{}, patience{}
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			if len(d.active) > slots || d.queue.free != slots-len(d.active) {
				t.Fatalf("%d of %d turns given, %d free", len(d.active), slots, d.queue.free)
			}
			for _, turn := range d.turns {
				tenants.took(t, turn.Tenant, func(uuid.UUID) bool { return true })
				sessions.took(t, turn.Session, func(other uuid.UUID) bool { return other[1] == turn.Session[1] })
			}
			d.turns = nil
			var ready []Party
			for p := range d.in {
				if !d.active[p] {
					ready = append(ready, p)
				}
			}
			if len(ready) > 0 && d.queue.free > 0 {
				t.Fatal("a turn is free though somebody waits")
			}
			tenants.wait(ready, func(p Party) uuid.UUID { return p.Tenant })
			sessions.wait(ready, func(p Party) uuid.UUID { return p.Session })
		}
		anyone := rapid.Custom(func(t *rapid.T) Party {
			return party(rapid.ByteRange(0, 3).Draw(t, "tenant"), rapid.ByteRange(0, 4).Draw(t, "session"))
		})
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				_, err := d.join(anyone.Draw(t, "who"))
				check(err)
			},
			"leave": func(t *rapid.T) {
				if p := anyone.Draw(t, "who"); d.active[p] {
					check(d.leave(p))
				}
			},
			"withdraw": func(t *rapid.T) {
				if p := anyone.Draw(t, "who"); d.in[p] != nil {
					check(d.withdraw(p))
				}
			},
		})
		for len(d.active) > 0 {
			for p := range d.active {
				check(d.leave(p))
				break
			}
		}
		if len(d.in) > 0 || len(d.queue.lines) > 0 {
			t.Fatalf("%d wait for ever, %d tenants kept", len(d.in), len(d.queue.lines))
		}
	})
}

// patience counts, for each waiting party, the turns that each other party got
// in the meantime.
type patience map[uuid.UUID]map[uuid.UUID]int

// took counts a turn against every party that competes with its party.
func (p patience) took(t *rapid.T, who uuid.UUID, competes func(uuid.UUID) bool) {
	delete(p, who)
	for waiting, others := range p {
		if !competes(waiting) {
			continue
		}
		if others[who]++; others[who] > 1 {
			t.Fatalf("%v waits while %v gets another turn", waiting, who)
		}
	}
}

// wait keeps only the parties that could have a turn now.
func (p patience) wait(ready []Party, key func(Party) uuid.UUID) {
	waiting := map[uuid.UUID]bool{}
	for _, r := range ready {
		waiting[key(r)] = true
		if p[key(r)] == nil {
			p[key(r)] = map[uuid.UUID]int{}
		}
	}
	for k := range p {
		if !waiting[k] {
			delete(p, k)
		}
	}
}

// Many goroutines of few sessions, for the race detector.
func TestQueueUnderLoad(t *testing.T) {
	const turns = 3
	q := NewQueue(turns, 0)
	var active atomic.Int64
	var all sync.WaitGroup
	for n := range 64 {
		all.Go(func() {
			for i := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					go cancel()
				}
				leave, err := q.Enter(ctx, party(byte(n%4), byte(n%16)))
				if err == nil {
					if active.Add(1) > turns {
						t.Error("more turns than there are")
					}
					active.Add(-1)
					leave()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if q.free != turns || len(q.lines) != 0 {
		t.Errorf("%d turns free, %d tenants kept", q.free, len(q.lines))
	}
}
