package billing

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/fault"
)

// Limits holds the operator's defaults.
type Limits struct {
	FreeChecksPerMonth int64 // Unlimited or 0 and up
	TestDailyCap       int64 // Unlimited or 0 and up
	// maximum number of expired holds that Take releases in one statement; 0 for the constant ReleaseBatch
	ReleaseBatch int
}

// Charge describes new sessions of one tenant and mode that each cost a unit.
type Charge struct {
	TenantID   uuid.UUID
	Sessions   []uuid.UUID
	Livemode   bool
	FreeChecks *int64 // the tenant's own allowance, nil for the default
	TestCap    *int64 // the tenant's own daily cap of test sessions, nil for the default
	Now        time.Time
	ExpiresAt  time.Time // of the sessions
}

// Quota is how many sessions of a mode a tenant may create in a period: the month's free
// allowance or the day's cap of test sessions.
type Quota struct {
	TenantID uuid.UUID
	Livemode bool
	Period   string // the UTC month of a live session, the UTC day of a test one
	Limit    int64  // units of the period, or Unlimited
}

// Counter names the counter of the quota's units.
func (q Quota) Counter() Counter {
	if q.Livemode {
		return CounterFree
	}
	return CounterTest
}

// Day returns the name of a time's UTC day, the period in which test sessions are counted.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// quota returns the quota that a charge counts against.
func (l Limits) quota(c Charge) Quota {
	if c.Livemode {
		return Quota{c.TenantID, true, c.Now.UTC().Format("2006-01"), valueOr(c.FreeChecks, l.FreeChecksPerMonth)}
	}
	return Quota{c.TenantID, false, Day(c.Now), valueOr(c.TestCap, l.TestDailyCap)}
}

func valueOr(own *int64, common int64) int64 {
	if own != nil {
		return *own
	}
	return common
}

// Take reserves a unit for each session, inside the transaction that inserts them, and returns for
// how many of them, from the first on, a unit was left. The caller refuses the others with Refusal
// and does not keep them.
func (l Limits) Take(tx Tx, c Charge) (int, error) {
	wanted, quota := int64(len(c.Sessions)), l.quota(c)
	if !c.Livemode {
		n, err := upTo(wanted, func(n int64) (bool, error) { return tx.TakeCounter(quota, n) })
		return int(n), err
	}
	free, err := upTo(wanted, func(n int64) (bool, error) { return l.takeFree(tx, c, quota, n) })
	if err != nil {
		return 0, err
	}
	credit, err := upTo(wanted-free, func(n int64) (bool, error) { return l.takeCredit(tx, c, n) })
	if err != nil {
		return 0, err
	}
	paid := int(free + credit)
	return paid, hold(tx, c, paid, int(free), quota.Period)
}

// Refusal returns the fault for a session for which no unit is left.
func (c Charge) Refusal() *fault.Error {
	if c.Livemode {
		return fault.New(fault.InsufficientFunds,
			"No free check is left this month and the prepaid credit is used up. Top up to resume verifications.")
	}
	midnight := c.Now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	return fault.New(fault.TooMany, "Test session daily cap reached").After(midnight.Sub(c.Now))
}

// upTo takes n units, or as many as are left, and returns how many. take takes a number of units or
// none: if it cannot take all at once, half as many are tried, down to one.
func upTo(n int64, take func(n int64) (bool, error)) (taken int64, err error) {
	for step := n; step > 0; {
		ok, err := take(step)
		switch {
		case err != nil:
			return 0, err
		case ok:
			taken += step
			step = min(step, n-taken)
		default:
			step /= 2
		}
	}
	return taken, nil
}

// maxRounds limits how many batches one creation releases. It needs more than one only if the
// allowance was lowered far below the units in use.
const maxRounds = 5

// takeFree takes units of the month's allowance. If too few are left, it first releases the holds of
// expired sessions.
func (l Limits) takeFree(tx Tx, c Charge, quota Quota, n int64) (bool, error) {
	for range maxRounds {
		ok, err := tx.TakeCounter(quota, n)
		if err != nil || ok {
			return ok, err
		}
		released, err := release(tx, c.TenantID, &Balance{SourceFree, quota.Period}, c.Now, l.releaseBatch())
		if err != nil || released == 0 {
			return false, err
		}
	}
	// It is not known yet whether a free check is left.
	return false, fault.New(fault.Unavailable, "Expired sessions are still being released").After(time.Second)
}

// takeCredit takes prepaid units. If too few are left, it first releases the holds of expired
// sessions.
func (l Limits) takeCredit(tx Tx, c Charge, n int64) (bool, error) {
	ok, err := tx.AddCredit(c.TenantID, -n)
	if err != nil || ok {
		return ok, err
	}
	if _, err := release(tx, c.TenantID, &Balance{Source: SourceCredit}, c.Now, l.releaseBatch()); err != nil {
		return false, err
	}
	// Try again even if nothing was released: another transaction may have released units in the
	// meantime.
	return tx.AddCredit(c.TenantID, -n)
}

func (l Limits) releaseBatch() int { return cmp.Or(l.ReleaseBatch, ReleaseBatch) }

// hold writes the holds and the ledger entries of the first `paid` sessions. The first
// `free` of those use the month's allowance.
func hold(tx Tx, c Charge, paid, free int, month string) error {
	if paid == 0 {
		return nil
	}
	var holds []Hold
	var entries []Entry
	for i, id := range c.Sessions[:paid] {
		h := Hold{SessionID: id, TenantID: c.TenantID, Source: SourceCredit, ExpiresAt: c.ExpiresAt}
		if i < free {
			h.Source, h.Period = SourceFree, month
		}
		entry, err := entryOf(h, EntryHold, -1, c.Now)
		if err != nil {
			return err
		}
		holds, entries = append(holds, h), append(entries, entry)
	}
	if err := tx.InsertHolds(holds...); err != nil {
		return err
	}
	return tx.AppendEntries(entries...)
}
