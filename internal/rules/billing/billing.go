// Package billing accounts for checks. A live session costs one unit, taken from the month's free allowance first and
// from prepaid credit next. The unit is held when the session is created, settled when it completes, and released
// when it expires unfinished. Test sessions cost nothing and count against a daily cap.
package billing

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Unlimited as the value of a limit means that there is no limit.
const Unlimited = -1

// MaxTopUp is the maximum number of units of one top-up. It prevents a typing mistake from coming near the limit of a
// 64-bit integer, beyond which SQLite switches to floating point.
const MaxTopUp = 1_000_000_000

// Counter names a per-tenant count of units in a period.
type Counter string

// The counters and their periods.
const (
	CounterFree Counter = "free" // period: UTC month, 2006-01
	CounterTest Counter = "test" // period: UTC day, 2006-01-02
)

// Source is the balance from which a held unit was taken.
type Source string

// The sources of a unit.
const (
	SourceFree   Source = "free"
	SourceCredit Source = "credit"
)

// Balance identifies the balance from which units are taken: a month's free allowance, or the prepaid credit.
type Balance struct {
	Source Source
	Period string // the month, 2006-01; empty for credit
}

// Hold is the unit that a live session has reserved.
type Hold struct {
	SessionID uuid.UUID
	TenantID  uuid.UUID
	Source    Source
	Period    string    // the month of the allowance; empty for credit
	ExpiresAt time.Time // the session's own expiry
}

// EntryKind is the kind of a ledger entry.
type EntryKind string

// The kinds of ledger entry, with the delta each one carries.
const (
	EntryTopUp   EntryKind = "top_up"  // +n credit, or -n to correct an earlier one
	EntryHold    EntryKind = "hold"    // -1
	EntryRelease EntryKind = "release" // +1
	EntrySettle  EntryKind = "settle"  // 0; the held unit is spent
)

// Entry is one line of the ledger, which only SumUp replaces. The deltas of a tenant's credit entries add up to its
// balance; those of its free entries of a period add up to minus the allowance used.
type Entry struct {
	ID        uuid.UUID  `json:"id"`
	TenantID  uuid.UUID  `json:"tenant_id"`
	SessionID *uuid.UUID `json:"session_id"` // nil for a top-up and for archived entries
	Kind      EntryKind  `json:"kind"`
	Source    Source     `json:"source"`
	Period    string     `json:"month"`
	Delta     int64      `json:"units"`
	CreatedAt time.Time  `json:"time"`
}

// Tx is the part of a transaction that billing uses. Locks are always taken in the same order, so that transactions
// do not deadlock: sessions, then the tenant's counters by period, then its credit. A hold is settled and extended
// under the lock of its session, and released under the lock of its balance.
type Tx interface {
	// TakeCounter adds n (1 or more) to the quota's counter unless that would
	// exceed its limit, and reports whether it did.
	TakeCounter(q Quota, n int64) (bool, error)
	// ReturnCounter subtracts n, but not below zero.
	ReturnCounter(tenantID uuid.UUID, c Counter, period string, n int64) error
	// AddCredit changes the balance by delta unless it would fall below zero, and reports whether it did.
	AddCredit(tenantID uuid.UUID, delta int64) (bool, error)
	InsertHolds(holds ...Hold) error
	// SettleHold marks the session's open hold as spent and returns it, or false if none is open.
	SettleHold(sessionID uuid.UUID) (Hold, bool, error)
	// ExtendHold moves the expiry of the session's open hold and reports whether there was one.
	ExtendHold(sessionID uuid.UUID, expiresAt time.Time) (bool, error)
	// ReleaseExpiredHolds releases up to limit of the tenant's open holds that expired at or before now, and returns
	// them, the earliest expiry first. The caller returns the units to their balances. If of is not nil, only holds on
	// that balance are released. The balances are locked first: a caller that finds no expired hold therefore sees the
	// units of all earlier releases. Holds that another transaction is settling or extending are skipped.
	ReleaseExpiredHolds(tenantID uuid.UUID, of *Balance, now time.Time, limit int) ([]Hold, error)
	// ReleaseHoldsOf does the same for the given sessions of the tenant. The caller holds their locks.
	ReleaseHoldsOf(tenantID uuid.UUID, sessions []uuid.UUID, now time.Time) ([]Hold, error)
	AppendEntries(entries ...Entry) error
}

// CreditTx is the part of a transaction that a top-up uses.
type CreditTx interface {
	Tx
	audit.Tx
	// Credit returns the balance as Store.Credit does, with the transaction's changes.
	Credit(tenantID uuid.UUID) (int64, error)
	// HasEntry reports whether the ledger has an entry.
	HasEntry(id uuid.UUID) (bool, error)
}

