package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

func TestLiveHoursAreAddedUpByTargetAge(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		group := func(hour int64, livemode bool, target int, status session.Status, n int64) insight.Group {
			return insight.Group{
				Hour: hour, Livemode: livemode, TargetAge: target, Status: status, Source: session.SourceCamera,
				Tally: insight.Tally{N: n},
			}
		}
		for _, of := range [][]insight.Group{
			{group(500, true, 21, session.StatusPassed, 1), group(500, true, 18, session.StatusPassed, 2),
				group(500, false, 18, session.StatusPassed, 64)},
			{group(501, true, 18, session.StatusPassed, 4), group(501, true, 18, session.StatusFallback, 8)},
		} {
			// Counts of two tenants, and of an hour that is too old.
			for _, owner := range []uuid.UUID{newTenant(t, s).ID, newTenant(t, s).ID} {
				old := group(499, true, 18, session.StatusPassed, 128)
				for i, groups := range [][]insight.Group{{old}, of} {
					upto := int64(0)
					if i > 0 {
						upto = 500
					}
					if ok, err := s.FoldSessions(t.Context(), owner, upto, groups[0].Hour, groups); err != nil || !ok {
						t.Fatalf("fold: %t, %v", ok, err)
					}
				}
			}
		}
		got, err := s.SumTargets(t.Context(), 500)
		want := []insight.Group{group(0, false, 18, session.StatusFallback, 16),
			group(0, false, 18, session.StatusPassed, 12), group(0, false, 21, session.StatusPassed, 2)}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("sums %+v, %v\nwant %+v", got, err, want)
		}
	})
}

func TestEstimatesAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, other := newTenant(t, s), newTenant(t, s)
		add := func(of tenant.Tenant, target int, livemode bool, at time.Time, estimate *float64) {
			row := sessionOf(t, of)
			row.TargetAge, row.Livemode, row.CreatedAt, row.DetectedAge = target, livemode, at, estimate
			row.ConsentedAt = &row.CreatedAt
			inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(row) })
		}
		low, middle, high := 24.9, 25.0, 27.0
		add(owner, 18, true, start.Add(time.Second), &low)
		add(owner, 18, true, start.Add(2*time.Second), &middle)
		add(owner, 18, true, start.Add(3*time.Second), &high)
		add(owner, 18, true, start.Add(4*time.Second), nil)
		add(owner, 18, false, start.Add(time.Second), &high)
		add(owner, 16, true, start.Add(time.Second), &high)
		add(owner, 18, true, start.Add(-time.Second), &high)
		add(other, 18, true, start.Add(time.Second), &high)
		for limit, want := range map[int]insight.Reach{100: {Of: 3, First: 2, Other: 1}, 3: {Of: 2, First: 2, Other: 1}} {
			got, err := s.CountEstimates(t.Context(), owner.ID, start, 18, [2]float64{25, 27}, limit)
			if err != nil || got != want {
				t.Errorf("the newest %d: %+v, %v, want %+v", limit, got, err, want)
			}
		}
	})
}

func TestTestClock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		for _, livemode := range []bool{false, true} {
			row := sessionOf(t, owner)
			row.Livemode = livemode
			inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(row) })
			later := start.Add(time.Second)
			turn := func(fn func(tx session.ClockTx) (bool, error)) (ok bool) {
				t.Helper()
				wantNoError(t, s.UpdateClock(t.Context(), func(tx session.ClockTx) (err error) {
					ok, err = fn(tx)
					return err
				}))
				return ok
			}
			armed := turn(func(tx session.ClockTx) (bool, error) { return tx.ExpireNextRedirect(row.ID) })
			moved := turn(func(tx session.ClockTx) (bool, error) { return tx.MoveExpiry(row.ID, later) })
			again := turn(func(tx session.ClockTx) (bool, error) { return tx.MoveExpiry(row.ID, later) })
			after := byLink(t, s, row)
			if armed == livemode || moved == livemode || again || after.NextRedirectExpired == livemode ||
				after.ExpiresAt.Equal(stored(later)) == livemode {
				t.Errorf("live %t: armed %t, moved %t, again %t: %+v", livemode, armed, moved, again, after)
			}
			for i := range 2 {
				if taken, err := s.TakeExpiredRedirect(t.Context(), row.ID); err != nil || taken != (!livemode && i == 0) {
					t.Errorf("live %t: taken %t the %d. time, %v", livemode, taken, i+1, err)
				}
			}
		}
	})
}

func TestAWalletRequestIsBesideItsSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		row := newSession(t, s, newTenant(t, s))
		for _, want := range []bool{false, true} {
			if related, err := s.Related(t.Context(), row); err != nil || related.Request != want {
				t.Errorf("%+v, %v, want a request: %t", related, err, want)
			}
			inTx(t, s, func(tx session.Tx) error {
				_, err := tx.ReplaceWalletRequest(row.LinkHash, make([]byte, 16))
				return err
			})
		}
	})
}
