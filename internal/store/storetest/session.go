package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/fault"
	"agegate/internal/session"
	"agegate/internal/tenant"
)

const microsecond = time.Microsecond

// decidedAge is the estimate of the decisions in testConditionalUpdates.
const decidedAge = 19.5

// decided reports whether the session has what decision said, by that estimate.
func decided(s session.Session, by session.Source) bool {
	return *s.DetectedAge == decidedAge && s.Source == by && *s.Basis.Cutoff == 25 && s.Basis.Calibration == "abc"
}

// passedAt reports whether the session has passed by decision at a time, and was
// opened then.
func passedAt(s session.Session, at time.Time) bool {
	return decided(s, session.SourceCamera) && s.Status == session.StatusPassed && s.CompletedAt.Equal(at) && s.OpenedAt.Equal(at)
}

// hasBegun reports whether one attempt was added, and when the first began.
func hasBegun(before, after session.Session, begun time.Time) bool {
	return after.Attempts == before.Attempts+1 && after.BegunAt.Equal(begun)
}

// decision returns a camera's decision by a cutoff of 25 years.
func decision(to session.Status, at time.Time, estimate *float64) session.Decision {
	cutoff := 25.0
	return session.Decision{
		Status: to, At: at, Source: session.SourceCamera, Estimate: estimate,
		Basis: session.Basis{Cutoff: &cutoff, Calibration: "abc"},
	}
}

// fullSession returns a session whose every field is set.
func fullSession(t testing.TB, owner tenant.Tenant) session.Session {
	t.Helper()
	full := sessionOf(t, owner)
	at, age := stored(start), 24.5
	full.WebhookURL, full.BrowserHash, full.Status = "https://shop.example/hook", digest(full.ID.String()+"cookie"), session.StatusPassed
	full.CompletedAt, full.ConsentedAt, full.DocumentOpenedAt, full.DetectedAge = &at, &at, &at, &age
	full.Attempts, full.Strikes, full.Livemode = 3, 1, false
	key := id(t)
	full.OpenedAt, full.BegunAt, full.RedirectedAt, full.APIKeyID = &at, &at, &at, &key
	full.Source, full.Basis = session.SourceCamera, session.Basis{Cutoff: &age, Calibration: "abc"}
	full.DocumentWay, full.DocumentAttempts, full.NextRedirectExpired = session.WayWallet, 2, true
	full.FaceMatchAt, full.DocumentCamera = &at, 70*time.Second
	return full
}

func testSessionComesBackAsStored(t *testing.T, s Store) {
	owner := newTenant(t, s)
	plain, full := sessionOf(t, owner), fullSession(t, owner)
	for _, want := range []session.Session{plain, full} {
		inTx(t, s, func(tx session.Tx) error { return tx.InsertSession(want) })
		got, err := s.SessionByID(t.Context(), owner.ID, want.ID)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("SessionByID = %+v, %v\nwant %+v", got, err, want)
		}
		if got := byLink(t, s, want); !reflect.DeepEqual(got, want) {
			t.Errorf("SessionByLink = %+v\nwant %+v", got, want)
		}
	}
}

func testAnotherTenantsSessionIsNotFound(t *testing.T, s Store) {
	row := newSession(t, s, newTenant(t, s))
	_, err := s.SessionByID(t.Context(), newTenant(t, s).ID, row.ID)
	wantCode(t, "another tenant's session", err, fault.NotFound)
}

func testInsertSessionRefusesATakenLink(t *testing.T, s Store) {
	owner := newTenant(t, s)
	taken := newSession(t, s, owner)
	second := sessionOf(t, owner)
	second.LinkHash = taken.LinkHash
	err := s.UpdateSessions(t.Context(), func(tx session.Tx) error { return tx.InsertSession(second) })
	wantCode(t, "a link twice", err, fault.Conflict)
}

