package billing_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
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

// TestCorrection: a mistyped top-up is taken back, once, with a note, and never more than
// is neither held nor spent. The lines of the ledger add up to the balance.
func TestCorrection(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		a := &account{s: s, owner: uuid.New(), now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), units: map[uuid.UUID]unit{}}
		act := audit.Act{Scope: audit.OfTenant(a.owner), At: a.now, Actor: audit.System("test"), Action: audit.TenantCreate}
		if err := s.CreateTenant(t.Context(), tenant.Tenant{ID: a.owner, Name: "Shop"}, nil, nil, act); err != nil {
			t.Fatal(err)
		}
		book := func(in billing.Store, n int64, note string) (int64, error) {
			return billing.TopUp(context.Background(), in, audit.System("test"), a.owner, n, note, a.now)
		}
		made := func() error { _, err := a.create(3); return err }
		expire := func() error { a.now = a.now.Add(lifetime); return nil }
		for _, step := range []struct {
			name    string
			before  func() error
			in      billing.Store
			n       int64
			note    string
			refused error
			left    int64
		}{
			{"before any credit", nil, s, -1, "x", billing.ErrSpent, 0},
			{"a top-up", nil, s, 10, "", nil, 10},
			{"nothing", nil, s, 0, "x", fault.New(fault.Invalid, ""), 10},
			{"too much", nil, s, -billing.MaxTopUp - 1, "x", fault.New(fault.Invalid, ""), 10},
			{"the least number", nil, s, math.MinInt64, "x", fault.New(fault.Invalid, ""), 10},
			{"without a note", nil, s, -2, "", billing.ErrUnnoted, 10},
			{"more than is not held", made, s, -8, "x", billing.ErrSpent, 7},
			{"what is not held", nil, s, -6, "x", nil, 1},
			{"not confirmed", nil, &unsure{s, 0, 1}, -1, "x", nil, 0},
			{"lost, then confirmed", expire, &unsure{s, 1, 0}, -2, "x", nil, 1}, // 3 have expired meanwhile
		} {
			if step.before != nil {
				if err := step.before(); err != nil {
					t.Fatal(err)
				}
			}
			balance, err := book(step.in, step.n, step.note)
			left, readErr := s.Credit(t.Context(), a.owner)
			if step.refused == nil && (err != nil || balance != step.left) ||
				step.refused != nil && fault.CodeOf(err) != fault.Invalid || left != step.left || readErr != nil ||
				step.refused != nil && step.refused.Error() != "" && !errors.Is(err, step.refused) {
				t.Errorf("%s: balance %d, stored %d, %v, %v; want %d, %v", step.name, balance, left, err, readErr, step.left,
					step.refused)
			}
		}
		if _, err := book(s, 4, ""); err != nil {
			t.Fatal(err)
		}
		var taken atomic.Int64
		var all []func() error
		for range 8 {
			all = append(all, func() error {
				_, err := book(s, -1, "x")
				if err == nil {
					taken.Add(1)
				} else if !errors.Is(err, billing.ErrSpent) {
					return err
				}
				return nil
			})
		}
		if err := together(all...); err != nil || taken.Load() != 5 {
			t.Errorf("%d of 5 units were taken at once, %v", taken.Load(), err)
		}
		sum := int64(0)
		for e, err := range billingtest.Ledger(t.Context(), s, a.owner) {
			if err != nil {
				t.Fatal(err)
			}
			sum += e.Delta
		}
		if left, err := s.Credit(t.Context(), a.owner); err != nil || left != 0 || sum != 0 {
			t.Errorf("the balance is %d, the ledger adds up to %d, %v", left, sum, err)
		}
	})
}
