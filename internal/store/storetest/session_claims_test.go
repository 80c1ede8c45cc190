package storetest

import (
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/session"
)

func claim(owner uuid.UUID, key, request string, made uuid.UUID, expiresAt time.Time) session.IdempotencyClaim {
	return session.IdempotencyClaim{
		TenantID: owner, Livemode: true, KeyHash: digest(key), RequestHash: digest(request),
		SessionID: made, SealedLink: sealed("link"), SessionEnd: stored(start), ExpiresAt: stored(expiresAt),
	}
}

func TestIdempotencyClaim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, other := newTenant(t, s).ID, newTenant(t, s).ID
		day := start.Add(24 * time.Hour)
		first := claim(owner, "k", "r", id(t), day)
		again := claim(owner, "k", "another request", id(t), day.Add(time.Hour))
		test := first
		test.Livemode = false
		for _, step := range []struct {
			name    string
			claim   session.IdempotencyClaim
			now     time.Time
			want    session.IdempotencyClaim
			claimed bool
		}{
			{"first use", first, start, first, true},
			{"second use", again, day.Add(-microsecond), first, false},
			{"another key", claim(owner, "k2", "r", first.SessionID, day), start, claim(owner, "k2", "r", first.SessionID, day),
				true},
			{"another tenant", claim(other, "k", "r", first.SessionID, day), start, claim(other, "k", "r", first.SessionID, day),
				true},
			{"the other mode", test, start, test, true},
			{"use after the claim expired", again, day, again, true},
			{"use after that", first, day, again, false},
		} {
			inTx(t, s, func(tx session.Tx) error {
				got, claimed, err := tx.ClaimIdempotencyKey(step.claim, step.now)
				if claimed != step.claimed || !reflect.DeepEqual(got, step.want) {
					t.Errorf("%s: %t %+v\nwant %t %+v", step.name, claimed, got, step.claimed, step.want)
				}
				return err
			})
		}
	})
}

func TestOneOfManyIdempotencyClaimsWins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s).ID
		var wins atomic.Int32
		var winner atomic.Value
		answers := make([]uuid.UUID, 30)
		concurrently(len(answers), func(i int) {
			mine := claim(owner, "k", "r", uuid.New(), start.Add(time.Hour))
			err := s.UpdateSessions(t.Context(), func(tx session.Tx) error {
				got, claimed, err := tx.ClaimIdempotencyKey(mine, start)
				if answers[i] = got.SessionID; claimed {
					wins.Add(1)
					winner.Store(mine.SessionID)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		for _, got := range answers {
			if wins.Load() != 1 || got != winner.Load() {
				t.Fatalf("%d claims won; somebody got %v, the winner is %v", wins.Load(), got, winner.Load())
			}
		}
	})
}

func TestRecentDestinations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, other := newTenant(t, s), newTenant(t, s)
		var want []session.Destinations
		for i, at := range []time.Duration{-time.Microsecond, 0, time.Second, 2 * time.Second} {
			sess := sessionOf(t, owner)
			sess.CreatedAt, sess.Livemode, sess.WebhookURL = stored(start.Add(at)), i%2 == 0, "https://shop.example/hook"
			inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(sess) })
			want = append(want, session.Destinations{
				Status: sess.Status, ExpiresAt: sess.ExpiresAt, SuccessURL: sess.SuccessURL, CancelURL: sess.CancelURL,
				WebhookURL: sess.WebhookURL,
			})
		}
		newSession(t, s, other)
		for limit, from := range map[int]int{9: 1, 2: 2} {
			newest := slices.Clone(want[from:])
			slices.Reverse(newest)
			got, err := s.RecentDestinations(t.Context(), owner.ID, start, limit)
			if err != nil || !reflect.DeepEqual(got, newest) {
				t.Errorf("%d at most: %+v, %v\nwant %+v", limit, got, err, newest)
			}
		}
	})
}
