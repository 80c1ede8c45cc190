package store_test

import (
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
