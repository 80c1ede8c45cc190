package shopper

import (
	"context"
	"sync"

	"agegate/internal/session"

	"github.com/coder/websocket"
)

// captures are the camera checks of this process: a bounded number of them, a
// quarter of which no single tenant can take, and one for each session. A
// second replica may run one more for the same session; the limit of attempts
// and the first result hold for both.
type captures struct {
	limit int

	mu      sync.Mutex
	open    map[*link]session.Session
	closing bool
	idle    sync.WaitGroup
}

func newCaptures(limit int) *captures {
	return &captures{limit: limit, open: map[*link]session.Session{}}
}

// enter registers a check. It ends an earlier one of the same session, whose
// tab is told and whose place is free at once, however slowly it leaves. It
// reports false when no more can be taken.
func (c *captures) enter(sess session.Session, l *link) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil, false
	}
	held := 0 // by the tenant
	for other, its := range c.open {
		switch {
		case its.ID == sess.ID:
			delete(c.open, other)
			go other.end(closeTakenOver, "another tab goes on")
		case its.TenantID == sess.TenantID:
			held++
		}
	}
	if len(c.open) >= c.limit || held >= c.limit-c.limit/4 {
		return nil, false
	}
	c.open[l] = sess
	c.idle.Add(1)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, l)
		c.idle.Done()
	}, true
}

// close ends every check and waits until all have left or ctx ends.
func (c *captures) close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	for l := range c.open {
		go l.end(websocket.StatusGoingAway, "the server is going away")
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
