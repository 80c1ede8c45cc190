// Package turn is a fair queue for processor time: it shares turns so that nobody
// waits longer than one turn of each other party.
//
// The rule is the same everywhere: a fixed number of turns run at a time; tenants
// take turns, however much work each has, and so do the sessions of a tenant; the
// waiting work of each tenant is bounded, and work stops waiting when its request
// ends. Work without a known tenant is treated as the work of one tenant. A Queue
// applies the rule to pictures for the models, answers of wallets, logos, passwords,
// and requests to the identity provider. Captures and webhooks have slots with further
// rules: a capture keeps its slot as long as it lasts, and webhooks separate slow
// receivers from prompt ones.
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

// retryAfter is the wait suggested to callers who get no turn.
const retryAfter = 2 * time.Second

// Faults of work that gets no turn.
var (
	errFull = unavailable("Too much is waiting already")
	errLate = unavailable("Its turn did not come in time")
)

func unavailable(message string) *fault.Error {
	return fault.New(fault.Unavailable, message).After(retryAfter)
}

// ErrReplaced is returned by Queue.Enter to work that newer work of the same
// session has replaced.
var ErrReplaced = errors.New("newer work of the session waits instead")

// Party is the tenant and session for which a turn is taken.
type Party struct{ Tenant, Session uuid.UUID }

// Queue shares a fixed number of concurrent turns. Tenants take turns, however
// many sessions each has, and so do the sessions of a tenant: while one waits,
// every other one gets at most one turn. A session has at most one running turn
// and at most one waiting.
type Queue struct {
	turns, maxWaiting int

	mu    sync.Mutex
	cost  time.Duration       // moving mean of how long a turn lasts
	known int                 // number of turns in the mean, at most memory
	free  int                 // free turns
	order rounds[uuid.UUID]   // tenants with a session in line.order
	lines map[uuid.UUID]*line // tenants with work waiting or under way
}

// line is the work of one tenant.
type line struct {
	order   rounds[uuid.UUID]      // sessions that wait and have no turn
	waiting map[uuid.UUID]*waiter  // by session
	busy    map[uuid.UUID]struct{} // sessions that have a turn
}

// waiter is work that waits. It receives nil when its turn begins, or an error.
type waiter struct{ done chan error }

// firstCost is the assumed length of a turn before any was measured; on most
// machines turns are shorter. It counts as much as firstTurns measured turns.
// memory is the number of turns over which the moving mean adapts. load is the
// share of processor time that may be planned for, because the same processor has
// other work to do.
const (
	firstCost  = 50 * time.Millisecond
	firstTurns = 8
	memory     = 64
	load       = 0.7
)

// NewQueue returns a queue that gives the stated number of turns at a time, at
// least one, and lets the stated number of sessions of a tenant wait. With 0
// their number has no limit, and the caller must bound the sessions.
func NewQueue(turns, waiting int) *Queue {
	return &Queue{turns: turns, maxWaiting: waiting, cost: firstCost, known: firstTurns, free: turns,
		lines: map[uuid.UUID]*line{}}
}

// Sustains returns how many sessions can each get turns at the given rate per
// second, estimated from the recent length of turns. It is at least one.
func (q *Queue) Sustains(rate float64) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(1, int(load*float64(q.turns)/(rate*q.cost.Seconds())))
}

// Take waits for a turn for work that belongs to a tenant but to no session, so
// it replaces no other work. It fails with fault.Unavailable when too much work
// of the tenant waits or ctx's deadline has passed, and with ctx's error when ctx
// is cancelled.
func (q *Queue) Take(ctx context.Context, tenant uuid.UUID) (leave func(), err error) {
	leave, err = q.Enter(ctx, Party{Tenant: tenant, Session: uuid.New()})
	if errors.Is(err, context.DeadlineExceeded) {
		err = errLate
	}
	return leave, err
}

// Enter waits for a turn. The turn ends when the caller calls leave, once.
// Enter fails with ctx's error, with ErrReplaced when the same session enters
// again, or with fault.Unavailable when the tenant's line is full.
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

// measure adds the length of a turn to the mean. After the first few turns it is a
// moving mean.
func (q *Queue) measure(took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known = min(q.known+1, memory)
	q.cost = max(q.cost+(took-q.cost)/time.Duration(q.known), time.Microsecond)
}

// join puts work in line, in place of the session's waiting work. It reports
// false if the tenant's line is full.
func (q *Queue) join(p Party) (w *waiter, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[p.Tenant]
	if l != nil && q.maxWaiting > 0 && len(l.waiting) >= q.maxWaiting && l.waiting[p.Session] == nil {
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

// withdraw removes work from the line, and reports false if it no longer waits.
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

// ready adds a session to the order if it waits and has no turn.
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

// rounds orders keys. In a round each key comes at most once: a key that
// returns after its turn waits for the next round, any other joins the current
// one.
type rounds[K comparable] struct {
	present, following []K
	served             []K // keys that had a turn in this round
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

// remove removes a key, if it is there.
func (r *rounds[K]) remove(k K) {
	same := func(other K) bool { return other == k }
	r.present = slices.DeleteFunc(r.present, same)
	r.following = slices.DeleteFunc(r.following, same)
}

// next takes the first key out and reports false if there is none.
func (r *rounds[K]) next() (k K, ok bool) {
	if len(r.present) == 0 {
		r.present = r.following
		r.following = nil
		r.served = nil
	}
	if len(r.present) == 0 {
		return k, false
	}
	k, r.present = r.present[0], r.present[1:]
	r.served = append(r.served, k)
	return k, true
}
