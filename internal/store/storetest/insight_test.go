package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

// idOf returns a UUID version 7 of a time.
func idOf(t testing.TB, made time.Time) uuid.UUID {
	t.Helper()
	id := id(t)
	prefix := insight.IDAt(made)
	copy(id[:6], prefix[:6])
	return id
}

// listed inserts one session per hour, alternating status and mode, the newest
// last, and returns them newest first.
func listed(t *testing.T, s Store, owner tenant.Tenant, n int) []session.Session {
	t.Helper()
	statuses := []session.Status{session.StatusPending, session.StatusPassed, session.StatusFallback, session.StatusSpoof,
		session.StatusExpired}
	var list []session.Session
	for i := range n {
		row := sessionOf(t, owner)
		row.CreatedAt = stored(start).Add(time.Duration(i) * time.Hour)
		row.ID, row.ExpiresAt, row.Status = idOf(t, row.CreatedAt), row.CreatedAt.Add(30*time.Minute), statuses[i%5]
		row.Livemode, row.TargetAge = i%3 != 0, 16+i%2*2
		if row.Status != session.StatusPending && row.Status != session.StatusExpired {
			done := row.CreatedAt.Add(7 * time.Second)
			row.CompletedAt, row.Source = &done, session.SourceCamera
		}
		inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(row) })
		list = append([]session.Session{row}, list...)
	}
	return list
}

func TestSessionsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		listed(t, s, newTenant(t, s), 10)
		all := listed(t, s, owner, 40)
		now := stored(start).Add(39*time.Hour + time.Minute)
		from, to := stored(start).Add(10*time.Hour), stored(start).Add(20*time.Hour)
		for _, live := range []bool{true, false} {
			for name, f := range map[string]insight.SessionFilter{
				"all": {}, "pending": {Status: session.StatusPending}, "expired": {Status: session.StatusExpired},
				"passed": {Status: session.StatusPassed}, "spoof": {Status: session.StatusSpoof}, "of an age": {TargetAge: 18},
				"of a time": {From: from, To: to}, "of all": {Status: session.StatusExpired, TargetAge: 16, From: from, To: to},
				"of no age": {TargetAge: 77}, "of no known status": {Status: "'; x"},
			} {
				q := insight.SessionQuery{Scope: insight.Scope{TenantID: owner.ID, Livemode: live}, SessionFilter: f, Now: now,
					Limit: 3}
				var want []insight.SessionRow
				for _, row := range all {
					if selects(q, row) {
						want = append(want, rowOf(row, now))
					}
				}
				if got := pages(t, s, q); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, live %t: %+v\nwant %+v", name, live, got, want)
				}
				if got := pagesBack(t, s, q); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, live %t, from the oldest: %+v\nwant %+v", name, live, got, want)
				}
			}
		}
	})
}

func selects(q insight.SessionQuery, s session.Session) bool {
	return s.Livemode == q.Livemode && slices.Contains([]session.Status{"", s.StatusAt(q.Now)}, q.Status) &&
		slices.Contains([]int{0, s.TargetAge}, q.TargetAge) &&
		!s.CreatedAt.Before(q.From) && (q.To.IsZero() || s.CreatedAt.Before(q.To))
}

func rowOf(s session.Session, now time.Time) insight.SessionRow {
	return insight.SessionRow{
		ID: s.ID, Status: s.StatusAt(now), TargetAge: s.TargetAge, Source: s.Source,
		CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt, CompletedAt: s.CompletedAt,
	}
}

// pages returns everything that a query finds, page by page.
func pages(t *testing.T, s Store, q insight.SessionQuery) (rows []insight.SessionRow) {
	t.Helper()
	for {
		found, err := s.ListSessions(t.Context(), q)
		wantNoError(t, err)
		if rows = append(rows, found.Rows...); len(found.Rows) < q.Limit {
			return rows
		}
		q.Before = found.Rows[q.Limit-1].ID
	}
}

