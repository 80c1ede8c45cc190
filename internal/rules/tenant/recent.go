package tenant

import "sync"

// maxRecent is the maximum number of values in a recent. A full one is emptied.
const maxRecent = 10_000

// recent remembers what was read last. Its zero value is empty.
type recent[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]V
}

func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.values[key]
	return v, ok
}

func (r *recent[K, V]) put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil || len(r.values) >= maxRecent {
		r.values = make(map[K]V)
	}
	r.values[key] = value
}
