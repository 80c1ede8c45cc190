package shopper

import (
	"context"
	"sync"
	"time"

	"agegate/internal/session"

	"github.com/coder/websocket"
)

// captures are the camera checks of this process: a bounded number of them, a
// quarter of which no single tenant can take, and one for each session. A
// second replica may run one more for the same session; the limit of attempts
// and the first result hold for both.
type captures struct {
	limit  int
	tenure time.Duration // within which a check is not taken over

	mu      sync.Mutex
	open    map[*link]place
	closing bool
	idle    sync.WaitGroup
}

// place is what a check occupies.
type place struct {
	sess   session.Session
	since  time.Time
	cancel context.CancelCauseFunc // of the work on its frames
}

func newCaptures(limit int) *captures {
	return &captures{limit: limit, tenure: time.Second, open: map[*link]place{}}
}

// enter registers a check; leave must be called when its handler returns. An
// earlier check of the same session ends: its work is cancelled, its tab is
// told, and its place is free at once. It reports false when no more checks
// can be taken, or when the earlier one has only begun: a page that takes over
// in a loop would cost much more than one that sends frames.
func (c *captures) enter(sess session.Session, l *link, cancel context.CancelCauseFunc) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil, false
	}
	held := 0 // by the tenant
	for other, its := range c.open {
		switch {
		case its.sess.ID == sess.ID && time.Since(its.since) < c.tenure:
			return nil, false
		case its.sess.ID == sess.ID:
			c.release(other, closeTakenOver, "another tab goes on")
			go other.close(closeTakenOver, "another tab goes on")
		case its.sess.TenantID == sess.TenantID:
			held++
		}
	}
	if len(c.open) >= c.limit || held >= c.limit-c.limit/4 {
		return nil, false
	}
	c.open[l] = place{sess, time.Now(), cancel}
	c.idle.Add(1)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, l)
		c.idle.Done()
	}, true
}

// end ends a check. Its place is free at once, however slowly the peer lets go
// of the connection.
func (c *captures) end(l *link, code websocket.StatusCode, reason string) {
	c.mu.Lock()
	c.release(l, code, reason)
	c.mu.Unlock()
	l.close(code, reason)
}

// release frees a check's place and cancels its work; the cause says how the
// connection is closed. c.mu is held.
func (c *captures) release(l *link, code websocket.StatusCode, reason string) {
	if its, ok := c.open[l]; ok {
		delete(c.open, l)
		its.cancel(websocket.CloseError{Code: code, Reason: reason})
	}
}

// close ends every check and waits until all have left or ctx ends.
func (c *captures) close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	for l := range c.open {
		c.release(l, websocket.StatusGoingAway, "the server is going away")
		go l.close(websocket.StatusGoingAway, "the server is going away")
	}
	c.mu.Unlock()
	left := make(chan struct{})
	go func() {
		c.idle.Wait()
		close(left)
	}()
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
