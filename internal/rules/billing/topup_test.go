package billing_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// unsure is a store whose database does not confirm the first commits. The last of
// them is made, the others are not.
type unsure struct {
	*store.Store
	lost, unconfirmed int
}

func (s *unsure) UpdateCredit(ctx context.Context, fn func(billing.CreditTx) error) error {
	silent := fault.New(fault.Unavailable, "Database unavailable")
	if s.lost > 0 {
		s.lost--
		return silent
	}
	err := s.Store.UpdateCredit(ctx, fn)
	if s.unconfirmed > 0 {
		s.unconfirmed--
		return silent
	}
	return err
}

// Credit fails: nothing that is read after the commit may decide what is reported.
func (s *unsure) Credit(context.Context, uuid.UUID) (int64, error) {
	return 0, fault.New(fault.Unavailable, "Database unavailable")
}

// TestTopUpIsBookedOnce: a top-up whose commit was not confirmed is neither booked
// twice nor reported as failed if it was booked.
func TestTopUpIsBookedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
		for _, row := range []struct {
			name              string
			lost, unconfirmed int
			booked            int64
			reported          bool
		}{
			{"confirmed", 0, 0, 5, true},
			{"lost, then confirmed", 1, 0, 5, true},
			{"booked, not confirmed", 0, 1, 5, true},
			{"lost, then booked and not confirmed", 1, 1, 5, false},
			{"lost twice", 2, 0, 0, false},
		} {
			owner := uuid.New()
			act := audit.Act{Scope: audit.OfTenant(owner), At: now, Actor: audit.System("test"), Action: audit.TenantCreate}
			if err := s.CreateTenant(t.Context(), tenant.Tenant{ID: owner, Name: "Shop"}, nil, nil, act); err != nil {
				t.Fatal(err)
			}
			balance, err := billing.TopUp(t.Context(), &unsure{s, row.lost, row.unconfirmed}, audit.System("test"),
				owner, 5, "", now)
			if row.reported && (err != nil || balance != row.booked) {
				t.Errorf("%s: balance %d, %v", row.name, balance, err)
			}
			if !row.reported && fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("%s: %v, want that nobody can say yet", row.name, err)
			}
			if stored, err := s.Credit(t.Context(), owner); err != nil || stored != row.booked {
				t.Errorf("%s: %d booked, %v; want %d", row.name, stored, err, row.booked)
			}
			entries, err := s.Entries(t.Context(), owner, uuid.Nil, 10)
			if err != nil || len(entries) != int(row.booked/5) {
				t.Errorf("%s: %d entries of the ledger, %v", row.name, len(entries), err)
			}
		}
	})
}
