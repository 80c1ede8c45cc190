package storetest

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
)

// take takes one unit in its own transaction.
func take(t testing.TB, s Store, tenantID uuid.UUID, period string, limit int64) bool {
	t.Helper()
	var ok bool
	err := s.UpdateBilling(t.Context(), func(tx billing.Tx) (err error) {
		ok, err = tx.TakeCounter(billing.Quota{TenantID: tenantID, Livemode: true, Period: period, Limit: limit}, 1)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return ok
}

// TestCounterTakesAllOrNothing: several units are taken together, or none.
func TestCounterTakesAllOrNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s).ID
		for _, step := range []struct {
			n, limit int64
			want     bool
		}{{4, 3, false}, {3, 3, true}, {1, 3, false}, {2, 5, true}, {2, 6, false}, {1, 6, true}, {64, billing.Unlimited, true}} {
			wantNoError(t, s.UpdateBilling(t.Context(), func(tx billing.Tx) error {
				q := billing.Quota{TenantID: owner, Livemode: true, Period: "2026-01", Limit: step.limit}
				got, err := tx.TakeCounter(q, step.n)
				if got != step.want {
					t.Errorf("%d of %d: taken %t", step.n, step.limit, got)
				}
				return err
			}))
		}
	})
}

func TestCounterStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, other := newTenant(t, s).ID, newTenant(t, s).ID
		for _, step := range []struct {
			name   string
			period string
			limit  int64
			want   bool
		}{
			{"limit 0, never used", "2026-01", 0, false},
			{"first", "2026-01", 2, true},
			{"second", "2026-01", 2, true},
			{"over", "2026-01", 2, false},
			{"limit lowered below use", "2026-01", 1, false},
			{"limit 0, used", "2026-01", 0, false},
			{"limit raised", "2026-01", 3, true},
			{"unlimited", "2026-01", billing.Unlimited, true},
			{"next period", "2026-02", 1, true},
			{"unlimited, never used", "2026-03", billing.Unlimited, true},
		} {
			if got := take(t, s, owner, step.period, step.limit); got != step.want {
				t.Errorf("%s: taken %t, want %t", step.name, got, step.want)
			}
		}
		if !take(t, s, other, "2026-01", 1) {
			t.Error("another tenant's use counted")
		}
	})
}

func TestReturnedUnitIsTakenOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s).ID
		giveBack := func() {
			inTx(t, s, func(tx session.Tx) error {
				return tx.ReturnCounter(owner, billing.CounterFree, "2026-01", 2)
			})
		}
		giveBack() // nothing was taken
		first := take(t, s, owner, "2026-01", 1)
		giveBack() // never below zero
		if again, over := take(t, s, owner, "2026-01", 1), take(t, s, owner, "2026-01", 1); !first || !again || over {
			t.Errorf("taken %t, after the return %t, then %t", first, again, over)
		}
	})
}

func TestCounterIsNeverOversold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s).ID
		var sold atomic.Int64
		concurrently(200, func(int) {
			if take(t, s, owner, "2026-01", 100) {
				sold.Add(1)
			}
		})
		if sold.Load() != 100 {
			t.Errorf("sold %d of 100", sold.Load())
		}
	})
}

func addCredit(t testing.TB, s Store, tenantID uuid.UUID, delta int64) bool {
	t.Helper()
	var ok bool
	err := s.UpdateBilling(t.Context(), func(tx billing.Tx) (err error) {
		ok, err = tx.AddCredit(tenantID, delta)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return ok
}

func TestCreditStaysAboveZero(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s).ID
		for _, step := range []struct {
			delta   int64
			want    bool
			balance int64
		}{
			{-1, false, 0}, {0, true, 0}, {3, true, 3}, {-2, true, 1}, {-2, false, 1}, {-1, true, 0}, {-1, false, 0},
			{2, true, 2},
		} {
			got := addCredit(t, s, owner, step.delta)
			balance, err := s.Credit(t.Context(), owner)
			if err != nil || got != step.want || balance != step.balance {
				t.Errorf("%+d: %t, balance %d, %v, want %t, %d", step.delta, got, balance, err, step.want, step.balance)
			}
		}
		err := s.UpdateBilling(t.Context(), func(tx billing.Tx) error {
			_, err := tx.AddCredit(uuid.New(), 1)
			return err
		})
		wantCode(t, "credit of no tenant", err, fault.NotFound)
	})
}