// pagesBack returns the same, from the oldest page to the newest.
func pagesBack(t *testing.T, s Store, q insight.SessionQuery) (rows []insight.SessionRow) {
	t.Helper()
	q.After = insight.IDAt(start.Add(-time.Hour))
	for {
		found, err := s.ListSessions(t.Context(), q)
		wantNoError(t, err)
		if rows = slices.Insert(rows, 0, found.Rows...); len(found.Rows) < q.Limit {
			return rows
		}
		q.After = found.Rows[0].ID
	}
}

func TestEventsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		scope := insight.Scope{TenantID: owner.ID, Livemode: true}
		var ids []string
		for i := range 6 {
			e, err := webhook.NewEvent(webhook.Completion{
				TenantID: owner.ID, SessionID: id(t), Result: webhook.ResultVerified, Livemode: i != 0,
				CompletedAt: start, Destination: []string{"https://shop.example/hook", ""}[i%2],
			})
			wantNoError(t, err)
			inTx(t, s, func(tx session.Tx) error { return tx.InsertEvent(e) })
			ids = append([]string{e.ID}, ids...)
			if i == 2 {
				row := sessionOf(t, owner)
				row.ID, row.OrderRef = e.SessionID, "1042"
				inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(row) })
			}
		}
		for _, row := range []struct {
			name   string
			filter insight.DeliveryFilter
			before string
			want   []string
		}{
			{"all", insight.DeliveryFilter{}, "", ids[:5]},
			{"older ones", insight.DeliveryFilter{}, ids[2], ids[3:5]},
			{"due ones", insight.DeliveryFilter{Status: webhook.StatusPending}, "", []string{ids[1], ids[3]}},
			{"of no known status", insight.DeliveryFilter{Status: "'; x"}, "", nil},
			{"failed by time-out", insight.DeliveryFilter{Class: webhook.ClassTimeout}, "", nil},
		} {
			found, err := s.ListEvents(t.Context(),
				insight.EventQuery{Scope: scope, DeliveryFilter: row.filter, Before: row.before, Limit: 10})
			wantNoError(t, err)
			var got []string
			for _, r := range found.Rows {
				got = append(got, r.ID)
				if (r.OrderRef == "1042") != (r.ID == ids[3]) {
					t.Errorf("%s: the order of %s is %q", row.name, r.ID, r.OrderRef)
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("%s: %v, want %v", row.name, got, row.want)
			}
		}
		for end, want := range map[string][]string{
			ids[0][32:]: ids[:1], ids[5][28:]: ids[5:], ids[0][:36]: nil, strings.ToUpper(ids[1][28:]): ids[1:2],
		} {
			got, err := s.FindEvents(t.Context(), owner.ID, end, 10)
			wantNoError(t, err)
			foreign, err := s.FindEvents(t.Context(), id(t), end, 10)
			if wantNoError(t, err); !slices.Equal(got, want) || len(foreign) > 0 {
				t.Errorf("the end %q: %v, want %v; of another tenant: %v", end, got, want, foreign)
			}
		}
		counts, err := s.CountEvents(t.Context(), scope, "", 1)
		if want := (insight.EventCounts{Pending: 1}); err != nil || counts != want {
			t.Errorf("counts up to one: %+v, %v", counts, err)
		}
		if got, _, err := s.Progress(t.Context(), scope.TenantID, start); err != nil || got.WebhookAnswered {
			t.Errorf("progress: %+v, %v", got, err)
		}
	})
}

// The first replica that finds an unfolded hour folds it, once.
func TestAnHourIsFoldedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		scope := insight.Scope{TenantID: owner.ID, Livemode: true}
		group := insight.Group{Hour: 500, Livemode: true, TargetAge: 18, Status: session.StatusPassed,
			Source: session.SourceCamera}
		group.N, group.Opened, group.Begun, group.Decided = 21, 20, 19, [6]int64{1, 2, 3, 4, 5, 6}
		for _, step := range []struct {
			upto, hour int64
			want       bool
		}{{0, 500, true}, {0, 500, false}, {7, 501, false}, {501, 502, true}} {
			group.Hour = step.hour
			ok, err := s.FoldSessions(t.Context(), owner.ID, step.upto, step.hour, []insight.Group{group})
			if err != nil || ok != step.want {
				t.Errorf("fold %+v: %t, %v", step, ok, err)
			}
		}
		upto, err := s.FoldedUpto(t.Context(), insight.SumSessions, owner.ID)
		if err != nil || upto != 503 {
			t.Errorf("the mark is at %d, %v", upto, err)
		}
		got, err := s.SumHours(t.Context(), scope, 500, 503, 10)
		group.Hour, group.TargetAge = 500, 0
		group.N, group.Opened, group.Begun, group.Decided = 42, 40, 38, [6]int64{2, 4, 6, 8, 10, 12}
		if err != nil || !reflect.DeepEqual(got, []insight.Group{group}) {
			t.Errorf("sums %+v, %v, want %+v", got, err, group)
		}
	})
}

