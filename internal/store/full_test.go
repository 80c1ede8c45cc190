package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

// TestFullDatabase: after a full database has refused a write, Writable fails until the
// database takes a write as large as a session's, which leaves no row behind.
func TestFullDatabase(t *testing.T) {
	t.Parallel()
	s := openAt(t, dbtest.SQLite(t))
	raw := func(statement string) error { return s.ExecRaw(t.Context(), statement) }
	if err := errors.Join(s.Writable(t.Context()), raw("PRAGMA max_page_count = 1")); err != nil {
		t.Fatal(err)
	}
	err := raw("CREATE TABLE long AS SELECT zeroblob(1000000) AS x")
	if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "The disk or the database is full") {
		t.Fatalf("a full database: %v", err)
	}
	if err := raw("UPDATE fold_marks SET upto = upto"); err != nil {
		t.Errorf("a write that needs no room: %v", err)
	}
	if err := s.Writable(t.Context()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a database that takes only writes without room: %v", err)
	}
	if err := raw("PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Writable(t.Context()); err != nil {
			t.Errorf("a database that has room again: %v", err)
		}
	}
}

// TestFirstStartOnAFullDisk: the error says what to do, in no driver's words, and a start after room was made works.
func TestFirstStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, pages := range []string{"2", "30", "60"} {
		s, err := store.Open(t.Context(), store.Config{URL: sqliteURL(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.ExecRaw(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
		const want = "migrate: The disk or the database is full: make room and start again; nothing is lost"
		if err := s.Migrate(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%s pages: %v", pages, err)
		}
		if err := errors.Join(s.ExecRaw(t.Context(), "PRAGMA max_page_count = 100000"), s.Migrate(t.Context()),
			s.TryWrite(t.Context()), s.Close()); err != nil {
			t.Errorf("%s pages, with room: %v", pages, err)
		}
	}
}

// TestTryWrite leaves no row behind, on both databases.
func TestTryWrite(t *testing.T) {
	t.Parallel()
	for name, url := range dbtest.URLs(t) {
		s := openAt(t, url(t))
		if err := s.TryWrite(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if replicas, err := s.Replicas(t.Context(), time.Time{}); err != nil || len(replicas) > 0 {
			t.Errorf("%s: %d rows are left, %v", name, len(replicas), err)
		}
	}
}

// TestServersCode: an error of PostgreSQL keeps its code for the log.
func TestServersCode(t *testing.T) {
	t.Parallel()
	err := openAt(t, pgtest.URL(t)).ExecRaw(t.Context(), "SELECT 1/0")
	if coded, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); !ok || coded.SQLState() != "22012" {
		t.Errorf("%v has no code", err)
	}
}
