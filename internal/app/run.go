package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agegate/internal/rules/routine"
	"agegate/internal/rules/trail"
	"agegate/internal/rules/webhook"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Requests and webhook attempts that run may take shutdownTime once a shutdown has begun,
// and writing what is left then finishTime: together the ten seconds of configure.md.
const shutdownTime, finishTime = webhook.DrainTime, 2 * time.Second

var errEnding = errors.New("the process is about to end")

// accepting is the readiness check that fails once the process is about to end.
func (a *App) accepting(context.Context) error {
	if a.ending.Load() {
		return errEnding
	}
	return nil
}

// Run serves until ctx is done, hands over to other replicas, and then lets camera checks, requests and webhook
// attempts finish within limits. It returns nil after an orderly shutdown.
func (a *App) Run(ctx context.Context) error {
	// The process reports itself before it serves anything. While agegate database copy
	// locks the database, it cannot report, and stops.
	if err := a.heartbeat(context.WithoutCancel(ctx)); err != nil { // ctx may have ended: then it shuts down
		return errors.Join(fmt.Errorf("reporting this replica: %w", err), a.shutDown(context.WithoutCancel(ctx)))
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	work = trail.Traced(work, a.tracer)
	var workers routine.Group
	if a.api != nil {
		workers.Keep(work, "webhook deliveries", a.api.dispatcher.Run)
		if a.api.mails != nil {
			workers.Keep(work, "mail deliveries", a.api.mails.Run)
		}
	}
	workers.Keep(work, "maintenance", a.maintain)
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	routine.Go("systemd's watchdog", func() { a.feedWatchdog(watching) })
	failed := make(chan error, len(a.servers))
	for _, s := range a.servers {
		routine.Go("serving"+s.serves, func() { failed <- routine.Try(s.Serve) })
	}
	for _, s := range a.servers {
		a.log.Info("serving"+s.serves, "address", s.Addr())
	}
	a.notify(daemon.SdNotifyReady)

	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		a.handOver()
		a.drain(context.WithoutCancel(ctx))
	}
	cancel()
	a.log.Info("shutting down")
	err = errors.Join(err, a.shutDown(context.WithoutCancel(ctx)))
	err = errors.Join(err, workers.Wait())
	return errors.Join(err, a.finish(context.WithoutCancel(ctx)))
}

// finish writes the last counts and traces, and that this replica has ended.
func (a *App) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	var last routine.Group
	if a.api != nil {
		last.Start(func() error { return a.WriteRefusals(ctx) })
	}
	last.Start(func() error {
		if err := a.Insight.Leave(ctx, a.replica); err != nil {
			a.log.Error("reporting the end of this replica failed", "error", err)
		}
		return nil
	})
	if a.traces != nil {
		if err := a.traces.Shutdown(ctx); err != nil {
			a.log.Warn("the last traces were lost", "error", err)
		}
	}
	return last.Wait()
}

// Recording returns how many camera checks run in this process.
func (a *App) Recording() int {
	if a.pages == nil {
		return 0
	}
	return a.pages.shopper.Recording()
}

// handOver serves requests until load balancers have noticed that the process is not
// ready. In the second half of this time, each answer ends its connection.
func (a *App) handOver() {
	a.ending.Store(true)
	a.notify(daemon.SdNotifyStopping)
	if a.lameDuck > 0 {
		a.log.Info("not ready any more; serving what still arrives", "for", a.lameDuck)
	}
	time.Sleep(a.lameDuck / 2)
	for _, s := range a.servers {
		s.Part()
	}
	time.Sleep(a.lameDuck / 2)
}

// drain gives running camera checks some time to end. Meanwhile it serves everything except new checks.
func (a *App) drain(ctx context.Context) {
	n := a.Recording()
	if n == 0 {
		return
	}
	a.log.Info("draining: no new camera checks; waiting for those that run", "checks", n, "at_most", a.pages.drainTime)
	ctx, cancel := context.WithTimeout(ctx, a.pages.drainTime)
	defer cancel()
	_ = a.pages.shopper.Drain(ctx) // what has not ended is ended by the shutdown
}

// shutDown ends the captures and lets requests finish.
func (a *App) shutDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTime)
	defer cancel()
	var parts routine.Group
	if a.pages != nil {
		parts.Start(func() error { return a.pages.shopper.Close(ctx) })
	}
	for _, s := range a.servers {
		parts.Start(func() error { return s.Shutdown(ctx) })
	}
	return parts.Wait()
}
