package storetest

import (
	"testing"

	"agegate/internal/store"
)

func TestMigrateReachesTheBinarysVersion(t *testing.T) {
	Each(t, func(t *testing.T, s *store.Store) {
		database, binary, err := s.SchemaVersion(t.Context())
		if err != nil || database != binary || binary < 1 {
			t.Fatalf("schema version %d of %d, %v", database, binary, err)
		}
	})
}
