package session_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// TestManyTenantsLookUp: lookups of several tenants at the same time share
// queries, and each finds the tenant's own sessions only.
func TestManyTenantsLookUp(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		s := newShops(t, db)
		var owners, sessions []uuid.UUID
		for range 5 {
			owner := s.open(t, 1, 1, 0)
			id, err := s.create(t.Context(), owner, false, session.CreateRequest{})
			if err != nil {
				t.Fatal(err)
			}
			owners, sessions = append(owners, owner), append(sessions, id)
		}
		sessions = append(sessions, uuid.New()) // of nobody
		var wg sync.WaitGroup
		for n := range 10 * len(owners) * len(sessions) {
			caller, asked := n%len(owners), n/len(owners)%len(sessions)
			wg.Go(func() {
				view, err := s.sessions.Status(t.Context(), owners[caller], sessions[asked])
				switch {
				case caller == asked && (err != nil || view.Status != session.StatusPending || !view.At.Equal(acrossNow)):
					t.Errorf("a tenant's own session: %+v, %v", view, err)
				case caller != asked && fault.CodeOf(err) != fault.NotFound:
					t.Errorf("a session of another tenant or of nobody: %+v, %v", view, err)
				}
			})
		}
		wg.Wait()
	})
}
