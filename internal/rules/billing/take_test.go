package billing_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// TestTakeSeveral: sessions made together use up the free allowance, with the units
// that expired sessions return, and then the credit. Each of the steps begins with
// what the one before has left.
func TestTakeSeveral(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		a := &account{s: s, owner: uuid.New(), now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), units: map[uuid.UUID]unit{}}
		act := audit.Act{Scope: audit.OfTenant(a.owner), At: a.now, Actor: audit.System("test"), Action: audit.TenantCreate}
		if err := s.CreateTenant(t.Context(), tenant.Tenant{ID: a.owner, Name: "Shop"}, nil, nil, act); err != nil {
			t.Fatal(err)
		}
		if _, err := billing.TopUp(t.Context(), s, audit.System("test"), a.owner, 6, "", a.now); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			name         string
			after        time.Duration // since the step before
			n            int
			limit        int64
			free, credit int
			left         int64 // of the credit, while expired sessions still hold units of it
		}{
			{"free", 0, 2, 3, 2, 0, 6},
			{"the last free one and credit", 0, 3, 3, 1, 2, 4},
			{"units of expired sessions", lifetime, 4, 3, 3, 1, 3},
			{"more than there is", 0, 9, 3, 0, 5, 0},
			{"nothing left", 0, 3, 3, 0, 0, 0},
			{"expired free units and credit", lifetime, 5, 3, 3, 2, 0},
			{"another month", 30 * 24 * time.Hour, 2, 3, 2, 0, 0},
			{"no allowance", 0, 2, 0, 0, 2, 0},
			{"without a limit", 0, 5, billing.Unlimited, 5, 0, 0},
		} {
			a.now, a.free = a.now.Add(step.after), step.limit
			made, err := a.create(step.n)
			if err != nil {
				t.Fatal(err)
			}
			free, credit := 0, 0
			for e, err := range billingtest.Ledger(t.Context(), s, a.owner) {
				switch {
				case err != nil:
					t.Fatal(err)
				case e.Kind != billing.EntryHold || !e.CreatedAt.Equal(a.now) || !contains(made, e.SessionID):
				case e.Source == billing.SourceFree && e.Period == a.now.Format("2006-01") && e.Delta == -1:
					free++
				case e.Source == billing.SourceCredit && e.Period == "" && e.Delta == -1:
					credit++
				}
			}
			left, err := s.Credit(context.Background(), a.owner)
			if err != nil || free != step.free || credit != step.credit || len(made) != free+credit || left != step.left {
				t.Errorf("%s: %d made, %d free and %d paid, credit %d, %v; want %+v", step.name, len(made), free, credit, left,
					err, step)
			}
		}
	})
}

func contains(ids []uuid.UUID, id *uuid.UUID) bool {
	for _, one := range ids {
		if id != nil && one == *id {
			return true
		}
	}
	return false
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 22, 30, 0, 0, time.UTC)
	live := billing.Charge{Livemode: true, Now: now}.Refusal()
	test := billing.Charge{Now: now}.Refusal()
	if live.Code != fault.InsufficientFunds || live.RetryAfter != 0 ||
		test.Code != fault.TooMany || test.RetryAfter != 90*time.Minute {
		t.Errorf("live %+v, test %+v", live, test)
	}
}
