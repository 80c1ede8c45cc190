package billing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ReleaseBatch is the maximum number of holds that one statement releases. It is small, so that
// other transactions wait only milliseconds.
const ReleaseBatch = 100

// ReleaseExpired releases one batch of the units held by a tenant's expired sessions, in a
// transaction, and returns how many. Fewer than ReleaseBatch means that none is left. Any number of
// replicas may call it.
func ReleaseExpired(ctx context.Context, store Store, tenantID uuid.UUID, now time.Time) (n int, err error) {
	err = store.UpdateBilling(ctx, func(tx Tx) (err error) {
		n, err = release(tx, tenantID, nil, now, ReleaseBatch)
		return err
	})
	return n, err
}

// ReleaseOf releases the units that the given expired sessions of a tenant
// hold. The caller holds the sessions' locks.
func ReleaseOf(tx Tx, tenantID uuid.UUID, sessions []uuid.UUID, now time.Time) error {
	holds, err := tx.ReleaseHoldsOf(tenantID, sessions, now)
	if err != nil {
		return err
	}
	return giveBack(tx, tenantID, holds, now)
}

// release releases up to limit units that the tenant's expired sessions hold on
// a balance (nil for any), and returns how many.
func release(tx Tx, tenantID uuid.UUID, of *Balance, now time.Time, limit int) (int, error) {
	holds, err := tx.ReleaseExpiredHolds(tenantID, of, now, limit)
	if err != nil {
		return 0, err
	}
	return len(holds), giveBack(tx, tenantID, holds, now)
}

// giveBack returns the units of released holds to their balances, with one
// statement per balance, and records them in the ledger.
func giveBack(tx Tx, tenantID uuid.UUID, holds []Hold, now time.Time) error {
	units := map[Balance]int64{}
	entries := make([]Entry, len(holds))
	for i, h := range holds {
		units[Balance{h.Source, h.Period}]++
		entry, err := entryOf(h, EntryRelease, 1, now)
		if err != nil {
			return err
		}
		entries[i] = entry
	}
	for b, n := range units { // these balances are locked already
		var err error
		if b.Source == SourceFree {
			err = tx.ReturnCounter(tenantID, CounterFree, b.Period, n)
		} else {
			_, err = tx.AddCredit(tenantID, n)
		}
		if err != nil {
			return err
		}
	}
	return tx.AppendEntries(entries...)
}
