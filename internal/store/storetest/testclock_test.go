package storetest

import (
	"testing"
	"time"

	"agegate/internal/rules/session"
)

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
			if related, err := s.Related(t.Context(), row); err != nil || (related.Wallet != nil) != want {
				t.Errorf("%+v, %v, want a request: %t", related, err, want)
			}
			inTx(t, s, func(tx session.Tx) error {
				_, err := tx.ReplaceWalletRequest(row.LinkHash, make([]byte, 16))
				return err
			})
		}
	})
}
