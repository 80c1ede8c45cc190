package insight

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

const (
	cacheTTL = 15 * time.Second
	cacheMax = 2000 // entries
)

// cache keeps the most recently used values for cacheTTL. Callers that ask for the
// same value at the same time share one computation.
type cache[K comparable, V any] struct {
	now    func() time.Time
	values *lru.Cache[K, cached[V]]
	flight singleflight.Group
}

type cached[V any] struct {
	value V
	at    time.Time
}

func newCache[K comparable, V any](now func() time.Time) *cache[K, V] {
	values, err := lru.New[K, cached[V]](cacheMax)
	if err != nil {
		panic("insight: " + err.Error()) // New fails only for sizes below one
	}
	return &cache[K, V]{now: now, values: values}
}

// get returns the value of a key, computed by compute if it is older than cacheTTL. If that fails, it returns an
// older value with stale set, if it has one.
func (c *cache[K, V]) get(key K, name string, compute func() (V, error)) (value V, stale bool, err error) {
	kept, ok := c.values.Get(key)
	if ok && c.fresh(kept) {
		return kept.value, false, nil
	}
	result, err, _ := c.flight.Do(name, func() (any, error) {
		at := c.now()
		fresh, err := compute()
		if err == nil {
			c.values.Add(key, cached[V]{fresh, at})
		}
		return fresh, err
	})
	if err != nil && ok {
		return kept.value, true, nil
	}
	fresh, _ := result.(V) // what compute returned
	return fresh, false, err
}

func (c *cache[K, V]) fresh(kept cached[V]) bool { return c.now().Sub(kept.at) < cacheTTL }
