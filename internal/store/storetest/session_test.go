package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

const microsecond = time.Microsecond

// fullSession returns a session of which every field is set; Livemode is false.
func fullSession(t testing.TB, owner tenant.Tenant) session.Session {
	t.Helper()
	full := sessionOf(t, owner)
	at, age := stored(start), 24.5
	full.WebhookURL, full.BrowserHash, full.Status = "https://shop.example/hook", digest(full.ID.String()+"cookie"),
		session.StatusPassed
	full.CompletedAt, full.ConsentedAt, full.DocumentOpenedAt, full.DetectedAge = &at, &at, &at, &age
	full.Attempts, full.Strikes, full.Livemode = 3, 1, false
	key := id(t)
	full.OpenedAt, full.BegunAt, full.RedirectedAt, full.APIKeyID = &at, &at, &at, &key
	full.Source, full.Basis = session.SourceCamera, session.Basis{Cutoff: &age, Calibration: "abc"}
	full.DocumentWay, full.DocumentAttempts, full.NextRedirectExpired = session.WayWallet, 2, true
	full.FaceMatchAt, full.DocumentCamera, full.DocumentPreferred = &at, 70*time.Second, true
	full.OrderRef = "1042"
	full.Setbacks = []session.Setback{{At: at, Why: session.WhyDrawn}, {At: at, Why: session.WhyBusy}}
	for field, value := range reflect.ValueOf(full).Fields() {
		if value.IsZero() && field.Name != "Livemode" {
			t.Fatalf("%s is not set: set it above", field.Name)
		}
	}
	return full
}

// unsaved are the fields that SaveSession does not write: those fixed at creation, and
// those that have a statement of their own.
var unsaved = []string{
	"ID", "TenantID", "Livemode", "TargetAge", "SuccessURL", "CancelURL", "WebhookURL", "LinkHash", "CreatedAt",
	"APIKeyID", "OrderRef", "BrowserHash", "RedirectedAt", "NextRedirectExpired",
}

func TestSessionComesBackAsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		plain, full := sessionOf(t, owner), fullSession(t, owner)
		for _, want := range []session.Session{plain, full} {
			inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(want) })
			got, err := s.SessionByID(t.Context(), owner.ID, want.ID)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("SessionByID = %+v, %v\nwant %+v", got, err, want)
			}
			if got := byLink(t, s, want); !reflect.DeepEqual(got, want) {
				t.Errorf("SessionByLink = %+v\nwant %+v", got, want)
			}
			for _, hashes := range [][][]byte{{want.LinkHash, digest("none")}, {digest("none"), want.LinkHash}} {
				if got, err := s.SessionByLink(t.Context(), hashes...); err != nil || got.ID != want.ID {
					t.Errorf("SessionByLink of two hashes = %s, %v", got.ID, err)
				}
			}
		}
	})
}

// TestStandings: one query returns the standings of sessions of several tenants,
// and nothing for IDs of no session.
func TestStandings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		plain, full := sessionOf(t, newTenant(t, s)), fullSession(t, newTenant(t, s))
		want := map[uuid.UUID]session.Standing{}
		for _, one := range []session.Session{plain, full} {
			inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(one) })
			want[one.ID] = session.Standing{
				TenantID: one.TenantID, Status: one.Status,
				CreatedAt: one.CreatedAt, ExpiresAt: one.ExpiresAt, CompletedAt: one.CompletedAt,
			}
		}
		for _, ids := range [][]uuid.UUID{{plain.ID, id(t), full.ID, plain.ID}, {full.ID}, {id(t)}} {
			got, err := s.Standings(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				one, found := got[id]
				if expected, exists := want[id]; found != exists || !reflect.DeepEqual(one, expected) {
					t.Errorf("%v: %+v, %v, want %+v", id, one, found, expected)
				}
			}
		}
	})
}

func TestAnotherTenantsSessionIsNotFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		row := newSession(t, s, newTenant(t, s))
		_, err := s.SessionByID(t.Context(), newTenant(t, s).ID, row.ID)
		wantCode(t, "another tenant's session", err, fault.NotFound)
	})
}

func TestInsertSessionRefusesATakenLink(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		taken := newSession(t, s, owner)
		second := sessionOf(t, owner)
		second.LinkHash = taken.LinkHash
		err := s.UpdateSessions(t.Context(), func(tx session.Tx) error { return tx.InsertSessions(second) })
		wantCode(t, "a link twice", err, fault.Conflict)
	})
}

func TestFirstTimesAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		row := newSession(t, s, newTenant(t, s))
		later := start.Add(time.Minute)
		for _, now := range []time.Time{start, later} {
			wantNoError(t, s.MarkOpened(t.Context(), row.ID, now))
			wantNoError(t, s.MarkRedirected(t.Context(), row.ID, now))
		}
		got := byLink(t, s, row)
		if got.OpenedAt == nil || !got.OpenedAt.Equal(stored(start)) || got.RedirectedAt == nil ||
			!got.RedirectedAt.Equal(stored(start)) {
			t.Errorf("opened %v, redirected %v, want %v for both", got.OpenedAt, got.RedirectedAt, stored(start))
		}
	})
}

