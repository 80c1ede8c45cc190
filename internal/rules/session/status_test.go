package session_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// slowStandings is a store in which every query of standings waits for a signal.
type slowStandings struct {
	session.Store
	owners  map[uuid.UUID]uuid.UUID // of the sessions
	proceed chan struct{}
}

func (s slowStandings) Standings(_ context.Context, ids []uuid.UUID) (map[uuid.UUID]session.Standing, error) {
	<-s.proceed
	found := map[uuid.UUID]session.Standing{}
	for _, id := range ids {
		found[id] = session.Standing{TenantID: s.owners[id], Status: session.StatusPending,
			ExpiresAt: acrossNow.Add(time.Hour)}
	}
	return found, nil
}

// TestLookupsTakeTurns: however many lookups of one tenant wait, a lookup of another
// tenant is served by the next query.
func TestLookupsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many, few := uuid.New(), uuid.New()
		store := slowStandings{owners: map[uuid.UUID]uuid.UUID{}, proceed: make(chan struct{})}
		s := session.NewService(session.Config{}, store, nil, nil, nil, func() time.Time { return acrossNow }, func() {})
		var all sync.WaitGroup
		var mu sync.Mutex
		var served []uuid.UUID
		for _, owner := range slices.Concat(slices.Repeat([]uuid.UUID{many}, 500), []uuid.UUID{few}) {
			id := uuid.New()
			store.owners[id] = owner
			all.Go(func() {
				if _, err := s.Status(t.Context(), owner, id); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				served = append(served, owner)
			})
			synctest.Wait()
		}
		for range 2 { // the query under way, and the next
			store.proceed <- struct{}{}
			synctest.Wait()
		}
		if !slices.Contains(served, few) {
			t.Errorf("after two queries, %d lookups of one tenant were served, and none of the other", len(served))
		}
		close(store.proceed)
		all.Wait()
	})
}
