package store_test

import (
	"database/sql"
	"net/url"
	"testing"
	"time"

	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

// TestStanding: a role that may not see standbys and backups reads the rest without
// an error; with pg_monitor it sees them.
func TestStanding(t *testing.T) {
	t.Parallel()
	raw := pgtest.URL(t)
	dbtest.Open(t, raw) // migrates it
	db, err := sql.Open("pgx", raw)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("standing", "standing")
	for _, step := range []struct {
		sql     string
		visible bool
	}{
		{"CREATE ROLE standing LOGIN PASSWORD 'standing'; GRANT SELECT ON backups TO standing", false},
		{"GRANT pg_monitor TO standing", true},
	} {
		if _, err := db.ExecContext(t.Context(), step.sql); err != nil {
			t.Fatal(err)
		}
		role, err := store.Open(t.Context(), store.Config{URL: u.String(), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		x, err := role.Standing(t.Context())
		role.Close()
		if err != nil || x.Visible != step.visible || x.ArchiveFailing || x.Standbys != 0 || x.LastBackup != nil {
			t.Errorf("after %s: %+v, %v", step.sql, x, err)
		}
	}
	if _, err := db.ExecContext(t.Context(), "DROP OWNED BY standing; DROP ROLE standing"); err != nil {
		t.Error(err)
	}
}

// TestRecordBackup: the last recorded time counts, on both databases.
func TestRecordBackup(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		if x, err := db.Standing(t.Context()); err != nil || x.LastBackup != nil {
			t.Errorf("before the first: %+v, %v", x, err)
		}
		at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
		for _, at := range []time.Time{at, at.AddDate(0, 0, 1)} {
			if err := db.RecordBackup(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			if x, err := db.Standing(t.Context()); err != nil || x.LastBackup == nil || !x.LastBackup.Equal(at) {
				t.Errorf("after one at %s: %+v, %v", at, x, err)
			}
		}
	})
}
