package insight_test

import (
	"slices"
	"testing"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

func TestMonths(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC) // the month before has no 31st
		month := func(m time.Month) time.Time { return time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC) }
		id := newTenant(t, db, time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC))
		entry := func(at time.Time, kind billing.EntryKind, source billing.Source, delta int64) billing.Entry {
			return billing.Entry{ID: uuid.Must(uuid.NewV7()), TenantID: id, Kind: kind, Source: source, Delta: delta,
				CreatedAt: at}
		}
		err := db.UpdateBilling(t.Context(), func(tx billing.Tx) error {
			return tx.AppendEntries(
				entry(month(2).Add(-time.Minute), billing.EntryTopUp, billing.SourceCredit, 5),
				entry(month(2), billing.EntrySettle, billing.SourceFree, 0),
				entry(month(3).Add(-time.Minute), billing.EntrySettle, billing.SourceFree, 0),
				entry(month(3), billing.EntrySettle, billing.SourceCredit, 0),
				entry(month(3), billing.EntryHold, billing.SourceCredit, -1),
				entry(month(3), billing.EntryRelease, billing.SourceCredit, 1),
				entry(now, billing.EntryTopUp, billing.SourceCredit, 7),
				entry(month(4).Add(-time.Minute), billing.EntryTopUp, billing.SourceCredit, 1), // later than now
			)
		})
		if err != nil {
			t.Fatal(err)
		}
		s := insight.NewService(db, billing.Limits{}, func() time.Time { return now })
		want := []insight.Month{
			{Start: month(3), CreditUsed: 1, Added: 7}, {Start: month(2), FreeUsed: 2}, {Start: month(1), Added: 5},
		}
		for n, want := range map[int][]insight.Month{12: want, 2: want[:2]} {
			for _, when := range []string{"from lines", "from sums"} {
				got, err := s.Months(t.Context(), id, n)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%d months %s: %+v, %v\nwant %+v", n, when, got, err, want)
				}
				if err := s.Fold(t.Context(), func(time.Time) {}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := s.Months(t.Context(), uuid.New(), 1); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("no tenant: %v", err)
		}
	})
}
