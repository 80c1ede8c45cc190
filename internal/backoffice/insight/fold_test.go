package insight_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// TestSumsEqualRows simulates weeks in which two replicas fold, are interrupted and fold again, while sessions are
// created, end and are deleted. The figures must always equal a count of all sessions.
func TestSumsEqualRows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			m := newMachine(t, db)
			t.Repeat(map[string]func(*rapid.T){
				"":               m.check,
				"create":         m.create,
				"complete":       m.complete,
				"wait":           m.wait,
				"fold":           m.fold,
				"fold, cut off":  m.foldCutOff,
				"fold at once":   m.foldTwice,
				"delete":         m.remove,
				"ledger entries": m.enter,
			})
		})
	})
}

type machine struct {
	db       *store.Store
	tenant   uuid.UUID
	now      time.Time
	sessions []session.Session // the sessions that the figures must count
	entries  []billing.Entry
	removed  bool // a session was deleted
}

var ctx = context.Background()

func newTenant(t interface{ Fatal(...any) }, db *store.Store, created time.Time) uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	err := db.CreateTenant(ctx, tenant.Tenant{ID: id, Name: "Shop", CreatedAt: created}, nil, nil,
		audit.Act{Scope: audit.Instance, At: created, Actor: audit.System("test"), Action: audit.TenantCreate})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func newMachine(t *rapid.T, db *store.Store) *machine {
	now := time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC).Add(seconds(t, "start", 10*24*3600))
	return &machine{db: db, now: now, tenant: newTenant(t, db, now)}
}

func seconds(t *rapid.T, label string, most int) time.Duration {
	return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Second
}

func (m *machine) service() *insight.Service {
	return insight.NewService(m.db, billing.Limits{}, func() time.Time { return m.now })
}

// insert stores a session in any state.
func insert(t interface{ Fatal(...any) }, db *store.Store, s session.Session) {
	sum := sha256.Sum256(s.ID[:])
	s.LinkHash = sum[:]
	if err := db.UpdateSessions(ctx, func(tx session.Tx) error { return tx.InsertSessions(s) }); err != nil {
		t.Fatal(err)
	}
}

// create creates a session with a random end up to a day later. The end takes
// effect only when the test's clock reaches it.
func (m *machine) create(t *rapid.T) {
	s := session.Session{
		ID: uuid.Must(uuid.NewV7()), TenantID: m.tenant, Livemode: rapid.Bool().Draw(t, "live"),
		TargetAge: rapid.SampledFrom([]int{16, 18}).Draw(t, "age"), CreatedAt: m.now.Add(-seconds(t, "made", 1200)),
		Status: rapid.SampledFrom([]session.Status{
			session.StatusPending, session.StatusPassed, session.StatusFallback, session.StatusSpoof, session.StatusExpired,
		}).Draw(t, "status"),
	}
	s.ExpiresAt = s.CreatedAt.Add(rapid.SampledFrom([]time.Duration{30 * time.Minute, session.MaxLifetime}).Draw(t,
		"life"))
	if upto, err := m.db.FoldedUpto(ctx, insight.SumSessions, m.tenant); err != nil || s.CreatedAt.Unix()/3600 < upto {
		t.Fatal("an hour was folded that sessions are still made in", err)
	}
	after := func(from time.Time) *time.Time {
		at := from.Add(time.Duration(rapid.IntRange(0, 9000).Draw(t, "after")) * 10 * time.Millisecond)
		return &at
	}
	if s.Status == session.StatusExpired {
		s.ExpiresAt = s.CreatedAt // the session is already stored, so its expiry has passed
	}
	if rapid.Bool().Draw(t, "opened") {
		s.OpenedAt = after(s.CreatedAt)
	}
	if rapid.Bool().Draw(t, "begun") {
		s.BegunAt = after(s.CreatedAt)
	}
	if s.Status != session.StatusPending && s.Status != session.StatusExpired {
		s.Source = rapid.SampledFrom([]session.Source{session.SourceCamera, session.SourceForced, session.SourceDocument,
			""}).Draw(t, "source")
		from := s.CreatedAt
		if s.OpenedAt != nil {
			from = *s.OpenedAt
		}
		s.CompletedAt = after(from)
	} else if rapid.IntRange(0, 3).Draw(t, "receiver") == 0 {
		s.Source = session.SourceReceiver // counts nowhere
		insert(t, m.db, s)
		return
	}
	insert(t, m.db, s)
	m.sessions = append(m.sessions, s)
}

