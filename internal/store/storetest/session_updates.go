package storetest

import (
	"bytes"
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/session"
)

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
