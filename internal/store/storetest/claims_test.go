package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/session"
)

func TestPruneClaimsForgetsOnlyWhatExpired(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s).ID
		claimed := func(key string, now, expires time.Duration) (first bool) {
			inTx(t, s, func(tx session.Tx) (err error) {
				c := claim(owner, key, "request", uuid.New(), start.Add(expires))
				_, first, err = tx.ClaimIdempotencyKey(c, start.Add(now))
				return err
			})
			return first
		}
		claimed("expired", 0, time.Minute)
		claimed("kept", 0, time.Minute+microsecond)
		claimed("expired too", 0, time.Minute)
		for _, want := range []int{1, 1, 0} {
			if n, err := s.PruneClaims(t.Context(), start.Add(time.Minute), 1); err != nil || n != want {
				t.Errorf("pruned %d, %v; want %d", n, err, want)
			}
		}
		if !claimed("expired", time.Second, time.Hour) {
			t.Error("an expired claim was kept")
		}
		if claimed("kept", time.Second, time.Hour) {
			t.Error("a claim was forgotten too early")
		}
	})
}
