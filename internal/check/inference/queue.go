package inference

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// ErrReplaced is returned by Queue.Enter to work that newer work of the same
// session has replaced.
var ErrReplaced = errors.New("newer work of the session waits instead")

// Party is whom a turn is for.
type Party struct{ Tenant, Session uuid.UUID }

// Queue shares a fixed number of concurrent turns. Tenants take turns, however
// many sessions each has, and so do the sessions of a tenant: while one waits,
// every other one gets at most one turn. A session has at most one turn at a
// time and at most one waiting, so the queue is as long as there are sessions.
type Queue struct {
	turns int

	mu    sync.Mutex
	cost  time.Duration       // moving mean of how long a turn lasts
	free  int                 // turns
	order rounds[uuid.UUID]   // of the tenants that have something in line.order
	lines map[uuid.UUID]*line // of the tenants with work waiting or under way
}

// line is the work of one tenant.
type line struct {
	order   rounds[uuid.UUID]      // of the sessions that wait and have no turn
	waiting map[uuid.UUID]*waiter  // by session
	busy    map[uuid.UUID]struct{} // sessions that have a turn
}

// waiter receives the end of its wait: nil for a turn.
type waiter struct{ done chan error }

// firstCost is how long a turn is expected to last before any was measured, more
// than on most machines, and memory over how many turns the mean then moves.
// load is the share of the time that may be planned for: the same processor has
// other work to do.
const (
	firstCost = 50 * time.Millisecond
	memory    = 64
	load      = 0.7
)

// NewQueue returns a queue for so many turns at a time, at least one.
func NewQueue(turns int) *Queue {
	return &Queue{turns: turns, cost: firstCost, free: turns, lines: map[uuid.UUID]*line{}}
}

// Sustains returns how many sessions can get a turn so many times a second,
// judged by how long turns have lasted lately; at least one.
func (q *Queue) Sustains(rate float64) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(1, int(load*float64(q.turns)/(rate*q.cost.Seconds())))
}

// Enter waits for a turn, which ends when leave is called, once. It fails with
// ctx's error, or with ErrReplaced when the same session enters again.
func (q *Queue) Enter(ctx context.Context, p Party) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := q.join(p)
	select {
	case err = <-w.done:
	case <-ctx.Done():
		err = ctx.Err()
		if !q.withdraw(p, w) && <-w.done == nil {
			q.leave(p)
		}
	}
	if err != nil {
		return nil, err
	}
	began := time.Now()
	return func() {
		q.measure(time.Since(began))
		q.leave(p)
	}, nil
}

// measure takes the length of a turn into the mean.
func (q *Queue) measure(took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cost = max(q.cost+(took-q.cost)/memory, time.Microsecond)
}

// join puts work in line, in the place of what the session had waiting.
func (q *Queue) join(p Party) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[p.Tenant]
	if l == nil {
		l = &line{waiting: map[uuid.UUID]*waiter{}, busy: map[uuid.UUID]struct{}{}}
		q.lines[p.Tenant] = l
	}
	w := &waiter{done: make(chan error, 1)}
	old := l.waiting[p.Session]
	l.waiting[p.Session] = w
	_, busy := l.busy[p.Session]
	switch {
	case old != nil:
		old.done <- ErrReplaced
	case !busy:
		q.ready(p)
	}
	q.serve()
	return w
}

// withdraw takes work out of line, and reports false if it no longer waits.
func (q *Queue) withdraw(p Party, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[p.Tenant]
	if l == nil || l.waiting[p.Session] != w {
		return false
	}
	delete(l.waiting, p.Session)
	l.order.remove(p.Session)
	if l.order.empty() {
		q.order.remove(p.Tenant)
	}
	q.forget(p.Tenant)
	return true
}

// leave ends a turn.
func (q *Queue) leave(p Party) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	l := q.lines[p.Tenant]
	delete(l.busy, p.Session)
	if l.waiting[p.Session] != nil {
		q.ready(p)
	}
	q.forget(p.Tenant)
	q.serve()
}

// ready puts a session that waits and has no turn in order.
func (q *Queue) ready(p Party) {
	l := q.lines[p.Tenant]
	if l.order.empty() {
		q.order.add(p.Tenant)
	}
	l.order.add(p.Session)
}

// serve gives out the free turns.
func (q *Queue) serve() {
	for q.free > 0 {
		tenant, ok := q.order.next()
		if !ok {
			return
		}
		l := q.lines[tenant]
		session, _ := l.order.next()
		if !l.order.empty() {
			q.order.add(tenant)
		}
		w := l.waiting[session]
		delete(l.waiting, session)
		l.busy[session] = struct{}{}
		q.free--
		w.done <- nil
	}
}

// forget drops a tenant that has no work.
func (q *Queue) forget(tenant uuid.UUID) {
	if l := q.lines[tenant]; len(l.waiting) == 0 && len(l.busy) == 0 {
		delete(q.lines, tenant)
	}
}

// rounds orders keys. In a round each key comes at most once: one that returns
// after its turn waits for the next round, any other joins the present one.
type rounds[K comparable] struct {
	present, following []K
	served             []K // in the present round
}

func (r *rounds[K]) empty() bool { return len(r.present)+len(r.following) == 0 }

// add appends a key that is not in the order.
func (r *rounds[K]) add(k K) {
	if slices.Contains(r.served, k) {
		r.following = append(r.following, k)
	} else {
		r.present = append(r.present, k)
	}
}

// remove takes a key out, if it is there.
func (r *rounds[K]) remove(k K) {
	same := func(other K) bool { return other == k }
	r.present = slices.DeleteFunc(r.present, same)
	r.following = slices.DeleteFunc(r.following, same)
}

// next takes the first key out and reports false if there is none.
func (r *rounds[K]) next() (k K, ok bool) {
	if len(r.present) == 0 {
		r.present, r.following, r.served = r.following, nil, nil
	}
	if len(r.present) == 0 {
		return k, false
	}
	k, r.present = r.present[0], r.present[1:]
	r.served = append(r.served, k)
	return k, true
}
