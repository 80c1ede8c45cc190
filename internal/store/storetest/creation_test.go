package storetest

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/billing"
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

// buy creates sessions in all the ways of billing.Purchases until one succeeds,
// and reports which (from 1), or 0.
func buy(
	t testing.TB, s Store, owner tenant.Terms, terms billing.Terms, sessions []session.Session,
	claims ...session.IdempotencyClaim,
) int {
	t.Helper()
	var charges []billing.Charge
	for _, sess := range sessions {
		charges = append(charges, billing.Charge{
			TenantID: terms.TenantID, SessionID: sess.ID, Livemode: terms.Livemode, Now: stored(start),
			ExpiresAt: sess.ExpiresAt,
		})
	}
	way := 0
	for p, err := range billing.Purchases(terms, charges) {
		if err != nil {
			t.Fatal(err)
		}
		way++
		created, err := s.CreateSessions(t.Context(), owner, sessions, claims, p)
		if err != nil {
			t.Fatal(err)
		}
		if created {
			return way
		}
	}
	return 0
}

func TestSessionsCreatedTogetherComeBackAsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		for _, livemode := range []bool{true, false} {
			sessions := newSessions(t, owner, 3)
			if buy(t, s, owner.Terms(), billing.Terms{TenantID: owner.ID, Livemode: livemode, Period: "2026-03", Limit: 3},
				sessions) != 1 {
				t.Fatal("nothing was created")
			}
			for _, want := range sessions {
				got, err := s.SessionByID(t.Context(), owner.ID, want.ID)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("came back as %+v, %v, want %+v", got, err, want)
				}
			}
			entries, err := s.Entries(t.Context(), owner.ID, uuid.Nil, 10)
			if err != nil || len(entries) != 3 {
				t.Fatalf("%d entries, %v, want one of each live session", len(entries), err)
			}
			for _, e := range entries {
				if e.Kind != billing.EntryHold || e.Source != billing.SourceFree || e.Delta != -1 || e.Period != "2026-03" {
					t.Errorf("entry %+v", e)
				}
			}
			var hold billing.Hold
			inTx(t, s, func(tx session.Tx) (err error) {
				hold, _, err = tx.SettleHold(sessions[2].ID)
				return err
			})
			want := billing.Hold{}
			if livemode {
				want = billing.Hold{
					SessionID: sessions[2].ID, TenantID: owner.ID, Source: billing.SourceFree, Period: "2026-03",
					ExpiresAt: sessions[2].ExpiresAt,
				}
			}
			if hold != want {
				t.Errorf("hold %+v, want %+v", hold, want)
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
	if buy(t, s, owner.Terms(), billing.Terms{TenantID: owner.ID, Livemode: true, Period: "2026-03", Limit: 2},
		sessions) != 1 {
		t.Fatal("nothing was created")
	}
	for _, want := range sessions {
		if got, err := s.SessionByID(t.Context(), owner.ID, want.ID); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("came back as %+v, %v, want %+v", got, err, want)
		}
	}
}

// TestEachFieldOfACreatedSessionIsStored: the statement for new sessions, which names
// fewer columns, is not used for a session to which anything has happened.
func TestEachFieldOfACreatedSessionIsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		full := reflect.ValueOf(fullSession(t, owner))
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
			if buy(t, s, owner.Terms(), billing.Terms{TenantID: owner.ID, Livemode: want.Livemode, Period: "2026-03",
				Limit: 100}, []session.Session{want}) != 1 {
				t.Fatal("nothing was created")
			}
			if got, err := s.SessionByID(t.Context(), owner.ID, want.ID); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: came back as %+v, %v, want %+v", field.Name, got, err, want)
			}
		}
	})
}

func TestSessionsAreCreatedTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		addCredit(t, s, owner.ID, 4)
		terms := func(limit int64) billing.Terms {
			return billing.Terms{TenantID: owner.ID, Livemode: true, Period: "2026-03", Limit: limit}
		}
		const free, credit = 1, 2
		for _, step := range []struct {
			name   string
			n      int
			limit  int64
			want   int
			credit int64 // left afterwards
		}{
			{"free", 2, 3, free, 4},
			{"more than is left free", 2, 3, 0, 4},
			{"the last free one", 1, 3, free, 4},
			{"from the credit", 3, 3, credit, 1},
			{"more than the credit", 2, 3, 0, 1},
			{"the last of the credit", 1, 0, credit, 0},
			{"nothing left", 1, 3, 0, 0},
			{"without a limit", 5, billing.Unlimited, free, 0},
		} {
			sessions := newSessions(t, owner, step.n)
			if got := buy(t, s, owner.Terms(), terms(step.limit), sessions); got != step.want {
				t.Errorf("%s: way %d, want %d", step.name, got, step.want)
			}
			for _, sess := range sessions {
				if _, err := s.SessionByID(t.Context(), owner.ID, sess.ID); (err == nil) != (step.want != 0) {
					t.Errorf("%s: session is there: %v", step.name, err)
				}
			}
			if left, err := s.Credit(t.Context(), owner.ID); err != nil || left != step.credit {
				t.Errorf("%s: credit %d, %v, want %d", step.name, left, err, step.credit)
			}
		}
	})
}

