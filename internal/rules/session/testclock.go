package session

import (
	"context"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// expiredFor is how long ago the test clock lets a token expire. It is longer than the
// difference of clocks that shops allow for.
const expiredFor = time.Minute

// Refusals of the test clock.
var (
	ErrLiveClock    = fault.New(fault.Conflict, "the test clock is for test sessions only")
	ErrNotOpen      = fault.New(fault.Conflict, "the session is no longer open")
	ErrNoRedirect   = fault.New(fault.Conflict, "the session makes no further redirect")
	errClockChanged = fault.New(fault.Conflict, "the session has changed meanwhile: try again")
)

// ClockStore stores the sessions that the test clock changes.
type ClockStore interface {
	// UpdateClock runs fn in one transaction.
	UpdateClock(ctx context.Context, fn func(ClockTx) error) error
}

// ClockTx is one transaction of the test clock.
type ClockTx interface {
	audit.Tx
	// LockSession is Tx.LockSession.
	LockSession(id uuid.UUID) (Session, error)
	// MoveExpiry moves the expiry of a test session to now if it is open. It
	// reports whether it did.
	MoveExpiry(id uuid.UUID, now time.Time) (bool, error)
	// ExpireNextRedirect sets NextRedirectExpired of a test session. It reports
	// whether it did.
	ExpireNextRedirect(id uuid.UUID) (bool, error)
}

// TestClock lets a merchant test expiry without waiting: it moves a session's
// expiry, or that of the next redirect token, and nothing else. It refuses live
// sessions. It may run while gateways serve the same database.
type TestClock struct {
	store ClockStore
	now   func() time.Time
}

// NewTestClock returns the test clock over a store. now must return UTC in whole
// microseconds.
func NewTestClock(store ClockStore, now func() time.Time) *TestClock {
	return &TestClock{store: store, now: now}
}

// Expire moves the expiry of an open test session to now. It does not write the
// status: the next lookup writes EXPIRED, as for every session. Expire returns
// fault.NotFound for a session that is not in the scope, ErrLiveClock, and
// ErrNotOpen.
func (c *TestClock) Expire(ctx context.Context, actor audit.Actor, scope webhook.Scope, id uuid.UUID) error {
	return c.turn(ctx, actor, scope, id, audit.SessionExpire, func(tx ClockTx, s Session, now time.Time) (bool, error) {
		if s.StatusAt(now) != StatusPending {
			return false, ErrNotOpen
		}
		return tx.MoveExpiry(id, now)
	})
}

// ExpireNextRedirect gives the next redirect of a test session an expired token;
// later redirects are normal again. It returns the errors of Expire, with
// ErrNoRedirect in place of ErrNotOpen.
func (c *TestClock) ExpireNextRedirect(
	ctx context.Context, actor audit.Actor, scope webhook.Scope, id uuid.UUID,
) error {
	return c.turn(ctx, actor, scope, id, audit.SessionExpireRedirect,
		func(tx ClockTx, s Session, now time.Time) (bool, error) {
			if !s.MayRedirect(now) {
				return false, ErrNoRedirect
			}
			return tx.ExpireNextRedirect(id)
		})
}

// MayRedirect reports whether the session can still make a success redirect.
func (s Session) MayRedirect(now time.Time) bool {
	if s.Status == StatusPassed {
		return s.CompletedAt != nil && !now.After(s.CompletedAt.Add(RedirectGrace))
	}
	return s.StatusAt(now) == StatusPending
}

// turn changes a test session of the scope and writes the entry, in one
// transaction.
func (c *TestClock) turn(
	ctx context.Context, actor audit.Actor, scope webhook.Scope, id uuid.UUID, action audit.Action,
	change func(ClockTx, Session, time.Time) (bool, error),
) error {
	return c.store.UpdateClock(ctx, func(tx ClockTx) error {
		s, err := tx.LockSession(id)
		if err != nil {
			return notFoundAs(err, errNotFound)
		}
		if !within(scope, s) {
			return errNotFound
		}
		if s.Livemode {
			return ErrLiveClock
		}
		now := c.now()
		changed, err := change(tx, s, now)
		if err != nil {
			return err
		}
		if !changed {
			return errClockChanged
		}
		return tx.AppendAudit(audit.Act{Scope: audit.OfTenant(s.TenantID), At: now, Actor: actor, Action: action,
			Target: id.String()})
	})
}

// within reports whether a session is in the scope.
func within(scope webhook.Scope, s Session) bool {
	tenantID, all := scope.Tenant()
	livemode := scope.Livemode()
	return (all || s.TenantID == tenantID) && (livemode == nil || s.Livemode == *livemode)
}