// Store is the part of a store that billing uses outside sessions' transactions.
type Store interface {
	// UpdateBilling runs fn in one transaction.
	UpdateBilling(ctx context.Context, fn func(Tx) error) error
	// UpdateCredit runs fn in one transaction.
	UpdateCredit(ctx context.Context, fn func(CreditTx) error) error
	// Credit returns the prepaid balance, zero for a tenant that never had any.
	Credit(ctx context.Context, tenantID uuid.UUID) (int64, error)
	// Entries returns at most limit entries of a tenant's ledger, newest first, starting after the one with the given
	// ID; uuid.Nil starts at the newest. It returns fault.NotFound for the ID of no entry of the tenant.
	Entries(ctx context.Context, tenantID, before uuid.UUID, limit int) ([]Entry, error)
	// EntriesBetween returns at most limit entries of a tenant created at or after from and before to, oldest first,
	// after the given entry; the zero Entry starts at the oldest.
	EntriesBetween(ctx context.Context, tenantID uuid.UUID, from, to time.Time, after Entry, limit int) ([]Entry, error)
	// ReplaceEntries replaces those of the given entries that are there and have a session, and the
	// entries that have the IDs of what by returns for them, by what by returns for all of these, with
	// the act unless it is nil. It returns how many were there; if none was, it does nothing. It is one
	// transaction. If the entries of a balance would then add up to something else, it fails.
	ReplaceEntries(ctx context.Context, ids []uuid.UUID, by func([]Entry) []Entry, act *audit.Act) (int, error)
}

// MaxPage is how many entries a caller reads in one query.
const MaxPage = 500

// Settle spends the unit of a live session that completed, inside the transaction that completes it. It reports false
// when the hold is gone: the session expired and another one has the unit, so the caller rolls back.
func Settle(tx Tx, sessionID uuid.UUID, now time.Time) (bool, error) {
	hold, ok, err := tx.SettleHold(sessionID)
	if err != nil || !ok {
		return false, err
	}
	entry, err := entryOf(hold, EntrySettle, 0, now)
	if err != nil {
		return true, err
	}
	return true, tx.AppendEntries(entry)
}

// The rules of corrections.
var (
	ErrSpent   = fault.New(fault.Invalid, "so many units are not left: the others are held or spent")
	ErrUnnoted = fault.New(fault.Invalid, "taking units back needs a note")
)

// TopUp adds n (1 to MaxTopUp) units of prepaid credit, with an entry of the tenant's audit log, and returns the new
// balance. The note goes into the entry; it may be empty. A negative n corrects an earlier top-up: it takes units
// back that are neither held nor spent, or returns ErrSpent, and ErrUnnoted without a note. TopUp returns
// fault.Invalid for any other n, and with the field note for one that breaks audit.CheckNote. With any error but
// fault.Unavailable, nothing was booked.
func TopUp(
	ctx context.Context, store Store, actor audit.Actor, tenantID uuid.UUID, n int64, note string, now time.Time,
) (int64, error) {
	switch {
	case n == 0 || n > MaxTopUp || n < -MaxTopUp:
		return 0, fault.New(fault.Invalid, fmt.Sprintf("credit must be from 1 to %d, or negative to take it back", MaxTopUp))
	case n < 0 && note == "":
		return 0, ErrUnnoted
	}
	if err := audit.CheckNote(note); err != nil {
		return 0, fault.InvalidFields(fault.FieldError{Field: "note", Err: err})
	}
	act := audit.Act{
		Scope: audit.OfTenant(tenantID), At: now, Actor: actor, Action: audit.CreditAdd, Target: tenantID.String(),
		Detail: audit.Detail{Params: audit.WithNote(map[string]string{"units": strconv.FormatInt(n, 10)}, "note", note)},
	}
	id, err := uuid.NewV7()
	if err != nil {
		return 0, err
	}
	book := func(tx CreditTx) error {
		add := func() (bool, error) { return tx.AddCredit(tenantID, n) }
		if n < 0 {
			add = func() (bool, error) { return Limits{}.takeCredit(tx, Charge{TenantID: tenantID, Now: now}, -n) }
		}
		ok, err := add()
		if err == nil && !ok {
			err = ErrSpent
		}
		if err != nil {
			return err
		}
		err = tx.AppendEntries(Entry{
			ID: id, TenantID: tenantID, Kind: EntryTopUp, Source: SourceCredit, Delta: n, CreatedAt: now,
		})
		if err != nil {
			return err
		}
		return tx.AppendAudit(act)
	}
	balance, err := bookOnce(ctx, store, tenantID, id, book)
	if code := fault.CodeOf(err); code == fault.Unavailable || code == fault.Conflict {
		// A failed COMMIT may have taken effect, perhaps only now.
		balance, err = bookOnce(ctx, store, tenantID, id, book)
	}
	if fault.CodeOf(err) == fault.Unavailable {
		return 0, fault.Wrap(err, fault.Unavailable,
			"Nobody can say yet whether the credit was booked: look at the ledger first")
	}
	return balance, err
}

// bookOnce runs book, unless the entry with this ID is in the ledger, and returns
// the balance, all in one transaction.
func bookOnce(
	ctx context.Context, store Store, tenantID, id uuid.UUID, book func(CreditTx) error,
) (balance int64, err error) {
	err = store.UpdateCredit(ctx, func(tx CreditTx) error {
		booked, err := tx.HasEntry(id)
		if err == nil && !booked {
			err = book(tx)
		}
		if err != nil {
			return err
		}
		balance, err = tx.Credit(tenantID)
		return err
	})
	return balance, err
}

// entryOf returns a ledger entry about a hold.
func entryOf(h Hold, kind EntryKind, delta int64, now time.Time) (Entry, error) {
	id, err := uuid.NewV7()
	return Entry{
		ID: id, TenantID: h.TenantID, SessionID: &h.SessionID, Kind: kind,
		Source: h.Source, Period: h.Period, Delta: delta, CreatedAt: now,
	}, err
}
