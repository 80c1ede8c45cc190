package storetest

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// start is the time of the fixtures. It is not UTC and finer than a microsecond,
// to test that the store accepts any time.
var start = time.Date(2026, 3, 31, 23, 59, 59, 123456789, time.FixedZone("", 2*60*60))

// anAct is the act that tests write to the audit log if its content does not
// matter.
var anAct = audit.Act{Scope: audit.Instance, At: start, Actor: audit.System("test"), Action: audit.TenantUpdate}

// stored is a time as the store returns it.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func id(t testing.TB) uuid.UUID {
	t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:]
}

// newTenant stores a tenant without keys and secrets.
func newTenant(t testing.TB, s Store) tenant.Tenant {
	t.Helper()
	row := tenant.Tenant{ID: id(t), Name: "Bottle Shop", CreatedAt: stored(start)}
	if err := s.CreateTenant(t.Context(), row, nil, nil, anAct); err != nil {
		t.Fatal(err)
	}
	return row
}

// sessionOf returns a pending session that expires 30 minutes after start.
func sessionOf(t testing.TB, owner tenant.Tenant) session.Session {
	t.Helper()
	id := id(t)
	return session.Session{
		ID: id, TenantID: owner.ID, Livemode: true, TargetAge: 18,
		SuccessURL: "https://shop.example/ok?a=b&c=é", CancelURL: "https://shop.example/no",
		LinkHash: digest(id.String()), Status: session.StatusPending,
		CreatedAt: stored(start), ExpiresAt: stored(start.Add(30 * time.Minute)),
	}
}

// newSession stores a pending session.
func newSession(t testing.TB, s Store, owner tenant.Tenant) session.Session {
	t.Helper()
	row := sessionOf(t, owner)
	inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(row) })
	return row
}

// inTx runs fn in a transaction that must succeed.
func inTx(t testing.TB, s Store, fn func(tx session.Tx) error) {
	t.Helper()
	err := s.UpdateSessions(t.Context(), func(tx session.Tx) error { return fn(tx) })
	if err != nil {
		t.Fatal(err)
	}
}

// hold returns the session's hold on one unit.
func hold(s session.Session, source billing.Source, period string) billing.Hold {
	return billing.Hold{SessionID: s.ID, TenantID: s.TenantID, Source: source, Period: period, ExpiresAt: s.ExpiresAt}
}

func byLink(t testing.TB, s Store, want session.Session) session.Session {
	t.Helper()
	got, err := s.SessionByLink(t.Context(), want.LinkHash)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantCode(t testing.TB, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: error %v, want %s", what, err, code)
	}
}

func wantNoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sealed(s string) []byte { return bytes.Repeat([]byte(s), 8) }