// complete passes an open session.
func (m *machine) complete(t *rapid.T) {
	i := slices.IndexFunc(m.sessions, func(s session.Session) bool { return s.StatusAt(m.now) == session.StatusPending })
	if i < 0 {
		t.Skip("none is open")
	}
	s := &m.sessions[i]
	now := m.now
	err := m.db.UpdateSessions(ctx, func(tx session.Tx) error {
		saved, err := tx.LockSession(s.ID)
		if err != nil {
			return err
		}
		if saved.OpenedAt == nil {
			saved.OpenedAt = &now
		}
		saved.Status, saved.Source, saved.CompletedAt = session.StatusPassed, session.SourceDocument, &now
		return tx.SaveSession(saved)
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.OpenedAt == nil {
		s.OpenedAt = &now
	}
	s.Status, s.Source, s.CompletedAt = session.StatusPassed, session.SourceDocument, &now
}

func (m *machine) enter(t *rapid.T) {
	e := billing.Entry{
		ID: uuid.Must(uuid.NewV7()), TenantID: m.tenant, CreatedAt: m.now,
		Kind: rapid.SampledFrom([]billing.EntryKind{billing.EntryHold, billing.EntrySettle, billing.EntryTopUp}).Draw(t,
			"kind"),
		Source: billing.SourceCredit, Delta: int64(rapid.IntRange(-2, 9).Draw(t, "delta")),
	}
	if err := m.db.UpdateBilling(ctx, func(tx billing.Tx) error { return tx.AppendEntries(e) }); err != nil {
		t.Fatal(err)
	}
	m.entries = append(m.entries, e)
}

func (m *machine) wait(t *rapid.T) {
	m.now = m.now.Add(seconds(t, "wait", rapid.SampledFrom([]int{5000, 30 * 3600, 9 * 24 * 3600}).Draw(t, "at most")))
}

func (m *machine) fold(t *rapid.T) {
	if err := m.service().Fold(ctx, func(time.Time) {}); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) foldCutOff(t *rapid.T) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	left := rapid.IntRange(0, 3).Draw(t, "steps")
	err := m.service().Fold(ctx, func(time.Time) {
		if left--; left <= 0 {
			stop()
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func (m *machine) foldTwice(t *rapid.T) {
	done := make(chan error)
	for range 2 {
		go func() { done <- m.service().Fold(ctx, func(time.Time) {}) }()
	}
	if err := errors.Join(<-done, <-done); err != nil {
		t.Fatal(err)
	}
}

// remove deletes a session: the figures forget it unless its hour was folded.
func (m *machine) remove(t *rapid.T) {
	if len(m.sessions) == 0 {
		t.Skip("there is none")
	}
	i := rapid.IntRange(0, len(m.sessions)-1).Draw(t, "which")
	upto, err := m.db.FoldedUpto(ctx, insight.SumSessions, m.tenant)
	if err == nil {
		err = m.db.UpdateRecords(ctx, func(tx session.RecordTx) error { return tx.DeleteRecords([]uuid.UUID{m.sessions[i].ID}) })
	}
	if err != nil {
		t.Fatal(err)
	}
	m.removed = true
	if m.sessions[i].CreatedAt.Unix()/3600 >= upto {
		m.sessions = slices.Delete(m.sessions, i, i+1)
	}
}

func (m *machine) check(t *rapid.T) {
	live := rapid.Bool().Draw(t, "live")
	w := rapid.SampledFrom([]insight.Window{insight.WindowDay, insight.WindowWeek, insight.WindowMonth}).Draw(t, "window")
	zones := []string{"UTC", "America/Los_Angeles", "Asia/Kolkata", "Asia/Kathmandu"}
	if m.removed { // see Service.countFrom
		zones = zones[:2]
	}
	zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.service().Overview(ctx, insight.Scope{TenantID: m.tenant, Livemode: live}, w, zone)
	if err != nil {
		t.Fatal(err)
	}
	want := m.count(live, got.From)
	if got.Counts != want.Counts || got.Earned.Created != want.Earned.Created || got.Earned.Passed != want.Earned.Passed ||
		got.Funnel != want.Funnel || got.Times != want.Times || !reflect.DeepEqual(got.Sources, want.Sources) {
		t.Fatalf("%s, live %t, from %s at %s:\n%+v\nwant\n%+v", w, live, got.From, m.now, got, want)
	}
	for i, p := range got.Series {
		end := m.now.Add(time.Hour)
		if i+1 < len(got.Series) {
			end = got.Series[i+1].Start
		}
		if n := m.created(live, p.Start, end); n != p.Created {
			t.Fatalf("%s: %d sessions from %s, want %d", w, p.Created, p.Start, n)
		}
	}
	m.checkLedger(t)
}

func (m *machine) checkLedger(t *rapid.T) {
	from := m.now.Add(-10 * 24 * time.Hour).Truncate(24 * time.Hour)
	days, err := m.service().Ledger(ctx, m.tenant, from)
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[insight.LedgerDay]bool{}, map[insight.LedgerDay]insight.LedgerDay{}
	for _, d := range days {
		got[d] = true
	}
	for _, e := range m.entries {
		if e.CreatedAt.Before(from) {
			continue
		}
		key := insight.LedgerDay{Day: e.CreatedAt.Unix() / 86400, Kind: e.Kind, Source: e.Source}
		sum := want[key]
		key.N, key.Delta = sum.N+1, sum.Delta+e.Delta
		want[insight.LedgerDay{Day: key.Day, Kind: key.Kind, Source: key.Source}] = key
	}
	for _, d := range want {
		if !got[d] || len(days) != len(want) {
			t.Fatalf("the ledger's days are %+v, want %+v", days, want)
		}
	}
}

func (m *machine) created(live bool, from, to time.Time) (n int64) {
	for _, s := range m.sessions {
		if s.Livemode == live && !s.CreatedAt.Before(from) && s.CreatedAt.Before(to) {
			n++
		}
	}
	return n
}

// count computes the overview from all sessions, one by one.
func (m *machine) count(live bool, from time.Time) insight.Overview {
	o := insight.Overview{Sources: map[session.Source]int64{}}
	for _, s := range m.sessions {
		if s.Livemode != live || s.CreatedAt.Before(from) {
			continue
		}
		o.Counts.Created++
		if s.Source != session.SourceForced {
			o.Earned.Created++
		}
		switch s.StatusAt(m.now) {
		case session.StatusPending:
			o.Counts.Pending++
		case session.StatusExpired:
			o.Counts.Expired++
		case session.StatusPassed:
			o.Counts.Passed++
			if s.Source != session.SourceForced {
				o.Earned.Passed++
			}
		case session.StatusFallback:
			o.Counts.Fallback++
		case session.StatusSpoof:
			o.Counts.Spoof++
		}
		if s.Source != "" {
			o.Sources[s.Source]++
		}
		if s.Source == session.SourceForced {
			continue
		}
		o.Funnel.Created++
		decided := s.CompletedAt != nil
		if decided || s.OpenedAt != nil {
			o.Funnel.Opened++
		}
		if decided || s.BegunAt != nil {
			o.Funnel.Begun++
		}
		if !decided {
			continue
		}
		o.Funnel.Decided++
		opened := s.CreatedAt
		if s.OpenedAt != nil {
			opened = *s.OpenedAt
		}
		bucket := 0
		for bucket < len(insight.Buckets) && s.CompletedAt.Sub(opened) >= insight.Buckets[bucket] {
			bucket++
		}
		o.Times[bucket]++
	}
	o.Funnel.Passed = o.Earned.Passed
	return o
}
