package insight

import (
	"context"
	"slices"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

// Buckets are the exclusive upper bounds of the times counted in Tally.Decided.
// Its last element counts all longer times.
var Buckets = [5]time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second}

// Tally counts sessions.
type Tally struct {
	N       int64
	Opened  int64                   // their link was opened
	Begun   int64                   // a capture began
	Decided [len(Buckets) + 1]int64 // by time from opening to the result; see Buckets
}

// times returns the group with each number multiplied.
func (g Group) times(by int64) Group {
	g.N, g.Opened, g.Begun = by*g.N, by*g.Opened, by*g.Begun
	for i := range g.Decided {
		g.Decided[i] *= by
	}
	return g
}

// Group counts the sessions that share these properties.
type Group struct {
	Hour      int64 // of creation, since 1970, UTC
	Livemode  bool
	TargetAge int
	Status    session.Status // effective
	Source    session.Source
	Tally
}

// LedgerDay is the sum of a tenant's ledger entries of one day, kind and source.
type LedgerDay struct {
	Day    int64 // since 1970, UTC
	Kind   billing.EntryKind
	Source billing.Source
	N      int64 // entries
	Delta  int64 // units
}

// Sum identifies a table that holds the sums of folded hours or days.
type Sum string

// The tables of sums, and the time that each sum covers.
const (
	SumSessions Sum = "sessions" // sessions by the hour of their creation
	SumLedger   Sum = "ledger"   // ledger entries by day
)

// FoldStore stores the sums.
type FoldStore interface {
	// FoldedUpto returns the hour or day before which everything of a tenant has been folded, 0 if nothing has.
	FoldedUpto(ctx context.Context, sum Sum, tenantID uuid.UUID) (int64, error)
	// Unfolded returns the tenants that have something to fold before an hour or day.
	Unfolded(ctx context.Context, sum Sum, before int64) ([]uuid.UUID, error)
	// FirstUnfolded returns the hour or day, not before from, of the tenant's
	// oldest session or entry, or false when there is none before the given one.
	FirstUnfolded(ctx context.Context, sum Sum, tenantID uuid.UUID, from, before int64) (int64, bool, error)
	// CountSessions counts a tenant's sessions of both modes that were created at or after from and before to, by
	// their effective status at now. It leaves out those of session.SourceReceiver.
	CountSessions(ctx context.Context, tenantID uuid.UUID, from, to, now time.Time) ([]Group, error)
	// CountEntries adds up a tenant's ledger entries from from to before to.
	CountEntries(ctx context.Context, tenantID uuid.UUID, from, to time.Time) ([]LedgerDay, error)
	// FoldSessions stores the groups of an hour, and FoldLedger those of a day, and advance the mark past it, in one
	// transaction. They do so only if the mark is still at upto, and report whether it was.
	FoldSessions(ctx context.Context, tenantID uuid.UUID, upto, hour int64, groups []Group) (bool, error)
	FoldLedger(ctx context.Context, tenantID uuid.UUID, upto, day int64, days []LedgerDay) (bool, error)
	// SumDays returns the sums of the folded days from from to before.
	SumDays(ctx context.Context, tenantID uuid.UUID, from, before int64) ([]LedgerDay, error)
}

const (
	hour = time.Hour
	day  = 24 * time.Hour
	// closed is a margin for differences between the replicas' clocks: an hour,
	// day or session that ended longer ago than this can no longer change.
	closed = hour
)

// number returns how many whole units have passed since 1970.
func number(t time.Time, unit time.Duration) int64 { return t.Unix() / int64(unit/time.Second) }

// start returns the time at which the unit with a number starts.
func start(n int64, unit time.Duration) time.Time {
	return time.Unix(n*int64(unit/time.Second), 0).UTC()
}