// The state a conditional update meets, and whether it applies there. Each is
// tried on a session that expires at start + 30 min.
func testConditionalUpdates(t *testing.T, s Store) {
	inTime, tooLate := start.Add(30*time.Minute-microsecond), start.Add(30*time.Minute)
	later, age := start.Add(time.Hour), decidedAge
	type update func(ctx context.Context, s Store, id uuid.UUID, now time.Time) (bool, error)
	within := func(fn func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error)) update {
		return func(ctx context.Context, s Store, id uuid.UUID, now time.Time) (ok bool, err error) {
			err = s.UpdateSessions(ctx, func(tx session.Tx) error {
				ok, err = fn(tx, id, now)
				return err
			})
			return ok, err
		}
	}
	expire := update(func(ctx context.Context, s Store, id uuid.UUID, now time.Time) (bool, error) {
		return s.ExpireSession(ctx, id, now)
	})
	complete := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.CompleteSession(id, decision(session.StatusPassed, now, &age))
	})
	offer := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.OfferDocument(id, decision(session.StatusFallback, now, &age), later)
	})
	extend := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.ExtendSession(id, now, later)
	})
	refuse, accept := within(recordDocument(session.WayPhoto, true)), within(recordDocument(session.WayWallet, false))
	bind := update(func(ctx context.Context, s Store, id uuid.UUID, _ time.Time) (bool, error) {
		return s.BindBrowser(ctx, id, digest("browser"))
	})
	consent := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.RecordConsent(id, &start, now)
	})
	attempt := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.AddAttempt(id, now)
	})
	giveBack := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.ReturnAttempt(id, now)
	})
	strike := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.AddStrike(id, now)
	})
	agree := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.RecordFaceMatch(id, &now, now)
	})
	withdraw := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.RecordFaceMatch(id, nil, now)
	})
	film := within(func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.AddDocumentCamera(id, 10*time.Second, now)
	})
	at, opened := stored(start), stored(start)
	fresh := func(*session.Session) {}
	passed := func(s *session.Session) { s.Status, s.CompletedAt = session.StatusPassed, &at }
	expired := func(s *session.Session) { s.Status = session.StatusExpired }
	offered := func(s *session.Session) { s.DocumentOpenedAt = &opened }
	agreed := func(s *session.Session) {
		s.DocumentOpenedAt, s.FaceMatchAt, s.DocumentCamera = &opened, &at, time.Second
	}
	filmed := func(s *session.Session) { agreed(s); s.DocumentCamera = session.MaxDocumentCamera - 9*time.Second }
	attempted := func(s *session.Session) { s.Attempts = session.MaxAttempts }
	begun := func(s *session.Session) { s.Attempts, s.BegunAt = 1, &at }
	bound := func(s *session.Session) { s.BrowserHash = digest("first") }
	is := func(status session.Status) func(before, after session.Session) bool {
		return func(_, after session.Session) bool { return after.Status == status }
	}
	rows := []struct {
		name   string
		update update
		state  func(*session.Session)
		now    time.Time
		want   bool
		check  func(before, after session.Session) bool // of an update that applied
	}{
		{"expire before the time", expire, fresh, inTime, false, nil},
		{"expire at the time", expire, fresh, tooLate, true, is(session.StatusExpired)},
		{"expire a completed one", expire, passed, tooLate, false, nil},
		{"expire again", expire, expired, tooLate, false, nil},
		{"complete in time", complete, fresh, inTime, true, func(_, s session.Session) bool {
			return passedAt(s, stored(inTime))
		}},
		{"complete with the document check open", complete, offered, inTime, true, is(session.StatusPassed)},
		{"complete too late", complete, fresh, tooLate, false, nil},
		{"complete twice", complete, passed, inTime, false, nil},
		{"complete an expired one", complete, expired, inTime, false, nil},
		{"offer in time", offer, fresh, inTime, true, func(_, s session.Session) bool {
			return decided(s, "") && s.Status == session.StatusPending && s.DocumentOpenedAt.Equal(stored(inTime)) && s.ExpiresAt.Equal(stored(later))
		}},
		{"offer too late", offer, fresh, tooLate, false, nil},
		{"offer twice", offer, offered, inTime, false, nil},
		{"offer on a completed one", offer, passed, inTime, false, nil},
		{"extend an open document check", extend, offered, inTime, true, func(_, s session.Session) bool {
			return s.ExpiresAt.Equal(stored(later))
		}},
		{"extend without one", extend, fresh, inTime, false, nil},
		{"extend too late", extend, offered, tooLate, false, nil},
		{"refuse a document", refuse, offered, inTime, true, tried(session.WayPhoto, 1)},
		{"accept a document", accept, offered, inTime, true, tried(session.WayWallet, 0)},
		{"refuse a document without a check", refuse, fresh, inTime, false, nil},
		{"refuse a document too late", refuse, offered, tooLate, false, nil},
		{"refuse a document after completion", refuse, passed, inTime, false, nil},
		{"agree to the face match", agree, offered, inTime, true, func(_, s session.Session) bool { return s.FaceMatchAt.Equal(stored(inTime)) }},
		{"withdraw it", withdraw, agreed, inTime, true, func(_, s session.Session) bool { return s.FaceMatchAt == nil }},
		{"withdraw it too late", withdraw, agreed, tooLate, false, nil},
		{"agree without a document check", agree, fresh, inTime, false, nil},
		{"agree too late", agree, offered, tooLate, false, nil},
		{"film a document", film, agreed, inTime, true, func(_, s session.Session) bool { return s.DocumentCamera == 11*time.Second }},
		{"film without consent", film, offered, inTime, false, nil},
		{"film over the limit", film, filmed, inTime, false, nil},
		{"film too late", film, agreed, tooLate, false, nil},
		{"bind the first browser", bind, fresh, inTime, true, func(_, s session.Session) bool {
			return bytes.Equal(s.BrowserHash, digest("browser"))
		}},
		{"bind a second browser", bind, bound, inTime, false, nil},
		{"consent in time", consent, fresh, inTime, true, nil},
		{"consent after an attempt", consent, attempted, inTime, false, nil},
		{"consent with the document check open", consent, offered, inTime, false, nil},
		{"consent too late", consent, fresh, tooLate, false, nil},
		{"consent after completion", consent, passed, inTime, false, nil},
		{"first attempt", attempt, fresh, inTime, true, func(before, s session.Session) bool {
			return hasBegun(before, s, stored(inTime))
		}},
		{"second attempt", attempt, begun, inTime, true, func(before, s session.Session) bool {
			return hasBegun(before, s, *before.BegunAt)
		}},
		{"attempt over the limit", attempt, attempted, inTime, false, nil},
		{"attempt with the document check open", attempt, offered, inTime, false, nil},
		{"attempt too late", attempt, fresh, tooLate, false, nil},
		{"attempt returned", giveBack, attempted, inTime, true, func(before, s session.Session) bool {
			return s.Attempts == before.Attempts-1
		}},
		{"attempt returned that never began", giveBack, fresh, inTime, false, nil},
		{"attempt returned with the document check open", giveBack, offered, inTime, false, nil},
		{"attempt returned too late", giveBack, attempted, tooLate, false, nil},
		{"attempt returned of a completed one", giveBack, passed, inTime, false, nil},
		{"strike in time", strike, fresh, inTime, true, func(before, s session.Session) bool {
			return s.Strikes == before.Strikes+1
		}},
		{"strike with the document check open", strike, offered, inTime, false, nil},
		{"strike too late", strike, fresh, tooLate, false, nil},
		{"strike after completion", strike, passed, inTime, false, nil},
	}
	owner := newTenant(t, s)
	bystander := newSession(t, s, owner)
	for _, row := range rows {
		before := sessionOf(t, owner)
		before.ConsentedAt = &at // so that an estimate may be stored
		row.state(&before)
		inTx(t, s, func(tx session.Tx) error { return tx.InsertSession(before) })
		got, err := row.update(t.Context(), s, before.ID, row.now)
		after := byLink(t, s, before)
		switch {
		case err != nil || got != row.want:
			t.Errorf("%s: %t, %v, want %t", row.name, got, err, row.want)
		case !row.want && !reflect.DeepEqual(after, before):
			t.Errorf("%s: refused, yet it changed\n%+v to\n%+v", row.name, before, after)
		case row.check != nil && !row.check(before, after):
			t.Errorf("%s: the session is now %+v", row.name, after)
		}
		if got, err := row.update(t.Context(), s, uuid.New(), row.now); err != nil || got {
			t.Errorf("%s of a missing session: %t, %v", row.name, got, err)
		}
	}
	if after := byLink(t, s, bystander); !reflect.DeepEqual(after, bystander) {
		t.Errorf("another session changed: %+v", after)
	}
}

