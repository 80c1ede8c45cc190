package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agegate/internal/rules/fault"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// numbers opens a database with a table of the rows (1, 0) and (2, 0).
func numbers(t *testing.T, url string) *store.Store {
	t.Helper()
	s := open(t, url)
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.Exec("CREATE TABLE numbers (id integer PRIMARY KEY, n integer NOT NULL)"),
			tx.Exec("INSERT INTO numbers VALUES (1, 0), (2, 0)"))
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sum(t *testing.T, s *store.Store) (n int64) {
	t.Helper()
	err := s.View(t.Context(), func(tx *store.Tx) (err error) {
		n, err = tx.Count("SELECT sum(n) FROM numbers")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func add(tx *store.Tx, id int) error {
	return tx.Exec("UPDATE numbers SET n = n + 1 WHERE id = ?", id)
}

func TestFailedUpdateLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		s := numbers(t, url)
		ours := errors.New("ours")
		if err := s.Update(t.Context(), func(tx *store.Tx) error { return errors.Join(add(tx, 1), ours) }); !errors.Is(err,
			ours) {
			t.Errorf("error %v, want ours", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = s.Update(t.Context(), func(tx *store.Tx) error {
				_ = add(tx, 1)
				panic("ours")
			})
		}()
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Update(ctx, func(tx *store.Tx) error {
			err := add(tx, 1)
			cancel()
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		if n := sum(t, s); n != 0 {
			t.Errorf("%d of the failed updates stayed", n)
		}
		// The connection is free again.
		if err := s.Update(t.Context(), func(tx *store.Tx) error { return add(tx, 1) }); err != nil || sum(t, s) != 1 {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// impatient opens a store with a short deadline. On a slow machine, opening may
// miss the deadline; then it tries again.
func impatient(t *testing.T, url string) (s *store.Store) {
	t.Helper()
	recovers(t, "open", func() (err error) {
		s, err = store.Open(t.Context(), store.Config{URL: url, Timeout: 200 * time.Millisecond})
		return err
	})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// recovers fails the test if fn, which has a short deadline, never succeeds.
func recovers(t *testing.T, what string, fn func() error) {
	t.Helper()
	limit := time.Now().Add(time.Minute)
	err := fn()
	for fault.CodeOf(err) == fault.Unavailable && time.Now().Before(limit) {
		err = fn()
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestStatementsHaveADeadlineOnPostgres(t *testing.T) {
	s := impatient(t, pgtest.EmptyURL(t))
	for name, run := range map[string]func(context.Context, func(*store.Tx) error) error{"View": s.View,
		"Update": s.Update} {
		err := run(t.Context(), func(tx *store.Tx) error { return tx.Exec("SELECT pg_sleep(3600)") })
		if fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: error %v, want unavailable", name, err)
		}
		recovers(t, "after "+name, func() error { return s.Ping(t.Context()) })
	}
}

func TestWritesHaveADeadlineOnSQLite(t *testing.T) {
	url := sqliteURL(t)
	numbers(t, url)
	s := impatient(t, url)
	const endless = `INSERT INTO numbers WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
		SELECT count(*), 0 FROM c`
	for name, fn := range map[string]func(*store.Tx) error{
		"an endless statement": func(tx *store.Tx) error { return tx.Exec(endless) },
		"an update inside an update": func(*store.Tx) error {
			return s.Update(t.Context(),
				func(tx *store.Tx) error { return add(tx, 1) })
		},
	} {
		if err := s.Update(t.Context(), fn); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: error %v, want unavailable", name, err)
		}
		recovers(t, "after "+name, func() error {
			return s.Update(t.Context(), func(tx *store.Tx) error { return add(tx, 1) })
		})
	}
}

func TestDeadlockIsRunAgain(t *testing.T) {
	s := numbers(t, pgtest.EmptyURL(t))
	var both sync.WaitGroup // each holds its first row
	both.Add(2)
	done := make(chan error)
	for _, order := range [][2]int{{1, 2}, {2, 1}} {
		met := false
		go func() {
			done <- s.Update(context.Background(), func(tx *store.Tx) error {
				if err := add(tx, order[0]); err != nil {
					return err
				}
				if !met {
					met = true
					both.Done()
					both.Wait()
				}
				return add(tx, order[1])
			})
		}()
	}
	if err := errors.Join(<-done, <-done); err != nil {
		t.Fatal(err)
	}
	if n := sum(t, s); n != 4 {
		t.Errorf("sum %d, want 4", n)
	}
}

func TestRetriesEnd(t *testing.T) {
	s := open(t, pgtest.EmptyURL(t))
	tried := 0
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		tried++
		return tx.Exec("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$")
	})
	if fault.CodeOf(err) != fault.Unavailable || tried != 5 {
		t.Errorf("%d attempts, %v", tried, err)
	}
}

// killSelf ends the connection of a transaction from another one.
func killSelf(t *testing.T, s *store.Store, tx *store.Tx) {
	t.Helper()
	pid, err := tx.Count("SELECT pg_backend_pid()")
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(tx *store.Tx) error {
		if err := tx.Exec("SELECT pg_terminate_backend(?)", pid); err != nil {
			return err
		}
		for {
			if n, err := tx.Count("SELECT count(*) FROM pg_stat_activity WHERE pid = ?", pid); n == 0 || err != nil {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestConnectionLostBeforeCommitIsRunAgain(t *testing.T) {
	s := numbers(t, pgtest.EmptyURL(t))
	for name, run := range map[string]func(context.Context, func(*store.Tx) error) error{"Update": s.Update,
		"View": s.View} {
		tried := 0
		err := run(t.Context(), func(tx *store.Tx) error {
			tried++
			if tried == 1 && name == "Update" {
				killSelf(t, s, tx)
			}
			if tried == 1 && name == "View" {
				return tx.Exec("SELECT pg_terminate_backend(pg_backend_pid())")
			}
			return add(tx, 1)
		})
		if err != nil || tried != 2 {
			t.Errorf("%s: %d attempts, %v", name, tried, err)
		}
	}
}

func TestStatementOnAClosedConnectionIsRunAgain(t *testing.T) {
	url := pgtest.EmptyURL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
	_, closed := conn.Exec(t.Context(), "SELECT 1")
	s := open(t, url)
	for name, run := range map[string]func(context.Context, func(*store.Tx) error) error{"Update": s.Update,
		"View": s.View} {
		tried := 0
		err := run(t.Context(), func(*store.Tx) error {
			if tried++; tried == 1 {
				return closed
			}
			return nil
		})
		if err != nil || tried != 2 {
			t.Errorf("%s: %d attempts, %v", name, tried, err)
		}
	}
}

// After a failed COMMIT nobody knows whether the transaction was written, so
// it must not run twice.
func TestLostCommitIsNotRunAgain(t *testing.T) {
	s := numbers(t, pgtest.EmptyURL(t))
	tried := 0
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		tried++
		err := add(tx, 1)
		killSelf(t, s, tx)
		return err
	})
	if fault.CodeOf(err) != fault.Unavailable || tried != 1 {
		t.Errorf("%d attempts, %v", tried, err)
	}
}

func TestFullSQLiteDiskRefusesWritesOnly(t *testing.T) {
	s := numbers(t, sqliteURL(t))
	limit := func(pages string) {
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			return tx.Exec("PRAGMA max_page_count = " +
				pages)
		}); err != nil {
			t.Fatal(err)
		}
	}
	fill := func(tx *store.Tx) error {
		return errors.Join(add(tx, 1), tx.Exec("CREATE TABLE filler AS SELECT zeroblob(1000000)"))
	}
	limit("10")
	if err := s.Update(t.Context(), fill); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("write on a full disk: %v, want unavailable", err)
	}
	if n := sum(t, s); n != 0 {
		t.Errorf("half of a refused transaction stayed")
	}
	limit("1000000")
	if err := s.Update(t.Context(), fill); err != nil || sum(t, s) != 1 {
		t.Errorf("after there was space again: %v", err)
	}
}

func TestViewCannotWriteOnSQLite(t *testing.T) {
	s := numbers(t, sqliteURL(t))
	if err := s.View(t.Context(), func(tx *store.Tx) error { return add(tx, 1) }); err == nil || sum(t, s) != 0 {
		t.Errorf("a view wrote: %v", err)
	}
}

func TestErrorsNeverQuoteValues(t *testing.T) {
	const canary = "canary-7f3a"
	each(t, func(t *testing.T, url string) {
		s := open(t, url)
		schema := []string{
			"CREATE TABLE u (name text UNIQUE, CHECK (length(name) < 13))", "INSERT INTO u VALUES ('" + canary + "')",
		}
		for _, statement := range schema {
			if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Exec(statement) }); err != nil {
				t.Fatal(err)
			}
		}
		failing := []string{"INSERT INTO u VALUES (?)", "INSERT INTO u VALUES (? || '-x')"}
		if strings.HasPrefix(url, "postgres:") {
			failing = append(failing, "SELECT cast(CAST(? AS text) AS uuid)", "SELECT cast(CAST(? AS text) AS integer)")
		}
		for _, statement := range failing {
			err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Exec(statement, canary) })
			if err == nil || strings.Contains(err.Error(), canary) {
				t.Errorf("%s: error %v", statement, err)
			}
		}
	})
}
