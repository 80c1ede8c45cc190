package databases

import (
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// TestCopyThroughAPooler: a database is copied in whole although a pooler stands
// before one of the two, or both.
func TestCopyThroughAPooler(t *testing.T) {
	pooler := pgtest.NewPooler(t)
	direct := func(url string) string { return url }
	for _, tt := range []struct {
		name       string
		from, into func(url string) string
	}{
		{"before the old one", pooler.Through, direct},
		{"before the new one", direct, pooler.Through},
		{"before both", pooler.Through, pooler.Through},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from := open(t, tt.from(pgtest.URL(t)))
			into := open(t, tt.into(pgtest.URL(t)))
			act := audit.Act{Scope: audit.Instance, At: time.Now(), Actor: audit.System("test"), Action: audit.LedgerArchive}
			if err := from.Update(t.Context(), func(tx *store.Tx) error { return tx.AppendAudit(act) }); err != nil {
				t.Fatal(err)
			}
			rows := map[string]int64{}
			count := func(table string, n int64) { rows[table] = n }
			if err := from.Copy(t.Context(), into, 100*time.Millisecond, count); err != nil {
				t.Fatal(err)
			}
			if rows["audit_entries"] != 1 {
				t.Errorf("%d rows of the audit log were copied", rows["audit_entries"])
			}
			err := from.Copy(t.Context(), into, 0, count)
			if err == nil || !strings.Contains(err.Error(), "not empty") {
				t.Errorf("a second copy: %v", err)
			}
		})
	}
}

// TestCopyIntoAnEmptyDatabaseBehindAPooler: the tables are made through the pooler.
func TestCopyIntoAnEmptyDatabaseBehindAPooler(t *testing.T) {
	from, into := open(t, pgtest.URL(t)), open(t, pgtest.NewPooler(t).EmptyURL(t))
	if err := from.Copy(t.Context(), into, 0, func(string, int64) {}); err != nil {
		t.Fatal(err)
	}
	if x, err := into.Examine(t.Context()); err != nil || len(x.Pending) > 0 {
		t.Errorf("%d migrations are pending: %v", len(x.Pending), err)
	}
}
