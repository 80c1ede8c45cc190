package web

import (
	"context"
	"sync"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// captures are the camera checks of this process: a bounded number of them,
// and one for each session. A second replica may run one more for the same
// session; the limit of attempts and the first result hold for both.
type captures struct {
	limit int

	mu      sync.Mutex
	open    map[*link]uuid.UUID
	closing bool
	idle    sync.WaitGroup
}

func newCaptures(limit int) *captures {
	return &captures{limit: limit, open: map[*link]uuid.UUID{}}
}

// enter registers a check and ends an earlier one of the same session, whose
// tab is told. It reports false when no more can be taken.
func (c *captures) enter(id uuid.UUID, l *link) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || len(c.open) >= c.limit {
		return nil, false
	}
	for other, session := range c.open {
		if session == id {
			go other.end(closeTakenOver, "another tab goes on")
		}
	}
	c.open[l] = id
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
