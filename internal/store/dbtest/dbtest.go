// Package dbtest gives tests a store on every database the gateway
// supports.
package dbtest

import (
	"path/filepath"
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
	return map[string]func(testing.TB) string{"sqlite": sqliteURL, "postgres": pgtest.URL}
}

func sqliteURL(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "agegate.db")
}

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