func testFirstTimesAreKept(t *testing.T, s Store) {
	row := newSession(t, s, newTenant(t, s))
	later := start.Add(time.Minute)
	for _, now := range []time.Time{start, later} {
		wantNoError(t, s.MarkOpened(t.Context(), row.ID, now))
		wantNoError(t, s.MarkRedirected(t.Context(), row.ID, now))
	}
	inTx(t, s, func(tx session.Tx) error {
		_, err := tx.CompleteSession(row.ID, decision(session.StatusPassed, later, nil))
		return err
	})
	got := byLink(t, s, row)
	if got.OpenedAt == nil || !got.OpenedAt.Equal(stored(start)) || got.RedirectedAt == nil || !got.RedirectedAt.Equal(stored(start)) {
		t.Errorf("opened %v, redirected %v, want %v for both", got.OpenedAt, got.RedirectedAt, stored(start))
	}
}

func recordDocument(way session.Way, refused bool) func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
	return func(tx session.Tx, id uuid.UUID, now time.Time) (bool, error) {
		return tx.RecordDocument(id, way, refused, now)
	}
}

// tried checks the way and the attempts of a session that is still open.
func tried(way session.Way, attempts int) func(before, after session.Session) bool {
	return func(_, after session.Session) bool {
		return after.DocumentWay == way && after.DocumentAttempts == attempts && after.Status == session.StatusPending
	}
}

