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

// TestSettingsOfTheURLBehindAPooler: those that the pooler passes on hold, and no
// other is dropped without a word.
func TestSettingsOfTheURLBehindAPooler(t *testing.T) {
	url := pgtest.NewPooler(t).URL(t)
	for _, setting := range []string{"search_path=elsewhere", "options=-c%20work_mem%3D8MB", "statement_timeout=100", "role=elsewhere"} {
		s, err := store.Open(t.Context(), store.Config{URL: url + "&timezone=UTC&" + setting})
		if err == nil {
			_ = s.Close()
		}
		name, value, _ := strings.Cut(setting, "=")
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "ALTER ROLE") || strings.Contains(err.Error(), value) {
			t.Errorf("%s: error %v", setting, err)
		}
	}
	err := open(t, url+"&application_name=shop&timezone=Asia/Tokyo").View(t.Context(), func(tx *store.Tx) error {
		n, err := tx.Count("SELECT count(*) FROM pg_settings WHERE (name, setting) IN (('application_name', 'shop'), ('TimeZone', 'Asia/Tokyo'))")
		if n != 2 {
			t.Errorf("%d of two settings hold", n)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
