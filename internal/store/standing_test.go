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
	if x, err := dbtest.Open(t, dbtest.SQLite(t)).Standing(t.Context()); x != nil || err != nil {
		t.Errorf("SQLite: %+v, %v", x, err)
	}
	raw := pgtest.URL(t)
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
		{"CREATE ROLE standing LOGIN PASSWORD 'standing'", false},
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
	if _, err := db.ExecContext(t.Context(), "DROP ROLE standing"); err != nil {
		t.Error(err)
	}
}
