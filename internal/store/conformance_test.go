package store_test

import (
	"testing"

	"agegate/internal/store/dbtest"
	"agegate/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	for dialect, url := range dbtest.URLs(t) {
		t.Run(dialect, func(t *testing.T) {
			storetest.Run(t, func(t testing.TB) storetest.Store { return dbtest.Open(t, url(t)) })
		})
	}
}
