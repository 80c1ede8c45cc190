package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"agegate/internal/backoffice/drift"
	"agegate/internal/rules/audit"
)

// replicaOf returns a service of a replica with a clock.
func replicaOf(s Store, now func() time.Time) *drift.Service {
	return drift.NewService(s, drift.Config{Estimator: "e", Now: now})
}

// count counts n estimates.
func count(s *drift.Service, family drift.Family, n int, years float64) {
	for range n {
		s.Count(family, drift.Estimated, years)
	}
}

// TestReplicasCountTogether: what replicas count adds up, and all of them know of a
// shift that the counts of all show.
func TestReplicasCountTogether(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
		clock := func() time.Time { return at }
		replicas := []*drift.Service{replicaOf(s, clock), replicaOf(s, clock)}
		flush := func() {
			t.Helper()
			var all sync.WaitGroup
			for _, r := range replicas {
				all.Go(func() {
					if err := r.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		far := func(want drift.Family, when string) {
			t.Helper()
			for i, r := range replicas {
				wantNoError(t, r.Refresh(t.Context()))
				state := r.Known()
				if got := state.FarFamily(); got != want {
					t.Errorf("%s: replica %d knows %q, want %q", when, i, got, want)
				}
			}
		}
		human := audit.System("test")
		if _, err := replicas[0].Freeze(t.Context(), human, 24*time.Hour); !errors.Is(err, drift.ErrTooFew) {
			t.Errorf("freeze without counts: %v", err)
		}
		for _, r := range replicas {
			count(r, drift.Firefox, 1000, 22)
			count(r, drift.Firefox, 500, 33)
		}
		flush()
		hours, err := s.DriftHours(t.Context(), at)
		if err != nil || len(hours) != 1 || hours[0].Estimates() != 3000 || hours[0].Checks() != 3000 ||
			!hours[0].Hour.Equal(at) {
			t.Fatalf("hours %+v, %v", hours, err)
		}
		state, err := replicas[0].Freeze(t.Context(), human, 24*time.Hour)
		if err != nil || state.Families[drift.Firefox].Ages.Known() != 3000 || state.Estimator != "e" {
			t.Fatalf("frozen %+v, %v", state, err)
		}
		for window := range 2 {
			far("", "before two windows")
			for range 2 { // the second is late enough to complete the window
				at = at.Add(drift.WindowTime)
				for _, r := range replicas {
					count(r, drift.Firefox, 300, 41+float64(window))
				}
				flush()
			}
		}
		far(drift.All, "after two windows")
		if entry := newestAct(t, s); entry.Action != audit.DriftFreeze {
			t.Errorf("the newest entry: %+v", entry)
		}
		at = at.Add(drift.Kept + 2*time.Hour)
		wantNoError(t, replicas[0].Prune(t.Context()))
		if hours, err := s.DriftHours(t.Context(), time.Time{}); err != nil || len(hours) != 0 {
			t.Errorf("%d hours are kept too long, %v", len(hours), err)
		}
		if _, err := audit.Verify(t.Context(), s, audit.Instance); err != nil {
			t.Error(err)
		}
	})
}

func newestAct(t *testing.T, s Store) audit.Entry {
	t.Helper()
	entries, err := s.AuditEntries(t.Context(), audit.Filter{Scope: audit.Instance, Limit: 1})
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	return entries[0]
}

// TestFewEstimatesAreNotStored: neither the service nor the table takes counts of
// fewer people than a group.
func TestFewEstimatesAreNotStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		r := replicaOf(s, func() time.Time { return start })
		count(r, drift.Edge, drift.MinGroup-1, 30)
		wantNoError(t, r.Flush(t.Context()))
		if hours, err := s.DriftHours(t.Context(), time.Time{}); err != nil || len(hours) != 0 {
			t.Fatalf("%+v, %v", hours, err)
		}
		few := drift.Hour{Hour: start, Family: drift.Edge, Estimator: "e"}
		few.Ages[3] = drift.MinGroup - 1
		err := s.UpdateDrift(context.WithoutCancel(t.Context()),
			func(tx drift.Tx, _ *drift.State) (*audit.Act, error) { return nil, tx.AddDriftHour(few) })
		if err == nil {
			t.Error("the table takes them")
		}
		count(r, drift.Edge, 1, 30)
		wantNoError(t, r.Flush(t.Context()))
		if hours, err := s.DriftHours(t.Context(), time.Time{}); err != nil || len(hours) != 1 ||
			hours[0].Estimates() != drift.MinGroup {
			t.Errorf("%+v, %v", hours, err)
		}
	})
}