func TestCreditIsNeverOverspent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s).ID
		addCredit(t, s, owner, 100)
		var sold atomic.Int64
		concurrently(200, func(int) {
			if addCredit(t, s, owner, -1) {
				sold.Add(1)
			}
		})
		if balance, err := s.Credit(t.Context(), owner); sold.Load() != 100 || balance != 0 || err != nil {
			t.Errorf("sold %d of 100, balance %d, %v", sold.Load(), balance, err)
		}
	})
}

func TestHoldIsSettledOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		row := newSession(t, s, newTenant(t, s))
		want := hold(row, billing.SourceFree, "2026-03")
		inTx(t, s, func(tx session.Tx) error {
			if _, ok, err := tx.SettleHold(row.ID); ok || err != nil {
				t.Errorf("settled what was never held: %t, %v", ok, err)
			}
			wantNoError(t, tx.InsertHolds(want))
			got, ok, err := tx.SettleHold(row.ID)
			if err != nil || !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("settled %+v, %t, %v\nwant %+v", got, ok, err, want)
			}
			_, again, err := tx.SettleHold(row.ID)
			extended, extendErr := tx.ExtendHold(row.ID, start)
			if again || extended {
				t.Errorf("after settling: settled again %t, extended %t", again, extended)
			}
			return errors.Join(err, extendErr)
		})
	})
}

func TestExpiredHoldsAreReleasedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, other := newTenant(t, s), newTenant(t, s)
		mine, settled, extended := newSession(t, s, owner), newSession(t, s, owner), newSession(t, s, owner)
		foreign := newSession(t, s, other)
		end, later := mine.ExpiresAt, stored(start.Add(time.Hour))
		first := hold(mine, billing.SourceFree, "2026-03")
		second := hold(extended, billing.SourceCredit, "")
		inTx(t, s, func(tx session.Tx) error {
			_ = errors.Join(tx.InsertHolds(first), tx.InsertHolds(second),
				tx.InsertHolds(hold(settled, billing.SourceCredit, "")),
				tx.InsertHolds(hold(foreign, billing.SourceCredit, "")))
			_, _, err := tx.SettleHold(settled.ID)
			ok, extendErr := tx.ExtendHold(extended.ID, later)
			if !ok {
				t.Error("an open hold was not extended")
			}
			return errors.Join(err, extendErr)
		})
		second.ExpiresAt = later
		for _, step := range []struct {
			now  time.Time
			want []billing.Hold
		}{
			{end.Add(-microsecond), []billing.Hold{}},
			{end, []billing.Hold{first}},
			{later.Add(-microsecond), []billing.Hold{}},
			{later, []billing.Hold{second}},
			{later, []billing.Hold{}},
		} {
			inTx(t, s, func(tx session.Tx) error {
				got, err := tx.ReleaseExpiredHolds(owner.ID, nil, step.now, 10)
				if !reflect.DeepEqual(got, step.want) {
					t.Errorf("released at %v: %+v\nwant %+v", step.now, got, step.want)
				}
				return err
			})
		}
		inTx(t, s, func(tx session.Tx) error {
			_, ok, err := tx.SettleHold(mine.ID)
			if ok {
				t.Error("settled a released hold")
			}
			return err
		})
	})
}

