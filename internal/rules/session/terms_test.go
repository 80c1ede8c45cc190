package session_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// TestChangedTermsApplyAtOnce: a session that is created after a change of the
// tenant's settings has been stored is made on the new ones, Two replicas create sessions of several
// tenants, and the first changes the settings meanwhile.
func TestChangedTermsApplyAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		replicas := [2]shops{newShops(t, db), newShops(t, db)}
		const changes, creations = 10, 12
		var all sync.WaitGroup
		for range 5 {
			owner := replicas[0].open(t, 1000, 1000, 0)
			var stored atomic.Int64
			all.Go(func() {
				for n := range int64(changes) {
					url := successURL(n + 1)
					if _, err := replicas[0].tenants.Update(t.Context(), audit.System("test"), owner,
						tenant.Changes{SuccessURL: &url}); err != nil {
						t.Error(err)
					}
					stored.Store(n + 1)
				}
			})
			for i := range 4 {
				all.Go(func() {
					for range creations {
						createOnCurrentTerms(t, replicas[i%2], owner, i > 1, &stored)
					}
				})
			}
		}
		all.Wait()
	})
}

func successURL(n int64) string { return fmt.Sprintf("https://s.example/%03d", n) }

// createOnCurrentTerms creates a session and fails if its Success URL is older than
// the one that was stored before.
func createOnCurrentTerms(t *testing.T, s shops, owner uuid.UUID, livemode bool, stored *atomic.Int64) {
	before := stored.Load()
	id, err := s.create(t.Context(), owner, livemode, session.CreateRequest{})
	if err != nil {
		t.Error(err)
		return
	}
	made, err := s.db.SessionByID(t.Context(), owner, id)
	if err != nil || before > 0 && made.SuccessURL < successURL(before) {
		t.Errorf("created with %s, %v, after %s had been stored", made.SuccessURL, err, successURL(before))
	}
}