func testConsentIsWithdrawn(t *testing.T, s Store) {
	row := newSession(t, s, newTenant(t, s))
	for _, at := range []*time.Time{&start, nil} {
		var ok bool
		inTx(t, s, func(tx session.Tx) (err error) {
			ok, err = tx.RecordConsent(row.ID, at, start)
			return err
		})
		if got := byLink(t, s, row).ConsentedAt; !ok || (got == nil) != (at == nil) {
			t.Errorf("consent %v: %t, stored %v", at, ok, got)
		}
	}
}

func testCompletionKeepsAnEarlierEstimate(t *testing.T, s Store) {
	row, age := newSession(t, s, newTenant(t, s)), 17.5
	inTx(t, s, func(tx session.Tx) error {
		_, consentErr := tx.RecordConsent(row.ID, &start, start)
		_, offerErr := tx.OfferDocument(row.ID, decision(session.StatusFallback, start, &age), row.ExpiresAt)
		_, err := tx.CompleteSession(row.ID, decision(session.StatusPassed, start, nil))
		return errors.Join(consentErr, offerErr, err)
	})
	if got := byLink(t, s, row).DetectedAge; got == nil || *got != age {
		t.Errorf("estimate %v, want %v", got, age)
	}
}

func testEstimateWithoutConsentIsRefused(t *testing.T, s Store) {
	row, age := newSession(t, s, newTenant(t, s)), 33.0
	err := s.UpdateSessions(t.Context(), func(tx session.Tx) error {
		_, err := tx.CompleteSession(row.ID, decision(session.StatusPassed, start, &age))
		return err
	})
	if err == nil || byLink(t, s, row).DetectedAge != nil {
		t.Errorf("stored an estimate nobody agreed to: %v", err)
	}
}

func testOneOfManyVerdictsWins(t *testing.T, s Store) {
	row := newSession(t, s, newTenant(t, s))
	verdicts := []session.Status{session.StatusPassed, session.StatusFallback, session.StatusSpoof}
	var wins atomic.Int32
	var winner atomic.Value
	concurrently(30, func(i int) {
		to := verdicts[i%len(verdicts)]
		var ok bool
		err := s.UpdateSessions(t.Context(), func(tx session.Tx) (err error) {
			ok, err = tx.CompleteSession(row.ID, decision(to, start, nil))
			return err
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
}

// Of transactions that lock the same session, each sees what those before it
// wrote, also in rows beside the session's.
func testALockedSessionIsReadAfterTheOthers(t *testing.T, s Store) {
	row := newSession(t, s, newTenant(t, s))
	put := func(tx session.Tx, n int) error {
		token := digest(fmt.Sprint(n))
		return tx.PutHandover(session.Handover{LinkHash: row.LinkHash, Nonce: make([]byte, 16), TokenHash: token, ExpiresAt: start})
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
			_, err = tx.AddStrike(row.ID, start)
			return errors.Join(err, put(tx, locked.Strikes+1))
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
}

// concurrently runs fn n times at once and waits for all of them.
func concurrently(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}
