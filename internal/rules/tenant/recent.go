package tenant

import (
	"sync"

	"github.com/google/uuid"
)

// maxCachedTerms bounds a termsCache, which is emptied when it is full.
const maxCachedTerms = 10_000

// termsCache holds the terms of tenants as they were last read.
type termsCache struct {
	mu    sync.Mutex
	terms map[uuid.UUID]Terms
}

func (c *termsCache) get(id uuid.UUID) (Terms, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.terms[id]
	return t, ok
}

func (c *termsCache) put(id uuid.UUID, t Terms) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.terms == nil || len(c.terms) >= maxCachedTerms {
		c.terms = make(map[uuid.UUID]Terms)
	}
	c.terms[id] = t
}
