package store_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"agegate/internal/rules/fault"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// TestRoleWithFewConnections: requests wait for one of the connections that the
// database's role may have.
func TestRoleWithFewConnections(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	admin := openAt(t, address)
	for _, statement := range []string{
		"CREATE ROLE few LOGIN CONNECTION LIMIT 3",
		"GRANT USAGE ON SCHEMA public TO few", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO few",
	} {
		if err := admin.ExecRaw(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, statement := range []string{"DROP OWNED BY few", "DROP ROLE few"} {
			if err := admin.ExecRaw(context.Background(), statement); err != nil {
				t.Error(err)
			}
		}
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("few")
	few := openAt(t, u.String())
	defer few.Close() // before the role is dropped
	var clients errgroup.Group
	for range 40 {
		clients.Go(func() error {
			for range 5 {
				if err := few.ExecRaw(t.Context(), "SELECT pg_sleep(0.01)"); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := clients.Wait(); err != nil {
		t.Errorf("a request failed where waiting would do: %v", err)
	}
}

// TestReadOnlyDatabase: Writable fails for a database that answers but accepts no
// changes.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	writable := openAt(t, address)
	if err := writable.Writable(t.Context()); err != nil {
		t.Errorf("a working database: %v", err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	settings := u.Query()
	settings.Set("default_transaction_read_only", "on")
	settings.Set("target_session_attrs", "any")
	u.RawQuery = settings.Encode()
	readOnly := openAt(t, u.String())
	if err := readOnly.Ping(t.Context()); err != nil {
		t.Errorf("it answers: %v", err)
	}
	if err := readOnly.Writable(t.Context()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a read-only database: %v", err)
	}
}

func openAt(t *testing.T, address string) *store.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := store.Open(ctx, store.Config{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
