package store_test

import (
	"strings"
	"sync"
	"testing"

	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
	"agegate/internal/store/storetest"
)

// TestConformanceBehindAPooler runs what every store must hold through
// PgBouncer, which refuses settings at start-up by default.
func TestConformanceBehindAPooler(t *testing.T) {
	pooler := pgtest.NewPooler(t)
	storetest.Run(t, func(t testing.TB) storetest.Store { return dbtest.Open(t, pooler.URL(t)) })
}

func TestReplicasMigrateBehindAPooler(t *testing.T) {
	for name, settings := range map[string]string{
		"that refuses settings": "",
		"that ignores settings": "ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout,timezone",
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.NewPooler(t, settings).EmptyURL(t)
			var starting sync.WaitGroup
			for range 3 {
				starting.Go(func() {
					s, err := store.Open(t.Context(), store.Config{URL: url})
					if err != nil {
						t.Error(err)
						return
					}
					defer s.Close()
					if err := s.Migrate(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			starting.Wait()
		})
	}
}

func TestOpenOfAReplica(t *testing.T) {
	primary, replica := pgtest.URL(t), pgtest.ReplicaURL(t)
	_, err := store.Open(t.Context(), store.Config{URL: replica})
	if err == nil || !strings.Contains(err.Error(), "read-only replica") {
		t.Errorf("a replica alone: %v", err)
	}
	both := strings.Replace(primary, "host=", "host="+hostOf(replica)+",", 1)
	if err := open(t, both).Migrate(t.Context()); err != nil {
		t.Errorf("a replica and the primary: %v", err)
	}
}

func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "host=")
	host, _, _ := strings.Cut(rest, "&")
	return host
}
