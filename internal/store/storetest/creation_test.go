package storetest

import (
	"errors"
	"reflect"
	"testing"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

// newSessions returns sessions of a tenant. The first has every field set.
func newSessions(t testing.TB, owner tenant.Tenant, n int) (sessions []session.Session) {
	t.Helper()
	sessions = append(sessions, fullSession(t, owner))
	for len(sessions) < n {
		sessions = append(sessions, sessionOf(t, owner))
	}
	return sessions
}

// insertTogether inserts sessions with their holds.
func insertTogether(t testing.TB, s Store, sessions []session.Session) {
	t.Helper()
	var holds []billing.Hold
	for _, sess := range sessions {
		holds = append(holds, hold(sess, billing.SourceFree, "2026-03"))
	}
	inTx(t, s, func(tx session.Tx) error {
		return errors.Join(tx.InsertSessions(sessions...), tx.InsertHolds(holds...))
	})
}

func wantSessions(t testing.TB, s Store, sessions []session.Session) {
	t.Helper()
	for _, want := range sessions {
		got, err := s.SessionByID(t.Context(), want.TenantID, want.ID)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("came back as %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestSessionsCreatedTogetherComeBackAsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		sessions := newSessions(t, newTenant(t, s), 3)
		insertTogether(t, s, sessions)
		wantSessions(t, s, sessions)
		for _, sess := range sessions {
			var got billing.Hold
			inTx(t, s, func(tx session.Tx) (err error) {
				got, _, err = tx.SettleHold(sess.ID)
				return err
			})
			if want := hold(sess, billing.SourceFree, "2026-03"); got != want {
				t.Errorf("hold %+v, want %+v", got, want)
			}
		}
	})
}

// TestSessionsAreCreatedInTheSimpleProtocol: some poolers need pgx's simple protocol,
// in which values are written into the statement.
func TestSessionsAreCreatedInTheSimpleProtocol(t *testing.T) {
	t.Parallel()
	s := dbtest.Open(t, pgtest.URL(t)+"&default_query_exec_mode=simple_protocol")
	owner := newTenant(t, s)
	sessions := newSessions(t, owner, 2)
	insertTogether(t, s, sessions)
	wantSessions(t, s, sessions)
	if !take(t, s, owner.ID, "2026-03", 1) || take(t, s, owner.ID, "2026-03", 1) {
		t.Error("a counter with a limit of 1 was not taken once")
	}
}

// TestEachFieldOfACreatedSessionIsStored: each field goes into its own column.
func TestEachFieldOfACreatedSessionIsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		full := reflect.ValueOf(fullSession(t, owner))
		var sessions []session.Session
		for field, value := range full.Fields() {
			want := sessionOf(t, owner)
			switch field.Name {
			case "ID", "LinkHash": // these are unique
			case "DetectedAge":
				want.ConsentedAt, want.DetectedAge = new(stored(start)), new(30.5) // the table has no estimate without consent
			case "NextRedirectExpired":
				want.Livemode, want.NextRedirectExpired = false, true // the table has it for test sessions only
			default:
				reflect.ValueOf(&want).Elem().FieldByIndex(field.Index).Set(value)
			}
			sessions = append(sessions, want)
		}
		inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(sessions...) })
		wantSessions(t, s, sessions)
	})
}

func TestUnpaidSessionsAreDropped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		sessions := newSessions(t, newTenant(t, s), 4)
		inTx(t, s, func(tx session.Tx) error {
			return errors.Join(tx.InsertSessions(sessions...), tx.DropUnpaid(sessions[2:]...))
		})
		wantSessions(t, s, sessions[:2])
		for _, sess := range sessions[2:] {
			_, err := s.SessionByID(t.Context(), sess.TenantID, sess.ID)
			wantCode(t, "dropped", err, fault.NotFound)
		}
	})
}
