package insight_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// Wilson's interval: values computed by hand from the formula, and its limits by definition.
func TestRateOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		n, of            int64
		share, low, high float64
	}{
		{0, 0, 0, 0, 1},
		{0, 10, 0, 0, 0.27753},
		{10, 10, 1, 0.72247, 1},
		{8, 10, 0.8, 0.49016, 0.94332},
		{1, 2, 0.5, 0.09453, 0.90547},
		{600, 1000, 0.6, 0.56932, 0.62993},
	} {
		r := insight.RateOf(row.n, row.of)
		for i, pair := range [][2]float64{{r.Share, row.share}, {r.Low, row.low}, {r.High, row.high}} {
			if math.Abs(pair[0]-pair[1]) > 0.00002 {
				t.Errorf("%d of %d: value %d is %.5f, want %.5f", row.n, row.of, i, pair[0], pair[1])
			}
		}
	}
}

func TestIDAtDividesIDsByTime(t *testing.T) {
	t.Parallel()
	made := uuid.Must(uuid.NewV7())
	sec, nsec := made.Time().UnixTime()
	at := time.Unix(sec, nsec).Truncate(time.Millisecond)
	if now, later := insight.IDAt(at).String(), insight.IDAt(at.Add(time.Millisecond)).String(); made.String() <= now ||
		made.String() >= later {
		t.Errorf("%s is not between %s and %s", made, now, later)
	}
}

// Every column of a session must be listed, either as held about the shopper or
// as not about the shopper. The author of a new column has to decide.
func TestEveryColumnIsListedAsHeld(t *testing.T) {
	t.Parallel()
	elsewhere := strings.Fields(`ID TenantID Livemode TargetAge SuccessURL OrderRef CancelURL WebhookURL Status ExpiresAt
		Source Basis APIKeyID`)
	held := map[string]insight.HeldKey{
		"LinkHash": "link", "BrowserHash": "browser", "CreatedAt": "created",
		"CompletedAt": "result",
		"ConsentedAt": "consent", "DetectedAge": "estimate", "DocumentOpenedAt": "document",
		"Attempts": "attempts", "Strikes": "strikes", "Setbacks": "setbacks",
		"OpenedAt":     "opened",
		"BegunAt":      "begun",
		"RedirectedAt": "redirected", "DocumentWay": "way", "DocumentAttempts": "refusals",
		"DocumentPreferred": "preferred", "FaceMatchAt": "face_match",
		"DocumentCamera": "filmed", "NextRedirectExpired": "next",
	}
	db := dbtest.Open(t, dbtest.SQLite(t))
	now := time.Now().UTC().Truncate(time.Microsecond)
	age := 84.5
	sess := session.Session{
		ID: uuid.Must(uuid.NewV7()), TenantID: newTenant(t, db, now), TargetAge: 18, Status: session.StatusPassed,
		CreatedAt: now, ExpiresAt: now,
		BrowserHash: make([]byte, 32), CompletedAt: &now, ConsentedAt: &now, DetectedAge: &age, DocumentOpenedAt: &now,
		Attempts: 2, Strikes: 1, Setbacks: []session.Setback{{At: now, Why: session.WhyBusy}},
		OpenedAt: &now, BegunAt: &now, RedirectedAt: &now,
		DocumentWay: session.WayWallet, DocumentAttempts: 1, FaceMatchAt: &now, DocumentCamera: time.Minute,
		DocumentPreferred: true, NextRedirectExpired: true,
	}
	insert(t, db, sess)
	r, err := insight.NewService(db, billing.Limits{}, func() time.Time { return now }).Session(t.Context(),
		insight.Scope{TenantID: sess.TenantID}, sess.ID)
	if err != nil {
		t.Fatal(err)
	}
	busy := func(m insight.Moment) bool { return m.Why == session.WhyBusy && m.At.Equal(now) }
	if !slices.ContainsFunc(r.Timeline, busy) {
		t.Error("the timeline does not say why an attempt gave no result")
	}
	stored := map[insight.HeldKey]bool{}
	for _, h := range r.Held {
		stored[h.Key] = h.Stored
	}
	for field := range reflect.TypeFor[session.Session]().Fields() {
		key, about := held[field.Name]
		if about == slices.Contains(elsewhere, field.Name) || about && !stored[key] {
			t.Errorf("%s is held as %q, stored %t", field.Name, key, stored[key])
		}
	}
	if text := fmt.Sprintf("%+v", r); strings.Contains(text, "84.5") {
		t.Errorf("the record shows the estimate: %s", text)
	}
}

