// Package dbtest gives tests a store on every database the gateway
// supports.
package dbtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// patience is the deadline of stores in tests. It is long, because many
// transactions queue for one file and the machine may be slow.
const patience = 2 * time.Minute

// URLs returns a new, migrated database per dialect, by the dialect's name.
func URLs(t testing.TB) map[string]func(testing.TB) string {
	t.Helper()
	return map[string]func(testing.TB) string{"sqlite": SQLite, "postgres": pgtest.URL}
}

// SQLite returns the URL of a new, migrated SQLite database, which is removed when
// the test ends. Its file is in memory where the system allows it.
func SQLite(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(pgtest.MemoryDir(), "agegate-sqlite-") //nolint:usetesting // not on the disk
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the database: %v", err)
		}
	})
	return migrated(t, dir)
}

// SQLiteOnDisk is like SQLite, with the file on the disk, for tests that measure.
func SQLiteOnDisk(t testing.TB) string {
	t.Helper()
	return migrated(t, t.TempDir())
}

// migrated puts a copy of a migrated database into a directory, because the
// migrations would take longer than most tests.
func migrated(t testing.TB, dir string) string {
	t.Helper()
	content, err := template()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "agegate.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

// template is the content of a migrated SQLite file.
var template = sync.OnceValues(func() (_ []byte, err error) {
	dir, err := os.MkdirTemp(pgtest.MemoryDir(), "agegate-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "agegate.db")
	s, err := store.Open(context.Background(), store.Config{URL: "sqlite:" + path})
	if err != nil {
		return nil, err
	}
	// closing it moves the write-ahead log into the file
	if err := errors.Join(s.Migrate(context.Background()), s.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path) //nolint:gosec // the path is this function's own
})

// Each runs body as a subtest on each database, each time with a new, empty,
// migrated database.
func Each(t *testing.T, body func(t *testing.T, s *store.Store)) {
	t.Helper()
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) { body(t, Open(t, URLs(t)[dialect](t))) })
	}
}

// Open opens and migrates the database for the length of the test.
func Open(t testing.TB, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