// TestDecisionIsSaved: what a decision may change is written, and everything else
// keeps the value in the database. A session that is not pending is not changed.
// TestDecisionIsSaved: every field that is not in unsaved is saved, a new one too.
func TestDecisionIsSaved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		bystander, row, full := newSession(t, s, owner), newSession(t, s, owner), fullSession(t, owner)
		want := full
		for _, name := range unsaved {
			reflect.ValueOf(&want).Elem().FieldByName(name).Set(reflect.ValueOf(row).FieldByName(name))
		}
		save := func(next session.Session) error {
			return s.UpdateSessions(t.Context(), func(tx session.Tx) error { return tx.SaveSession(next) })
		}
		open := row
		open.ConsentedAt, open.Attempts = full.ConsentedAt, 2
		for _, next := range []session.Session{open, row} { // clears them again, too
			wantNoError(t, save(next))
			if got := byLink(t, s, row); !reflect.DeepEqual(got, next) {
				t.Errorf("saved %+v\nwant %+v", got, next)
			}
		}
		full.ID = row.ID
		wantNoError(t, save(full))
		if got := byLink(t, s, row); !reflect.DeepEqual(got, want) {
			t.Errorf("saved %+v\nwant %+v", got, want)
		}
		wantCode(t, "a completed session", save(row), fault.NotFound)
		expired := newSession(t, s, owner)
		if _, err := s.ExpireSession(t.Context(), expired.ID, expired.ExpiresAt); err != nil {
			t.Error(err)
		}
		wantCode(t, "an expired session", save(expired), fault.NotFound)
		if got := byLink(t, s, bystander); !reflect.DeepEqual(got, bystander) {
			t.Errorf("another session changed: %+v", got)
		}
	})
}

func TestEstimateWithoutConsentIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		row, age := newSession(t, s, newTenant(t, s)), 33.0
		guessed := row
		guessed.DetectedAge = &age
		err := s.UpdateSessions(t.Context(), func(tx session.Tx) error { return tx.SaveSession(guessed) })
		if err == nil || byLink(t, s, row).DetectedAge != nil {
			t.Errorf("stored an estimate nobody agreed to: %v", err)
		}
	})
}

func TestOneOfManyVerdictsWins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		row := newSession(t, s, newTenant(t, s))
		verdicts := []session.Status{session.StatusPassed, session.StatusFallback, session.StatusSpoof}
		var wins atomic.Int32
		var winner atomic.Value
		concurrently(30, func(i int) {
			to := verdicts[i%len(verdicts)]
			var ok bool
			err := s.UpdateSessions(t.Context(), func(tx session.Tx) error {
				locked, err := tx.LockSession(row.ID)
				if ok = err == nil && locked.Status == session.StatusPending; !ok {
					return err
				}
				at := stored(start)
				locked.Status, locked.CompletedAt, locked.Source = to, &at, session.SourceCamera
				return tx.SaveSession(locked)
			})
			if err != nil {
				t.Error(err)
			}
			if ok {
				wins.Add(1)
				winner.Store(to)
			}
		})
		if wins.Load() != 1 || byLink(t, s, row).Status != winner.Load() {
			t.Errorf("%d winners, last %v, stored %s", wins.Load(), winner.Load(), byLink(t, s, row).Status)
		}
	})
}

// If transactions lock the same session, each sees what those before it wrote,
// even in rows that belong to the session.
func TestALockedSessionIsReadAfterTheOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		row := newSession(t, s, newTenant(t, s))
		put := func(tx session.Tx, n int) error {
			token := digest(fmt.Sprint(n))
			return tx.PutHandover(session.Handover{LinkHash: row.LinkHash, Nonce: make([]byte, 16), TokenHash: token,
				ExpiresAt: start})
		}
		inTx(t, s, func(tx session.Tx) error { return put(tx, 0) })
		var stale atomic.Int32
		concurrently(20, func(int) {
			err := s.UpdateSessions(t.Context(), func(tx session.Tx) error {
				locked, lockErr := tx.LockSession(row.ID)
				beside, err := tx.HandoverOf(row.LinkHash)
				if err := errors.Join(lockErr, err); err != nil {
					return err
				}
				if !bytes.Equal(beside.TokenHash, digest(fmt.Sprint(locked.Strikes))) {
					stale.Add(1)
				}
				locked.Strikes++
				return errors.Join(tx.SaveSession(locked), put(tx, locked.Strikes))
			})
			if err != nil {
				t.Error(err)
			}
		})
		if after := byLink(t, s, row); stale.Load() > 0 || after.Strikes != 20 {
			t.Errorf("%d of 20 read a handover that was replaced; %d strikes", stale.Load(), after.Strikes)
		}
		err := s.UpdateSessions(t.Context(), func(tx session.Tx) error {
			_, err := tx.LockSession(uuid.New())
			return err
		})
		wantCode(t, "a missing session", err, fault.NotFound)
	})
}

// concurrently runs fn n times at once and waits for all of them.
func concurrently(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}