// failing is a store whose queries can be made to fail.
type failing struct {
	insight.Store
	mu     sync.Mutex
	err    error
	counts int
}

func (f *failing) CountSessions(
	ctx context.Context, tenantID uuid.UUID, from, to, now time.Time,
) ([]insight.Group, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts++; f.err != nil {
		return nil, f.err
	}
	return f.Store.CountSessions(ctx, tenantID, from, to, now)
}

func TestOverviewIsKeptForAWhile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		clock := now
		f := &failing{Store: db}
		s := insight.NewService(f, billing.Limits{}, func() time.Time { return clock })
		scope := insight.Scope{TenantID: newTenant(t, db, now)}
		ask := func(wantCounts int, wantAt time.Time, wantStale bool) {
			t.Helper()
			o, err := s.Overview(t.Context(), scope, insight.WindowWeek, time.UTC)
			if err != nil || f.counts != wantCounts || !o.AsOf.Equal(wantAt) || o.Stale != wantStale {
				t.Errorf("at %s: as of %s, stale %t, counted %d times, %v", clock, o.AsOf, o.Stale, f.counts, err)
			}
		}
		f.err = errors.New("down")
		if _, err := s.Overview(t.Context(), scope, insight.WindowWeek, time.UTC); err == nil {
			t.Error("the first figures came from nowhere")
		}
		f.err = nil
		ask(2, now, false)
		clock = now.Add(14 * time.Second)
		ask(2, now, false)
		clock = now.Add(15 * time.Second)
		f.err = errors.New("down")
		ask(3, now, true)
		f.err = nil
		ask(4, clock, false)
		if _, err := s.Overview(t.Context(), scope, "1y", time.UTC); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("an unknown window: %v", err)
		}
	})
}

func TestAllowanceLasts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
		scope := insight.Scope{TenantID: newTenant(t, db, now.AddDate(0, 0, -4)), Livemode: true}
		day := now.Unix() / 86400
		for i, n := range []int64{6, 2} { // eight units in the four whole days since the tenant was made
			days := []insight.LedgerDay{{Day: day - 3 + int64(i), Kind: billing.EntrySettle, Source: billing.SourceFree, N: n}}
			if ok, err := db.FoldLedger(t.Context(), scope.TenantID, []int64{0, day - 2}[i], day-3+int64(i), days); !ok ||
				err != nil {
				t.Fatal(ok, err)
			}
		}
		err := db.UpdateBilling(t.Context(), func(tx billing.Tx) error {
			for range 3 {
				if _, err := tx.TakeCounter(billing.Quota{TenantID: scope.TenantID, Livemode: true, Period: "2026-03",
					Limit: 500}, 1); err != nil {
					return err
				}
			}
			quota := billing.Quota{TenantID: scope.TenantID, Period: billing.Day(now), Limit: 5}
			if _, err := tx.TakeCounter(quota, 2); err != nil {
				return err
			}
			_, err := tx.AddCredit(scope.TenantID, 4)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s := insight.NewService(db, billing.Limits{FreeChecksPerMonth: 10, TestDailyCap: 5}, func() time.Time { return now })
		o, err := s.Overview(t.Context(), scope, insight.WindowDay, time.UTC)
		if a := o.Allowance; err != nil || a == nil || a.FreeLeft != 7 || a.Credit != 4 || a.PerDay != 2 ||
			a.DaysLeft == nil || *a.DaysLeft != 5 || a.TestLimit != 5 || a.TestLeft != 3 {
			t.Errorf("allowance %+v, %v", o.Allowance, err)
		}
	})
}

