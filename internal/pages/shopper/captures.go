package shopper

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// captures are the camera checks of this process. Their number is limited: a tenant may have three quarters of them,
// and a session one. The checks that can be served at a usable rate have a place; the others wait in line. Another
// replica may run a check of the same session at the same time. The limit of attempts counts both, and the first result
// of the two counts.
type captures struct {
	limit  int           // maximum number of checks, with and without a place
	places func() int    // how many can be served now, at least one
	tenure time.Duration // time within which a check cannot be taken over
	grace  time.Duration // time for which a lost connection keeps its turn in line

	mu      sync.Mutex
	checks  map[uuid.UUID]*check // by session
	closing bool
	idle    sync.WaitGroup
}

// check is the camera check of one session, on one connection.
type check struct {
	sess   session.Session
	since  time.Time // in line since then; a connection that takes over keeps it
	opened time.Time
	link   *link                   // nil if the connection was lost
	cancel context.CancelCauseFunc // of the work on its frames
	placed bool
	news   chan int // the latest place in line, 0 for one in front of the camera
	told   int
}

// Times of the line. A lost connection frees its place at once, but if its page returns
// within the grace period, it keeps its turn in line.
const (
	tenure = time.Second
	grace  = 15 * time.Second
)

func newCaptures(limit int, places func() int) *captures {
	return &captures{limit: limit, places: places, tenure: tenure, grace: grace, checks: map[uuid.UUID]*check{}}
}

// enter registers a check. leave must be called when its handler returns. An earlier check of the same session ends,
// and the new one gets its place or its turn in line. enter reports false when no more checks are accepted, or when the
// earlier check has only just begun: pages that take over in a loop would cost much more than pages that send frames.
func (c *captures) enter(sess session.Session, l *link, cancel context.CancelCauseFunc) (k *check, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	k = &check{sess: sess, since: now, opened: now, link: l, cancel: cancel, news: make(chan int, 1), told: -1}
	old := c.checks[sess.ID]
	switch {
	case c.closing, old != nil && now.Sub(old.opened) < c.tenure, old == nil && !c.hasRoom(sess.TenantID):
		return nil, false
	case old != nil:
		k.since, k.placed = old.since, old.placed
		c.release(old, closeTakenOver, "another tab goes on")
	}
	c.checks[sess.ID] = k
	c.idle.Add(1)
	if k.placed {
		k.tell(0)
	}
	c.admit()
	return k, true
}

// leave must be called when the handler of a check returns.
func (c *captures) leave() { c.idle.Done() }

// hasRoom reports whether a tenant may have one more check.
func (c *captures) hasRoom(tenant uuid.UUID) bool {
	own := 0
	for _, k := range c.checks {
		if k.sess.TenantID == tenant {
			own++
		}
	}
	return len(c.checks) < c.limit && own < c.limit-c.limit/4
}

// end ends a check. Its place is free at once, even while the connection still closes.
func (c *captures) end(k *check, code websocket.StatusCode, reason string) {
	link := k.link
	c.mu.Lock()
	c.remove(k, code, reason)
	c.admit()
	c.mu.Unlock()
	link.close(code, reason)
}

// lose frees the place of a check whose connection was lost, or that the server could
// not serve. The check stays in line for the grace period, so that its page can return.
func (c *captures) lose(k *check, code websocket.StatusCode, reason string) {
	defer k.link.close(code, reason)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.checks[k.sess.ID] != k {
		return
	}
	lost := &check{sess: k.sess, since: k.since, news: make(chan int, 1)}
	c.checks[k.sess.ID] = lost
	time.AfterFunc(c.grace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.remove(lost, 0, "")
		c.admit()
	})
	c.admit()
}

// remove removes a check and cancels its work. The cause of the cancellation says how
// to close the connection. The caller holds c.mu.
func (c *captures) remove(k *check, code websocket.StatusCode, reason string) {
	if c.checks[k.sess.ID] != k {
		return
	}
	delete(c.checks, k.sess.ID)
	if k.cancel != nil {
		k.cancel(websocket.CloseError{Code: code, Reason: reason})
	}
}

// release removes a check and closes its connection, if there is one. The caller holds c.mu.
func (c *captures) release(k *check, code websocket.StatusCode, reason string) {
	c.remove(k, code, reason)
	if k.link != nil {
		routine.Go("closing of a camera connection", func() { k.link.close(code, reason) })
	}
}

// stop ends the check of a session, if there is one.
func (c *captures) stop(session uuid.UUID, code websocket.StatusCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.checks[session]; k != nil {
		c.release(k, code, reason)
		c.admit()
	}
}

// review assigns places that have become free, because the latest frames took less time than those before.
func (c *captures) review() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admit()
}

// admit assigns the free slots and tells each waiting page its place in line. The caller holds c.mu.
func (c *captures) admit() {
	checks := slices.Collect(maps.Values(c.checks))
	turns := make([]turn, len(checks))
	for i, k := range checks {
		turns[i] = turn{k.sess.TenantID, k.since, k.placed, k.link == nil}
	}
	for i, place := range assign(turns, max(c.places(), 1)) {
		checks[i].placed = place == 0
		checks[i].tell(place)
	}
}

// tell sends a check its place in line, in place of any earlier message that was not sent yet.
func (k *check) tell(place int) {
	if place == k.told {
		return
	}
	k.told = place
	select {
	case <-k.news:
	default:
	}
	k.news <- place
}

// load returns how many checks have a place, how many wait in line, and how many places there are now.
func (c *captures) load() (placed, waiting, places int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.checks {
		if k.placed {
			placed++
		} else {
			waiting++
		}
	}
	return placed, waiting, max(c.places(), 1)
}

// drain accepts no more checks, sends those in line away, and waits until the others have ended or ctx ends.
func (c *captures) drain(ctx context.Context) error {
	return c.leaveOpen(ctx, func(k *check) bool { return k.placed })
}

// close ends every check and waits until all have left or ctx ends.
func (c *captures) close(ctx context.Context) error {
	return c.leaveOpen(ctx, func(*check) bool { return false })
}

// leaveOpen ends the checks that may not stay, and waits until all have left or ctx ends.
func (c *captures) leaveOpen(ctx context.Context, mayStay func(*check) bool) error {
	c.mu.Lock()
	c.closing = true
	for _, k := range c.checks {
		if !mayStay(k) {
			c.release(k, websocket.StatusGoingAway, "the server is going away")
		}
	}
	c.mu.Unlock()
	left := make(chan struct{})
	routine.Go("waiting for camera checks", func() {
		c.idle.Wait()
		close(left)
	})
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
