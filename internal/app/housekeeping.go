package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"
)

const (
	pruneEvery  = time.Hour
	pruneBatch  = 500
	holdsEvery  = time.Minute // creations also release expired holds when they need units
	rollupEvery = 5 * time.Minute
	flushEvery  = 5 * time.Second
	alertEvery  = 5 * time.Minute
	listsEvery  = 5 * time.Minute // looks which lists are due; each is fetched every few hours
	endedEvery  = time.Hour
	httpsEvery  = 15 * time.Second // looks for new certificates and for those to renew
)

// maintain keeps the database in order until ctx ends. It runs on every replica that serves the API, in small steps
// beside the traffic. Other replicas only report that they are alive.
func (a *App) maintain(ctx context.Context) {
	var jobs routine.Group
	defer func() { _ = jobs.Wait() }() // repeat returns no error
	repeat := func(period time.Duration, failed string, job func(context.Context) error) {
		jobs.Start(func() error { a.repeat(ctx, period, failed, job); return nil })
	}
	repeat(insight.HeartbeatEvery, "reporting this replica failed", a.heartbeat)
	if a.https != nil {
		repeat(httpsEvery, "looking for a new certificate failed", a.https.Look)
	}
	if a.api == nil {
		return
	}
	repeat(pruneEvery, "deleting expired idempotency keys failed", a.inBatches(a.Store.PruneClaims))
	repeat(holdsEvery, "releasing expired holds failed", a.releaseHolds)
	repeat(pruneEvery, "deleting old log-ins and links failed", a.inBatches(a.Store.PruneAccounts))
	repeat(rollupEvery, "updating the rollups of figures failed", func(ctx context.Context) error {
		return a.Insight.Fold(ctx, func(since time.Time) { _ = routine.Rest(ctx, since) })
	})
	repeat(flushEvery, "writing refusals failed", a.WriteRefusals)
	repeat(pruneEvery, "deleting old refusals failed", a.inBatches(a.Insight.PruneRefusals))
	repeat(listsEvery, "updating published lists of issuers failed", a.api.lists.SyncDue)
	repeat(endedEvery, "looking for ended certificates failed", a.tellEnded)
	if a.api.alerts != nil {
		repeat(alertEvery, "sending alerts failed", a.api.alerts.look)
	}
	if a.retention > 0 {
		repeat(pruneEvery, "deleting old sessions failed", a.pruneSessions)
	}
}

// repeat runs job at once and then about once per period, varied by a fifth so
// that replicas started together drift apart.
func (a *App) repeat(ctx context.Context, period time.Duration, failed string, job func(context.Context) error) {
	for ctx.Err() == nil {
		if err := routine.Try(func() error { return job(ctx) }); err != nil && ctx.Err() == nil {
			a.log.LogAttrs(ctx, slog.LevelError, failed, slog.Any("error", err), fault.Stack(err))
		}
		_ = routine.Wait(ctx, period*4/5+rand.N(period*2/5)) //nolint:gosec // spreading load, not a secret
	}
}

// inBatches returns a job that calls remove until a call deletes less than its limit, and rests after each call.
func (a *App) inBatches(remove func(ctx context.Context, now time.Time, limit int) (int, error),
) func(context.Context) error {
	return func(ctx context.Context) error {
		for ctx.Err() == nil {
			start := time.Now()
			n, err := remove(ctx, a.now(), pruneBatch)
			if err != nil || n < pruneBatch {
				return err
			}
			_ = routine.Rest(ctx, start)
		}
		return nil
	}
}

// pruneSessions deletes all tenants' sessions past their retention. If it fails
// for one tenant, it continues with the others.
func (a *App) pruneSessions(ctx context.Context) error {
	records, before := session.NewRecords(a.Store, a.now), a.now().Add(-a.retention)
	var failed []error
	for batch, err := range a.Tenants.All(ctx) {
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, t := range batch {
			total, err := records.Prune(ctx, audit.System("retention"), t.ID, before, func(session.Pruned) {})
			if err != nil {
				failed = append(failed, fmt.Errorf("tenant %s: %w", t.ID, err))
			}
			if total.Deleted > 0 {
				a.log.Info("old sessions deleted", "tenant_id", t.ID, "sessions", total.Deleted)
			}
		}
	}
	return errors.Join(failed...)
}

// releaseHolds releases the units of all expired sessions. It repeats rounds of one batch per tenant, in random
// order, until none is left. If it fails for one tenant, it continues with the others.
func (a *App) releaseHolds(ctx context.Context) error {
	failed := map[uuid.UUID]error{}
	for more := true; more && ctx.Err() == nil; {
		more = false
		tenants, err := a.Store.ExpiredHolders(ctx, a.now())
		if err != nil {
			return err
		}
		//nolint:gosec // fairness, not a secret
		rand.Shuffle(len(tenants), func(i, j int) { tenants[i], tenants[j] = tenants[j], tenants[i] })
		for _, id := range tenants {
			if failed[id] != nil {
				continue
			}
			start := time.Now()
			n, err := billing.ReleaseExpired(ctx, a.Store, id, a.now())
			if err != nil {
				failed[id] = fmt.Errorf("tenant %s: %w", id, err)
			}
			more = more || n == billing.ReleaseBatch
			_ = routine.Rest(ctx, start)
		}
	}
	return errors.Join(slices.Collect(maps.Values(failed))...)
}