// A tenant that is refused in very many ways loses only its own counts. If the
// database does not answer, no counts are lost.
func TestRefusalsOfOneCostOthersNothing(t *testing.T) {
	t.Parallel()
	f := &refusals{wrote: map[insight.Scope]int64{}}
	now := time.Now()
	r := insight.NewRecorder(f, func() time.Time { return now })
	loud, quiet := insight.Scope{TenantID: uuid.New()}, insight.Scope{TenantID: uuid.New()}
	for i := range 5000 {
		r.Record(insight.Refusal{Scope: loud, Loc: fmt.Sprint("body.", i)}, "x")
	}
	r.Record(insight.Refusal{Scope: quiet, Loc: strings.Repeat("l", 1000)}, "x")
	f.err = errors.New("down")
	if err := r.Flush(t.Context()); err == nil || f.wrote[quiet] != 0 {
		t.Errorf("the database is down: %v, wrote %v", err, f.wrote)
	}
	r.Record(insight.Refusal{Scope: quiet, Loc: strings.Repeat("l", 1000)}, "y")
	f.err = nil
	for range 2 {
		if err := r.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if f.wrote[quiet] != 2 || f.wrote[loud] != 100 || f.longest > 100 {
		t.Errorf("wrote %v, texts of up to %d bytes", f.wrote, f.longest)
	}
}

type refusals struct {
	insight.RefusalStore
	err     error
	wrote   map[insight.Scope]int64
	longest int
}

func (f *refusals) AddRefusals(_ context.Context, scope insight.Scope, counts []insight.RefusalCount, _ int) error {
	if f.err != nil {
		return f.err
	}
	for _, c := range counts {
		f.wrote[scope] += c.N
		f.longest = max(f.longest, len(c.Loc))
	}
	return nil
}

// A filter that selects few of many sessions gives short pages instead of a
// long search, and the pages together find all.
func TestRareSessionsAreFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		scope := insight.Scope{TenantID: newTenant(t, db, now)}
		var all []session.Session
		for i := range 2500 {
			made := now.Add(time.Duration(i-2500) * time.Minute)
			sess := session.Session{
				TenantID: scope.TenantID, TargetAge: 18, Status: session.StatusPending, CreatedAt: made,
				ExpiresAt: made.Add(30 * time.Minute),
			}
			if i%1000 == 0 {
				sess.TargetAge = 16
			}
			sess.ID = uuid.Must(uuid.NewV7())
			prefix := insight.IDAt(made)
			copy(sess.ID[:6], prefix[:6])
			sum := sha256.Sum256(sess.ID[:])
			sess.LinkHash = sum[:]
			all = append(all, sess)
		}
		err := db.UpdateSessions(ctx, func(tx session.Tx) error {
			for _, sess := range all {
				if err := tx.InsertSessions(sess); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s := insight.NewService(db, billing.Limits{}, func() time.Time { return now })
		var found, pages int
		for cursor := uuid.Nil; ; pages++ {
			page, err := s.Sessions(t.Context(), scope, insight.SessionFilter{TargetAge: 16}, cursor)
			if err != nil {
				t.Fatal(err)
			}
			found += len(page.Rows)
			if cursor = page.Next; cursor == uuid.Nil {
				break
			}
		}
		if found != 3 || pages != 5 {
			t.Errorf("%d sessions on %d pages and one", found, pages)
		}
		page, err := s.Sessions(t.Context(), scope, insight.SessionFilter{Status: session.StatusPending}, uuid.Nil)
		if err != nil || len(page.Rows) != 29 {
			t.Errorf("%d pending, %v", len(page.Rows), err)
		}
	})
}
