package crowd_test

import (
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/store/dbtest"
	"agegate/proof/crowd"
)

// TestDisk prints what a million sessions take, and what is left of them once
// AGEGATE_RETENTION has deleted them, both projected from few.
func TestDisk(t *testing.T) {
	t.Parallel()
	const few, million = 50_000, 1_000_000
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := url(t)
			s := open(t, url)
			shops := make([]crowd.Shop, 10)
			for i := range shops {
				shops[i] = newShop(t, s)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			err := crowd.Fill(t.Context(), url, crowd.Crowd{
				Sessions: few, Until: now.Add(-48 * time.Hour), Over: 28 * 24 * time.Hour, Shops: shops,
			})
			if err != nil {
				t.Fatal(err)
			}
			before := sizes(t, url)
			s = open(t, url)
			deleted := 0
			for _, shop := range shops {
				n, err := session.NewRecords(s, time.Now).Prune(t.Context(), audit.System("test"), shop.TenantID, now,
					func(session.Pruned) {})
				if err != nil {
					t.Fatal(err)
				}
				deleted += n.Deleted
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if deleted != few {
				t.Fatalf("%d of %d sessions deleted", deleted, few)
			}
			if !strings.HasPrefix(url, "sqlite:") {
				exec(t, connect(t, url, 1), "VACUUM")
			}
			after := sizes(t, url)
			inMillion := func(bytes int64) int64 { return bytes * (million / few) / 1_000_000 }
			all, ledger, free := int64(0), int64(0), int64(0)
			for i, table := range after {
				all += before[i].Data + before[i].Indexes
				switch size := table.Data + table.Indexes; {
				case table.Table == "ledger_entries" || table.Table == "usage_counters":
					ledger += size
				case table.Rows > 0:
					t.Errorf("%d rows of %s are left", table.Rows, table.Table)
				default:
					free += size
				}
			}
			t.Logf("a million sessions take %d MB; after their deletion the ledger keeps %d MB, and %d MB are free for others",
				inMillion(all), inMillion(ledger), inMillion(free))
		})
	}
}

func sizes(t *testing.T, url string) []crowd.Size {
	t.Helper()
	found, err := crowd.Sizes(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