// Fold folds every hour and day that can no longer change and is not folded yet. An hour can change while one of its
// sessions is open: for about two hours, and with document checks under way up to session.MaxLifetime and two hours.
// It works in one small transaction per tenant and hour, and calls rest after each, with the time at which that
// transaction began. Several replicas may run it at the same time: each hour is folded by one of them. The next run
// continues an interrupted one.
func (s *Service) Fold(ctx context.Context, rest func(since time.Time)) error {
	now := s.now()
	for _, job := range []struct {
		sum    Sum
		before int64
		fold   func(ctx context.Context, tenantID uuid.UUID, upto, n int64) (bool, error)
	}{
		{SumSessions, number(now.Add(-closed), hour), s.foldHour},
		{SumLedger, number(now.Add(-closed), day), s.foldDay},
	} {
		tenants, err := s.store.Unfolded(ctx, job.sum, job.before)
		if err != nil {
			return err
		}
		// Each tenant gets one step in turn, so that one with much to fold does not delay the others.
		for len(tenants) > 0 {
			var left []uuid.UUID
			for _, id := range tenants {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				began := time.Now()
				more, err := s.foldNext(ctx, job.sum, id, job.before, job.fold)
				if err != nil {
					return err
				}
				if more {
					left = append(left, id)
				}
				rest(began)
			}
			tenants = left
		}
	}
	return nil
}

// foldNext folds the tenant's oldest hour or day and reports whether it did.
func (s *Service) foldNext(ctx context.Context, sum Sum, tenantID uuid.UUID, before int64,
	fold func(ctx context.Context, tenantID uuid.UUID, upto, n int64) (bool, error),
) (bool, error) {
	upto, err := s.store.FoldedUpto(ctx, sum, tenantID)
	if err != nil {
		return false, err
	}
	n, ok, err := s.store.FirstUnfolded(ctx, sum, tenantID, upto, before)
	if err != nil || !ok {
		return false, err
	}
	return fold(ctx, tenantID, upto, n)
}

func (s *Service) foldHour(ctx context.Context, tenantID uuid.UUID, upto, n int64) (bool, error) {
	// Counting happens outside the transaction that stores the sums. The hour is over, and a session that is deleted
	// in between stays in the sums, as if it had been deleted after the fold.
	groups, err := s.store.CountSessions(ctx, tenantID, start(n, hour), start(n+1, hour), s.now().Add(-closed))
	open := slices.ContainsFunc(groups, func(g Group) bool { return g.Status == session.StatusPending })
	if err != nil || open {
		return false, err
	}
	return s.store.FoldSessions(ctx, tenantID, upto, n, groups)
}

func (s *Service) foldDay(ctx context.Context, tenantID uuid.UUID, upto, n int64) (bool, error) {
	days, err := s.store.CountEntries(ctx, tenantID, start(n, day), start(n+1, day))
	if err != nil {
		return false, err
	}
	return s.store.FoldLedger(ctx, tenantID, upto, n, days)
}

// count counts the scope's sessions created at or after from. It reads folded hours from their sums, added up over
// steps of the given number of hours, and counts younger hours from rows. from must be the start of a step.
func (s *Service) count(ctx context.Context, scope Scope, from, now time.Time, step int64) ([]Group, error) {
	// The mark is read first and divides the two counts, so that an hour folded between them is counted once.
	upto, err := s.store.FoldedUpto(ctx, SumSessions, scope.TenantID)
	if err != nil {
		return nil, err
	}
	first := number(from, hour)
	upto = max(upto, first)
	groups, err := s.store.SumHours(ctx, scope, first, upto, step)
	if err != nil {
		return nil, err
	}
	recent, err := s.store.CountSessions(ctx, scope.TenantID, start(upto, hour), now.Add(hour), now)
	for _, g := range recent {
		if g.Livemode == scope.Livemode {
			groups = append(groups, g)
		}
	}
	return groups, err
}

// Ledger returns the sums of a tenant's ledger by day, kind and source, from a day on (the day of from, UTC), in no
// particular order. Days that ended more than an hour ago are read from their sums.
func (s *Service) Ledger(ctx context.Context, tenantID uuid.UUID, from time.Time) ([]LedgerDay, error) {
	upto, err := s.store.FoldedUpto(ctx, SumLedger, tenantID)
	if err != nil {
		return nil, err
	}
	first := number(from, day)
	upto = max(upto, first)
	days, err := s.store.SumDays(ctx, tenantID, first, upto)
	if err != nil {
		return nil, err
	}
	recent, err := s.store.CountEntries(ctx, tenantID, start(upto, day), s.now().Add(hour))
	return append(days, recent...), err
}
