package insight

import (
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	cacheTTL = 15 * time.Second
	cacheMax = 2000 // entries
)

// cache keeps computed values for cacheTTL. One value is computed once at a
// time, however many ask for it.
type cache[K comparable, V any] struct {
	now    func() time.Time
	mu     sync.Mutex
	values map[K]cached[V]
	flight singleflight.Group
}

type cached[V any] struct {
	value V
	at    time.Time
}

func newCache[K comparable, V any](now func() time.Time) *cache[K, V] {
	return &cache[K, V]{now: now, values: map[K]cached[V]{}}
}

// get returns the value of a key, computed by compute if it is older than
// cacheTTL. If that fails, an older value is better than none: it is returned
// with stale set.
func (c *cache[K, V]) get(key K, name string, compute func() (V, error)) (value V, stale bool, err error) {
	kept, ok := c.kept(key)
	if ok && c.fresh(kept) {
		return kept.value, false, nil
	}
	result, err, _ := c.flight.Do(name, func() (any, error) {
		at := c.now()
		fresh, err := compute()
		if err == nil {
			c.put(key, cached[V]{fresh, at})
		}
		return fresh, err
	})
	if err != nil && ok {
		return kept.value, true, nil
	}
	fresh, _ := result.(V) // what compute returned
	return fresh, false, err
}

// kept returns the newest value of a key, however old it is.
func (c *cache[K, V]) kept(key K) (cached[V], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.values[key]
	return kept, ok
}

func (c *cache[K, V]) fresh(kept cached[V]) bool { return c.now().Sub(kept.at) < cacheTTL }

// put stores a value. A full cache is emptied first.
func (c *cache[K, V]) put(key K, v cached[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.values) >= cacheMax {
		clear(c.values)
	}
	c.values[key] = v
}
