package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// TestDecisionsAreAddedUp: of the live hours of all tenants count what the camera decided,
// and of a tenant's own sessions what reaches two cutoffs.
func TestDecisionsAreAddedUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		group := func(hour int64, livemode bool, target int, status session.Status, source session.Source, n int64) insight.Group {
			return insight.Group{
				Hour: hour, Livemode: livemode, TargetAge: target, Status: status, Source: source,
				Tally: insight.Tally{N: n},
			}
		}
		const camera, document = session.SourceCamera, session.SourceDocument
		for _, of := range [][]insight.Group{
			{group(500, true, 21, session.StatusPassed, camera, 1), group(500, true, 18, session.StatusPassed, camera, 2),
				group(500, false, 18, session.StatusPassed, camera, 64), group(500, true, 18, session.StatusExpired, "", 256)},
			{group(501, true, 18, session.StatusPassed, camera, 4), group(501, true, 18, session.StatusFallback, camera, 8),
				group(501, true, 18, session.StatusPassed, document, 16), group(501, true, 18, session.StatusSpoof, camera, 32)},
		} {
			// Counts of two tenants, and of an hour that is too old.
			for _, owner := range []uuid.UUID{newTenant(t, s).ID, newTenant(t, s).ID} {
				old := group(499, true, 18, session.StatusPassed, camera, 128)
				for i, groups := range [][]insight.Group{{old}, of} {
					upto := int64(0)
					if i > 0 {
						upto = 500
					}
					if ok, err := s.FoldSessions(t.Context(), owner, upto, groups[0].Hour, groups); err != nil || !ok {
						t.Fatalf("fold: %t, %v", ok, err)
					}
				}
			}
		}
		if got, err := s.SumDecisions(t.Context(), 500); err != nil || got != (insight.Decisions{Decided: 126, Passed: 14}) {
			t.Errorf("sums %+v, %v", got, err)
		}
	})
}

func TestReachIsCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, other := newTenant(t, s), newTenant(t, s)
		add := func(of tenant.Tenant, target int, livemode bool, at time.Time, estimate *float64,
			status session.Status, source session.Source) {
			row := sessionOf(t, of)
			row.TargetAge, row.Livemode, row.CreatedAt, row.DetectedAge = target, livemode, at, estimate
			row.ConsentedAt, row.CompletedAt, row.Status, row.Source = &row.CreatedAt, &row.CreatedAt, status, source
			if estimate != nil || status == session.StatusPassed { // otherwise the camera check was skipped
				row.Basis.Cutoff = new(25.0)
			}
			inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(row) })
		}
		low, middle, high := 24.9, 25.0, 27.0
		const passed, fallback = session.StatusPassed, session.StatusFallback
		const camera, document = session.SourceCamera, session.SourceDocument
		add(owner, 18, true, start.Add(time.Second), &low, fallback, camera)
		add(owner, 18, true, start.Add(1500*time.Millisecond), nil, fallback, document)
		add(owner, 18, true, start.Add(2*time.Second), &middle, passed, camera)
		add(owner, 18, true, start.Add(3*time.Second), &high, passed, camera)
		add(owner, 18, true, start.Add(4*time.Second), nil, passed, document)
		add(owner, 18, false, start.Add(time.Second), &high, passed, camera)
		add(owner, 16, true, start.Add(time.Second), &high, passed, camera)
		add(owner, 18, true, start.Add(-time.Second), &high, passed, camera)
		add(other, 18, true, start.Add(time.Second), &high, passed, camera)
		decisions := func(decided, passed int64) insight.Decisions {
			return insight.Decisions{Decided: decided, Passed: passed}
		}
		for limit, want := range map[int]insight.Reach{
			100: {Decisions: decisions(4, 2), Of: 3, First: 2, Other: 1},
			3:   {Decisions: decisions(3, 2), Of: 2, First: 2, Other: 1},
		} {
			got, err := s.CountReach(t.Context(), owner.ID, start, 18, [2]float64{25, 27}, limit)
			if err != nil || got != want {
				t.Errorf("the newest %d: %+v, %v, want %+v", limit, got, err, want)
			}
		}
	})
}