// A unit that expires while its session completes goes to the next session or
// is spent, never both.
func TestHoldIsEitherSettledOrReleased(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		var rows []session.Session
		for range 20 {
			row := newSession(t, s, owner)
			inTx(t, s, func(tx session.Tx) error {
				return tx.InsertHolds(hold(row, billing.SourceCredit, ""))
			})
			rows = append(rows, row)
		}
		var settled, released atomic.Int64
		concurrently(2*len(rows), func(i int) {
			var done int64
			count := &settled
			err := s.UpdateBilling(t.Context(), func(tx billing.Tx) error {
				if done = 0; i%2 == 0 {
					count = &released
					holds, err := tx.ReleaseExpiredHolds(owner.ID, nil, start.Add(time.Hour), 3)
					done = int64(len(holds))
					return err
				}
				_, ok, err := tx.SettleHold(rows[i/2].ID)
				if ok {
					done = 1
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			count.Add(done)
		})
		if settled.Load()+released.Load() != int64(len(rows)) {
			t.Errorf("%d settled and %d released of %d", settled.Load(), released.Load(), len(rows))
		}
	})
}

// Each batch has the holds of the balance that expired first.
func TestHoldsAreReleasedInBatches(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		march, credit := billing.Balance{Source: billing.SourceFree, Period: "2026-03"},
			billing.Balance{Source: billing.SourceCredit}
		var named []uuid.UUID
		for i, b := range []billing.Balance{credit, march, credit, march, credit, credit} {
			row := newSession(t, s, owner)
			row.ExpiresAt = start.Add(time.Duration(-i) * time.Second)
			inTx(t, s, func(tx session.Tx) error {
				return tx.InsertHolds(hold(row, b.Source, b.Period))
			})
			named = append(named, row.ID)
		}
		if got, err := s.ExpiredHolders(t.Context(), start.Add(-6*time.Second)); err != nil || len(got) != 0 {
			t.Errorf("tenants with expired holds: %v, %v; want none", got, err)
		}
		for _, step := range []struct {
			of    *billing.Balance
			limit int
			want  []uuid.UUID
		}{
			{&march, 1, named[3:4]},
			{nil, 2, named[4:6]},
			{&billing.Balance{Source: billing.SourceFree, Period: "2026-02"}, 9, nil},
			{&credit, 9, []uuid.UUID{named[0], named[2]}},
		} {
			if got, err := s.ExpiredHolders(t.Context(), start); err != nil || !slices.Equal(got, []uuid.UUID{owner.ID}) {
				t.Errorf("tenants with expired holds: %v, %v", got, err)
			}
			inTx(t, s, func(tx session.Tx) error {
				holds, err := tx.ReleaseExpiredHolds(owner.ID, step.of, start, step.limit)
				var got []uuid.UUID
				for _, h := range holds {
					got = append(got, h.SessionID)
				}
				less := func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
				slices.SortFunc(got, less)
				if slices.SortFunc(step.want, less); !slices.Equal(got, step.want) {
					t.Errorf("released of %v: %v, want %v", step.of, got, step.want)
				}
				return err
			})
		}
		inTx(t, s, func(tx session.Tx) error {
			early, err := tx.ReleaseHoldsOf(owner.ID, named, start.Add(-time.Minute))
			foreign, foreignErr := tx.ReleaseHoldsOf(uuid.New(), named, start)
			last, lastErr := tx.ReleaseHoldsOf(owner.ID, named, start)
			if len(early) != 0 || len(foreign) != 0 || len(last) != 1 || last[0].SessionID != named[1] {
				t.Errorf("released by name: %v, %v, %v", early, foreign, last)
			}
			return errors.Join(err, foreignErr, lastErr)
		})
	})
}

func TestLedgerIsReadNewestFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, sessionID := newTenant(t, s).ID, id(t)
		other := newTenant(t, s).ID
		// The last two have the same time, so their IDs determine the order.
		oldest := billing.Entry{ID: id(t), TenantID: owner, Kind: billing.EntryTopUp, Source: billing.SourceCredit, Delta: 5,
			CreatedAt: stored(start)}
		first := billing.Entry{ID: id(t), TenantID: owner, SessionID: &sessionID, Kind: billing.EntryHold,
			Source: billing.SourceFree, Period: "2026-03", Delta: -1, CreatedAt: stored(start.Add(time.Second))}
		second := first
		second.ID = id(t)
		foreign := first
		foreign.ID, foreign.TenantID = id(t), other
		inTx(t, s, func(tx session.Tx) error {
			return errors.Join(tx.AppendEntries(), tx.AppendEntries(first, second, oldest, foreign))
		})
		for _, page := range []struct {
			before uuid.UUID
			limit  int
			want   []billing.Entry
		}{
			{uuid.Nil, 9, []billing.Entry{second, first, oldest}},
			{uuid.Nil, 1, []billing.Entry{second}},
			{second.ID, 1, []billing.Entry{first}},
			{first.ID, 9, []billing.Entry{oldest}},
			{oldest.ID, 9, []billing.Entry{}},
		} {
			got, err := s.Entries(t.Context(), owner, page.before, page.limit)
			if err != nil || !reflect.DeepEqual(got, page.want) {
				t.Errorf("Entries before %v = %+v, %v\nwant %+v", page.before, got, err, page.want)
			}
		}
		for _, before := range []uuid.UUID{foreign.ID, uuid.New()} {
			_, err := s.Entries(t.Context(), owner, before, 1)
			wantCode(t, "Entries before another tenant's, or none", err, fault.NotFound)
		}
		for _, page := range []struct {
			from, to time.Time
			after    billing.Entry
			limit    int
			want     []billing.Entry
		}{
			{start, start.Add(time.Minute), billing.Entry{}, 9, []billing.Entry{oldest, first, second}},
			{start, start.Add(time.Minute), billing.Entry{}, 2, []billing.Entry{oldest, first}},
			{start, start.Add(time.Minute), first, 9, []billing.Entry{second}},
			{start, start.Add(time.Second), billing.Entry{}, 9, []billing.Entry{oldest}},
			{start.Add(time.Second), start.Add(time.Minute), billing.Entry{}, 9, []billing.Entry{first, second}},
			{start, start.Add(time.Minute), second, 9, []billing.Entry{}},
		} {
			got, err := s.EntriesBetween(t.Context(), owner, page.from, page.to, page.after, page.limit)
			if err != nil || !reflect.DeepEqual(got, page.want) {
				t.Errorf("EntriesBetween %v = %+v, %v\nwant %+v", page, got, err, page.want)
			}
		}
		n := 0
		for e, err := range billingtest.Ledger(t.Context(), s, owner) {
			wantNoError(t, err)
			if e.TenantID != owner {
				t.Errorf("another tenant's entry: %+v", e)
			}
			n++
		}
		if n != 3 {
			t.Errorf("the ledger has %d entries, want 3", n)
		}
	})
}

// TestFundsOfManyTenants: one read has the funds of several tenants, each with its own.
func TestFundsOfManyTenants(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		rich, never, other := newTenant(t, s).ID, newTenant(t, s).ID, newTenant(t, s).ID
		wantNoError(t, s.UpdateCredit(t.Context(), func(tx billing.CreditTx) error {
			_, err := tx.AddCredit(rich, 7)
			_, otherErr := tx.AddCredit(other, 1)
			quota := billing.Quota{TenantID: rich, Livemode: true, Period: start.UTC().Format("2006-01"), Limit: 9}
			_, takenErr := tx.TakeCounter(quota, 3)
			return errors.Join(err, otherErr, takenErr)
		}))
		got, err := s.Funds(t.Context(), []uuid.UUID{rich, never}, start)
		if want := map[uuid.UUID]insight.Funds{rich: {FreeUsed: 3, Credit: 7}, never: {}}; err != nil || !maps.Equal(got, want) {
			t.Errorf("Funds = %v, %v, want %v", got, err, want)
		}
		if got, err = s.Funds(t.Context(), nil, start); err != nil || len(got) != 0 {
			t.Errorf("Funds of nobody = %v, %v", got, err)
		}
	})
}
