package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/session"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// TestSessionsAreFoundByAnIndex: each name has an index of its own, which both databases
// use before they have gathered statistics.
func TestSessionsAreFoundByAnIndex(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		o := outbox{Store: s, t: t}
		tenant, now := o.newTenant(), time.Now()
		var rows []session.Session
		for i := range 5_000 {
			id := uuid.Must(uuid.NewV7())
			rows = append(rows, session.Session{
				ID: id, TenantID: tenant, Livemode: true, TargetAge: 18, Status: session.StatusPending,
				LinkHash: append(id[:], id[:]...), CreatedAt: now, ExpiresAt: now, OrderRef: fmt.Sprint("2026-", i),
			})
		}
		for some := range slices.Chunk(rows, 500) { // a statement has a limited number of values
			o.must(s.UpdateSessions(t.Context(), func(tx session.Tx) error { return tx.InsertSessions(some...) }))
		}
		scope := insight.Scope{TenantID: tenant, Livemode: true}
		for by, index := range map[insight.Name]string{
			insight.IDEnd: "sessions_id_end", insight.Order: "sessions_order_key", insight.OrderStart: "sessions_order_key",
			insight.OrderNumber: "sessions_order_number",
		} {
			o.must(s.View(t.Context(), func(tx *store.Tx) error {
				plan, err := tx.FindPlan(scope, by, "10000042")
				if !strings.Contains(plan, index) {
					t.Errorf("name %d is not found by %s: %s", by, index, plan)
				}
				return err
			}))
		}
	})
}
