// Package routine starts the goroutines of the gateway. A panic on a goroutine
// that nobody recovers ends the process, and with it every camera check, so no
// other package of the gateway uses the go statement.
package routine

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"agegate/internal/rules/fault"
)

// restart is the pause before a function of Keep is called again after a panic.
const restart = time.Second

// Try calls fn and returns its error, or its panic as an error.
func Try(fn func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fault.Recovered(value)
		}
	}()
	return fn()
}

// Go runs fn on a new goroutine. A panic is written to the default logger with
// the name of what fn does; then the goroutine ends.
func Go(name string, fn func()) {
	go run(name, fn)
}

// run calls fn and reports whether it returned without a panic.
func run(name string, fn func()) bool {
	err := Try(func() error { fn(); return nil })
	if err != nil {
		slog.LogAttrs(context.Background(), slog.LevelError, "a panic was recovered",
			slog.String("in", name), slog.Any("error", err), fault.Stack(err))
	}
	return err == nil
}

// Group runs functions side by side. Its zero value is ready for use.
type Group struct {
	group errgroup.Group
}

// Start runs fn on a new goroutine. A panic becomes its error.
func (g *Group) Start(fn func() error) { g.group.Go(func() error { return Try(fn) }) }

// Wait waits for all functions and returns the first error.
func (g *Group) Wait() error { return g.group.Wait() }

// Keep runs fn on a new goroutine until fn returns. After a panic, which is
// logged as by Go, fn is called again, unless ctx has ended.
func (g *Group) Keep(ctx context.Context, name string, fn func(context.Context)) {
	g.group.Go(func() error {
		for !run(name, func() { fn(ctx) }) && ctx.Err() == nil {
			_ = Wait(ctx, restart)
		}
		return nil
	})
}

// Wait waits for a time, or until ctx ends, and returns the error of ctx.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}

// Rest waits for as long as has passed since start, so that a job uses the database at
// most half of the time. It returns the error of ctx.
func Rest(ctx context.Context, start time.Time) error { return Wait(ctx, time.Since(start)) }
