// Package turn shares what costs processor time, so that nobody's work keeps
// others waiting for longer than a turn of each.
//
// The rule is the same wherever something is shared: a fixed number of turns at a
// time; tenants take turns, however much each asks for; so do the sessions of a
// tenant; what waits is bounded for each tenant and leaves with its request. Work
// that nobody is known for is one tenant's, whoever sends it. A Queue keeps the
// rule for pictures before the models, answers of wallets, logos and passwords.
// The places of captures and of webhooks add what their work needs: captures keep
// a place for as long as they last, and webhooks part slow receivers from prompt
// ones.
package turn

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// retryAfter is how long those are asked to wait who get no turn now.
const retryAfter = 2 * time.Second

// Faults of work that gets no turn.
var (
	errFull = unavailable("Too much is waiting already")
	errLate = unavailable("Its turn did not come in time")
)

func unavailable(message string) *fault.Error {
	f := fault.New(fault.Unavailable, message)
	f.RetryAfter = retryAfter
	return f
}

// ErrReplaced is returned by Queue.Enter to work that newer work of the same
// session has replaced.
var ErrReplaced = errors.New("newer work of the session waits instead")

// Party is whom a turn is for.
type Party struct{ Tenant, Session uuid.UUID }

// Queue shares a fixed number of concurrent turns. Tenants take turns, however
// many sessions each has, and so do the sessions of a tenant: while one waits,
// every other one gets at most one turn. A session has at most one turn at a
// time and at most one waiting.
type Queue struct {
	turns, most int

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

// NewQueue returns a queue for so many turns at a time, at least one, in which at
// most so many sessions of a tenant wait. With 0 as many wait as there are; the
// caller then bounds the sessions.
func NewQueue(turns, waiting int) *Queue {
	return &Queue{turns: turns, most: waiting, cost: firstCost, free: turns, lines: map[uuid.UUID]*line{}}
}

// Sustains returns how many sessions can get a turn so many times a second,
// judged by how long turns have lasted lately; at least one.
func (q *Queue) Sustains(rate float64) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(1, int(load*float64(q.turns)/(rate*q.cost.Seconds())))
}

// Take is Enter for work that is its tenant's only: it replaces no other. It
// fails with fault.Unavailable when too much of the tenant waits or ctx's time is
// over, and with ctx's error when that is cancelled.
func (q *Queue) Take(ctx context.Context, tenant uuid.UUID) (leave func(), err error) {
	leave, err = q.Enter(ctx, Party{Tenant: tenant, Session: uuid.New()})
	if errors.Is(err, context.DeadlineExceeded) {
		err = errLate
	}
	return leave, err
}

// Enter waits for a turn, which ends when leave is called, once. It fails with
// ctx's error, with ErrReplaced when the same session enters again, or with
// fault.Unavailable when as many of the tenant wait as may.
func (q *Queue) Enter(ctx context.Context, p Party) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, ok := q.join(p)
	if !ok {
		return nil, errFull
	}
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

// join puts work in line, in the place of what the session had waiting. It
// reports false if the tenant's line is full.
func (q *Queue) join(p Party) (w *waiter, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[p.Tenant]
	if l != nil && q.most > 0 && len(l.waiting) >= q.most && l.waiting[p.Session] == nil {
		return nil, false
	}
	if l == nil {
		l = &line{waiting: map[uuid.UUID]*waiter{}, busy: map[uuid.UUID]struct{}{}}
		q.lines[p.Tenant] = l
	}
	w = &waiter{done: make(chan error, 1)}
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
	return w, true
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
