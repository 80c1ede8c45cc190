// Package gather lets simultaneous calls share work: calls that arrive while a
// call with the same key is running are served together by the next run. A single
// call does not wait. Every run begins after all the calls that it serves have
// arrived, so the data that it reads is not older than they are.
package gather

import (
	"context"
	"errors"
	"sync"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/routine"
)

// retryAfter is the wait suggested to callers who were not served in time.
const retryAfter = 5 * time.Second

// Group collects calls with a value V by a key K, and gives all calls that share
// a run the same result R. It is safe for concurrent use.
type Group[K comparable, V, R any] struct {
	run       func(ctx context.Context, key K, values []V) (R, error)
	maxValues int

	mu      sync.Mutex
	waiting map[K][]*call[V, R] // the waiting calls of each key with a run under way
}

// call is a call that waits for a run.
type call[V, R any] struct {
	ctx    context.Context
	value  V
	done   chan struct{} // closed when result and err are set
	result R
	err    error
}

// New returns a group whose runs serve at most maxValues calls each. A run for one call
// uses the context of that call. A run for several calls has a context of its own,
// which none of them can cancel. If a run panics, the calls that had to wait for it get
// a fault.PanicError.
func New[K comparable, V, R any](
	maxValues int, run func(ctx context.Context, key K, values []V) (R, error),
) *Group[K, V, R] {
	return &Group[K, V, R]{run: run, maxValues: maxValues, waiting: map[K][]*call[V, R]{}}
}

// Do runs the group's function with the value, possibly together with other
// values. It returns early if the context ends: with fault.Unavailable after its
// deadline, otherwise with the context's error. A run may still use the value
// afterwards.
func (g *Group[K, V, R]) Do(ctx context.Context, key K, value V) (R, error) {
	g.mu.Lock()
	if _, busy := g.waiting[key]; !busy {
		g.waiting[key] = nil
		g.mu.Unlock()
		defer g.next(key)
		return g.run(ctx, key, []V{value})
	}
	c := &call[V, R]{ctx: ctx, value: value, done: make(chan struct{})}
	g.waiting[key] = append(g.waiting[key], c)
	g.mu.Unlock()
	select {
	case <-c.done:
		return c.result, c.err
	case <-ctx.Done():
		var none R
		return none, ended(ctx.Err())
	}
}

// ended returns the error for a context that has ended: fault.Unavailable after
// its deadline.
func ended(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, "Its turn did not come in time").After(retryAfter)
}

// next begins the next run of a key, if a call waits.
func (g *Group[K, V, R]) next(key K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := g.waiting[key]
	n := min(len(calls), g.maxValues)
	if n == 0 {
		delete(g.waiting, key)
		return
	}
	g.waiting[key] = calls[n:]
	routine.Go("batch", func() { g.serve(key, calls[:n]) })
}

// serve runs the function for the calls that have not given up.
func (g *Group[K, V, R]) serve(key K, calls []*call[V, R]) {
	defer g.next(key)
	var present []*call[V, R]
	var values []V
	for _, c := range calls {
		if c.ctx.Err() == nil {
			present, values = append(present, c), append(values, c.value)
		}
	}
	if len(present) == 0 {
		return
	}
	var result R
	err := routine.Try(func() (err error) {
		result, err = g.run(context.WithoutCancel(present[0].ctx), key, values)
		return err
	})
	for _, c := range present {
		c.result, c.err = result, err
		close(c.done)
	}
}