func TestSumsGoWithTheirTenant(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		group := insight.Group{Hour: 500, TargetAge: 18, Status: session.StatusPassed, Tally: insight.Tally{N: 1}}
		if ok, err := s.FoldSessions(t.Context(), owner.ID, 0, 500, []insight.Group{group}); err != nil || !ok {
			t.Errorf("fold: %t, %v", ok, err)
		}
		if got, _, err := s.Progress(t.Context(), owner.ID, start); err != nil ||
			got != (insight.Progress{Passed: true}) {
			t.Errorf("progress: %+v, %v", got, err)
		}
		day := insight.LedgerDay{Day: 20, Kind: billing.EntrySettle, Source: billing.SourceFree, N: 3, Delta: -3}
		if ok, err := s.FoldLedger(t.Context(), owner.ID, 0, 20, []insight.LedgerDay{day}); err != nil || !ok {
			t.Errorf("fold of the ledger: %t, %v", ok, err)
		}
		if days, err := s.SumDays(t.Context(), owner.ID, 20, 21); err != nil ||
			!slices.Equal(days, []insight.LedgerDay{day}) {
			t.Errorf("days %+v, %v", days, err)
		}
		wantNoError(t, s.SetTenantDisabled(t.Context(), owner.ID, true, anAct))
		wantNoError(t, s.DeleteTenant(t.Context(), owner.ID, anAct))
		if upto, err := s.FoldedUpto(t.Context(), insight.SumSessions, owner.ID); err != nil || upto != 0 {
			t.Errorf("the deleted tenant's mark is at %d, %v", upto, err)
		}
	})
}

// TestProgressCountsSumsToo: a session counts as progress while it is kept, and later in
// the sums.
func TestProgressCountsSumsToo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, now := newTenant(t, s), time.Now()
		row := sessionOf(t, owner)
		row.Livemode, row.Status = false, session.StatusPassed
		inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(row) })
		hour := now.Unix() / 3600
		spoof := insight.Group{Hour: hour, TargetAge: 18, Status: session.StatusSpoof, Tally: insight.Tally{N: 1}}
		_, err := s.FoldSessions(t.Context(), owner.ID, 0, hour, []insight.Group{spoof})
		wantNoError(t, err)
		got, _, err := s.Progress(t.Context(), owner.ID, start)
		if want := (insight.Progress{Passed: true, Spoofed: true}); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	})
}

func TestProgressLooksForALiveKeyInForce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		before, after := start.Add(-time.Second), start.Add(time.Second)
		for n, row := range []struct {
			livemode         bool
			revoked, expires *time.Time
			want             bool // in force at start, or another before it
		}{{}, {livemode: true, revoked: &before}, {livemode: true, expires: &start}, {livemode: true, expires: &before},
			{livemode: true, expires: &after, want: true}} {
			k := key(t, owner.ID, fmt.Sprint("live ", n))
			k.Livemode, k.RevokedAt, k.ExpiresAt = row.livemode, row.revoked, row.expires
			wantNoError(t, s.InsertKey(t.Context(), k, anAct))
			if got, _, err := s.Progress(t.Context(), owner.ID, start); err != nil || got.LiveKey != row.want {
				t.Errorf("with %+v: %+v, %v", row, got, err)
			}
		}
	})
}

func TestRefusalsAreAddedUpAndBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		scope, other := insight.Scope{TenantID: owner.ID, Livemode: true}, insight.Scope{TenantID: owner.ID}
		minute := stored(start).Truncate(time.Minute)
		count := func(scope insight.Scope, at time.Time, loc string, n int64) insight.RefusalCount {
			return insight.RefusalCount{
				Refusal: insight.Refusal{Scope: scope, Route: "POST /x", Status: 422, Type: "missing", Loc: loc},
				Minute:  at, N: n, RequestID: fmt.Sprint(loc, n),
			}
		}
		add := func(scope insight.Scope, counts ...insight.RefusalCount) {
			wantNoError(t, s.AddRefusals(t.Context(), scope, counts, 3))
		}
		add(other, count(other, minute.Add(-time.Hour), "body.z", 9))
		add(scope, count(scope, minute, "body.a", 2), count(scope, minute, "body.b", 1))
		add(scope, count(scope, minute, "body.a", 3))
		add(scope, count(scope, minute.Add(time.Minute), "body.a", 1), count(scope, minute.Add(2*time.Minute), "body.a", 1))
		got, err := s.Refusals(t.Context(), scope, minute)
		want := []insight.RefusalCount{
			count(scope, minute.Add(2*time.Minute), "body.a", 1), count(scope, minute.Add(time.Minute), "body.a", 1),
			count(scope, minute, "body.b", 1),
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("refusals %+v, %v\nwant %+v", got, err, want)
		}
		add(scope, count(scope, minute, "body.b", 4))
		if got, err = s.Refusals(t.Context(), scope, minute); err != nil || len(got) != 3 || got[2].N != 5 ||
			got[2].RequestID != "body.b4" {
			t.Errorf("refusals %+v, %v", got, err)
		}
		if n, err := s.PruneRefusals(t.Context(), minute, 10); err != nil || n != 1 {
			t.Errorf("pruned %d, %v", n, err)
		}
		if left, err := s.Refusals(t.Context(), other, time.Time{}); err != nil || len(left) != 0 {
			t.Errorf("left %+v, %v", left, err)
		}
	})
}

func TestReplicasAreListedWhileTheyReport(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		first := insight.Replica{ID: id(t), StartedAt: stored(start), SeenAt: stored(start), Version: "1", Models: "m",
			Calibration: "c", Config: "f", Keys: "k"}
		second := first
		second.ID, second.SeenAt = id(t), stored(start.Add(time.Minute))
		for _, r := range []insight.Replica{first, second} {
			wantNoError(t, s.PutReplica(t.Context(), r, start.Add(-time.Hour)))
		}
		first.SeenAt = stored(start.Add(2 * time.Minute))
		wantNoError(t, s.PutReplica(t.Context(), first, start.Add(-time.Hour)))
		got, err := s.Replicas(t.Context(), start.Add(time.Minute))
		if err != nil || !reflect.DeepEqual(got, []insight.Replica{first, second}) {
			t.Errorf("replicas %+v, %v", got, err)
		}
		wantNoError(t, s.PutReplica(t.Context(), first, start.Add(90*time.Second)))
		if got, err = s.Replicas(t.Context(), start); err != nil || len(got) != 1 {
			t.Errorf("after the other was gone: %+v, %v", got, err)
		}
		// The first one is killed, and a third starts. A SQLite file has one server.
		third := first
		third.ID, third.StartedAt, third.SeenAt = id(t), first.SeenAt.Add(time.Second), first.SeenAt.Add(time.Second)
		wantNoError(t, s.PutReplica(t.Context(), third, start))
		want := []insight.Replica{first, third}
		if strings.HasSuffix(t.Name(), "/sqlite") {
			want = want[1:]
		}
		if got, err = s.Replicas(t.Context(), start); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("after one was killed: %+v, %v", got, err)
		}
	})
}

func TestSessionsAreCountedByKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, key := newTenant(t, s), id(t)
		for i := range 3 {
			row := sessionOf(t, owner)
			if row.CreatedAt = stored(start).Add(time.Duration(i) * time.Hour); i > 0 {
				row.APIKeyID = &key
			}
			inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(row) })
		}
		got, err := s.CountByKey(t.Context(), owner.ID, start.Add(-time.Second))
		if err != nil || !reflect.DeepEqual(got, map[uuid.UUID]int64{key: 2}) {
			t.Errorf("counts %v, %v", got, err)
		}
	})
}