// TestTenantsCreateAtTheSameTime: creations of several tenants may share a
// transaction, but what one tenant lacks does not concern another.
func TestTenantsCreateAtTheSameTime(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		name          string
		limit, credit int64
		expired       int // holds of the period
		want          int // the way to pay for three sessions
		changed       bool
	}{
		{"enough free units", 3, 0, 0, 1, false},
		{"enough credit", 0, 3, 0, 2, false},
		{"neither", 0, 0, 0, 0, false},
		{"credit, but the allowance is not used up", 2, 3, 0, 0, false},
		{"credit, but a free unit is about to return", 1, 3, 1, 0, false},
		{"enough free units, but the terms have changed", 3, 0, 0, 0, true},
		{"enough credit, but the terms have changed", 0, 3, 0, 0, true},
	}
	each(t, func(t *testing.T, s Store) {
		const tenants = 42
		var all [tenants][]session.Session
		var ways [tenants]int
		var wg sync.WaitGroup
		for i := range tenants {
			kind, owner := kinds[i%len(kinds)], newTenant(t, s)
			terms := billing.Terms{TenantID: owner.ID, Livemode: true, Period: "2026-03", Limit: kind.limit}
			for range kind.expired {
				expired := sessionOf(t, owner)
				expired.ExpiresAt = stored(start.Add(-time.Second))
				buy(t, s, owner.Terms(), terms, []session.Session{expired})
			}
			all[i] = newSessions(t, owner, 3)
			addCredit(t, s, owner.ID, kind.credit)
			if kind.changed {
				owner.WebhookURL += "/old"
			}
			wg.Go(func() { ways[i] = buy(t, s, owner.Terms(), terms, all[i]) })
		}
		wg.Wait()
		for i, way := range ways {
			kind := kinds[i%len(kinds)]
			if way != kind.want {
				t.Errorf("%s: way %d, want %d", kind.name, way, kind.want)
			}
			for _, sess := range all[i] {
				if _, err := s.SessionByID(t.Context(), sess.TenantID, sess.ID); (err == nil) != (kind.want != 0) {
					t.Errorf("%s: session is there: %v", kind.name, err)
				}
			}
		}
	})
}

// TestCreditWaitsForExpiredHolds: a unit that is about to return to the free
// allowance is used before a prepaid one.
func TestCreditWaitsForExpiredHolds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		addCredit(t, s, owner.ID, 4)
		terms := billing.Terms{TenantID: owner.ID, Livemode: true, Period: "2026-03", Limit: 1}
		expired := sessionOf(t, owner)
		expired.ExpiresAt = stored(start.Add(-time.Second))
		if buy(t, s, owner.Terms(), terms, []session.Session{expired}) != 1 {
			t.Fatal("no free unit")
		}
		if buy(t, s, owner.Terms(), terms, newSessions(t, owner, 1)) != 0 {
			t.Error("credit was taken beside an expired hold")
		}
		other := terms
		other.Period, other.Limit = "2026-04", 0
		if buy(t, s, owner.Terms(), other, newSessions(t, owner, 1)) != 2 {
			t.Error("another month's hold kept the credit")
		}
	})
}

func TestSessionsCreatedTogetherClaimTheirKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		terms := billing.Terms{TenantID: owner.ID, Livemode: true, Period: "2026-03", Limit: 10}
		claim := func(key string, sess session.Session) session.IdempotencyClaim {
			return session.IdempotencyClaim{
				TenantID: owner.ID, Livemode: true, KeyHash: digest(key), RequestHash: digest("request"),
				SessionID: sess.ID, SealedLink: []byte("sealed"), SessionEnd: sess.ExpiresAt,
				ExpiresAt: stored(start.Add(time.Hour)),
			}
		}
		for _, step := range []struct {
			name string
			keys [2]string
			want int
		}{
			{"two new keys", [2]string{"a", "b"}, 1},
			{"one in use", [2]string{"c", "b"}, 0},
			{"the same twice", [2]string{"c", "c"}, 0},
			{"new again", [2]string{"c", "d"}, 1},
		} {
			sessions := newSessions(t, owner, 2)
			if got := buy(t, s, owner.Terms(), terms, sessions, claim(step.keys[0], sessions[0]),
				claim(step.keys[1], sessions[1])); got != step.want {
				t.Errorf("%s: way %d, want %d", step.name, got, step.want)
			}
			for i, sess := range sessions {
				if _, err := s.ClaimOf(t.Context(), sess.ID); (err == nil) != (step.want != 0) {
					t.Errorf("%s: claim %d: %v", step.name, i, err)
				}
			}
		}
	})
}
