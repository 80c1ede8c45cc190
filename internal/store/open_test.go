package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"

	"github.com/google/uuid"
)

// open opens a store with a deadline that is long enough for a slow machine.
func open(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func sqliteURL(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "agegate.db")
}

// each runs body as a subtest on each database, with the URL of an empty database
// without a schema.
func each(t *testing.T, body func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { body(t, sqliteURL(t)) })
	t.Run("postgres", func(t *testing.T) { body(t, pgtest.EmptyURL(t)) })
}

func TestOpenRefusesAnUnusableURLWithoutQuotingIt(t *testing.T) {
	for _, url := range []string{
		"", "hunter2", "mysql://root:hunter2@db/x", "sqlite:", "sqlite::memory:",
		"postgres://root:hunter2@db:port/x", "postgres://root:hunter2@[db/x", "postgres://db/x?sslmode=hunter2",
	} {
		s, err := store.Open(t.Context(), store.Config{URL: url})
		if err == nil {
			t.Errorf("%q was opened", url)
			_ = s.Close()
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q is quoted in %q", url, err)
		}
	}
}

func TestOpenSaysThatPostgresIsDown(t *testing.T) {
	_, err := store.Open(t.Context(), store.Config{URL: "postgres://u:hunter2@/x?host=" + t.TempDir()})
	var down *fault.Error
	if !errors.As(err, &down) || down.Code != fault.Unavailable || down.RetryAfter <= 0 ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

func TestSQLiteFileHasExactlyTheNameGiven(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new dir", "a?mode=ro&b#c%41 é.db")
	if err := open(t, "sqlite:"+path).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestSQLiteFileIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := open(t, "sqlite:"+filepath.Join(dir, "agegate.db")).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{".": 0o700, "agegate.db": 0o600, "agegate.db-wal": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if _, err := store.Open(t.Context(), store.Config{URL: "sqlite:" +
		filepath.Join(dir, "agegate.db", "x")}); err == nil {
		t.Error("opened a file below a file")
	}
}

func TestOnlyOneServerPerSQLiteFile(t *testing.T) {
	url := sqliteURL(t)
	server, beside := open(t, url), open(t, url)
	if err := errors.Join(server.LockServe(), server.LockServe(), server.Migrate(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := beside.LockServe(); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a second server got %v", err)
	}
	err := beside.Update(t.Context(), func(tx *store.Tx) error { return tx.Exec("CREATE TABLE beside (id integer)") })
	if err != nil {
		t.Errorf("an operator command while the server runs: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := beside.LockServe(); err != nil {
		t.Errorf("after the server ended: %v", err)
	}
}

func TestReplicasShareOnePostgres(t *testing.T) {
	url := pgtest.EmptyURL(t)
	if err := errors.Join(open(t, url).LockServe(), open(t, url).LockServe()); err != nil {
		t.Error(err)
	}
}

func TestReplicasMigrateAtOnce(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		done := make(chan error)
		for range 6 {
			replica := open(t, url)
			go func() { done <- replica.Migrate(t.Context()) }()
		}
		for range 6 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		s := open(t, url)
		files, err := filepath.Glob("migrations/sqlite/*.sql") // as many as for PostgreSQL
		if err != nil || len(files) == 0 {
			t.Fatalf("%d migrations, %v", len(files), err)
		}
		err = s.View(t.Context(), func(tx *store.Tx) error {
			n, err := tx.Count("SELECT count(*) FROM goose_db_version WHERE version_id > 0")
			last, lastErr := tx.Count("SELECT max(version_id) FROM goose_db_version")
			if newest := filepath.Base(files[len(files)-1]); n != int64(len(files)) ||
				!strings.HasPrefix(newest, fmt.Sprintf("%05d_", last)) {
				t.Errorf("%d migrations ran, the last %d, of %d up to %s", n, last, len(files), newest)
			}
			return errors.Join(err, lastErr)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A newer replica adds a column while this one runs.
func TestAddedColumnBreaksNothing(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		old, newer := open(t, url), open(t, url)
		if err := old.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, step := range []string{"before", "after"} {
			if _, err := old.Tenants(t.Context(), uuid.Nil, 1); err != nil {
				t.Errorf("%s: %v", step, err)
			}
			if step == "before" {
				err := newer.Update(t.Context(), func(tx *store.Tx) error {
					return tx.Exec("ALTER TABLE tenants ADD COLUMN motto text NOT NULL DEFAULT ''")
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestDialectsHaveTheSameMigrations(t *testing.T) {
	names := func(dialect string) string {
		paths, err := fs.Glob(os.DirFS("migrations/"+dialect), "*.sql")
		if err != nil || len(paths) == 0 {
			t.Fatalf("migrations of %s: %v, %v", dialect, paths, err)
		}
		return strings.Join(paths, " ")
	}
	if sqlite, postgres := names("sqlite"), names("postgres"); sqlite != postgres {
		t.Errorf("sqlite: %s\npostgres: %s", sqlite, postgres)
	}
}

// A large transaction makes a large log; later transactions shrink it again.
func TestSQLiteLogShrinks(t *testing.T) {
	url := sqliteURL(t)
	s := numbers(t, url)
	size := func() int64 {
		info, err := os.Stat(strings.TrimPrefix(url, "sqlite:") + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		return tx.Exec("CREATE TABLE filler AS SELECT " +
			"zeroblob(20000000)")
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := size(); n < 20_000_000 {
		t.Fatalf("the log has %d bytes after a transaction of 20 MB", n)
	}
	for range 3 {
		if err := s.Update(t.Context(), func(tx *store.Tx) error { return add(tx, 1) }); err != nil {
			t.Fatal(err)
		}
	}
	if n := size(); n > 8<<20 {
		t.Errorf("the log still has %d bytes", n)
	}
}
