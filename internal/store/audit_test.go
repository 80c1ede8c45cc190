package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"

	"github.com/google/uuid"
)

// A session is created while an act has locked the tenant's settings and waits
// for the end of the tenant's audit log.
func TestSessionsDoNotWaitForAnAct(t *testing.T) {
	o := outbox{Store: dbtest.Open(t, pgtest.URL(t)), t: t}
	o.tenant = o.newTenant()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	act := audit.Act{Scope: audit.OfTenant(o.tenant), At: time.Now(), Actor: audit.System("test"),
		Action: audit.TenantUpdate}
	changed := make(chan error, 1)
	o.must(o.Update(ctx, func(tx *store.Tx) error {
		if err := tx.AppendAudit(act); err != nil {
			return err
		}
		go func() {
			name := "New"
			_, err := o.UpdateTenant(ctx, o.tenant, tenant.Changes{Name: &name}, act)
			changed <- err
		}()
		for waiting := int64(0); waiting == 0; {
			// Reads outside the transaction, which would see the same state again
			// and again.
			err := o.View(ctx, func(tx *store.Tx) (err error) {
				waiting, err = tx.Count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND " +
					"wait_event_type = 'Lock'")
				return err
			})
			if err != nil {
				return err
			}
		}
		return o.UpdateSessions(ctx, func(tx session.Tx) error {
			return tx.InsertSessions(session.Session{
				ID: uuid.Must(uuid.NewV7()), TenantID: o.tenant, TargetAge: 18, Status: session.StatusPending,
				LinkHash: make([]byte, 32), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
			})
		})
	}))
	o.must(<-changed)
	if end, err := audit.Verify(t.Context(), o, act.Scope); err != nil || end.Seq != 2 {
		t.Errorf("the log ends at %v, %v", end, err)
	}
}

// Verify finds a changed and a removed row of either table.
func TestVerifyFindsChangedRows(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		for _, tamper := range []string{
			"UPDATE audit_entries SET at = '2026-01-01 00:00:00' WHERE scope = ? AND seq = 2",
			"UPDATE audit_entries SET actor_kind = 'cli' WHERE scope = ? AND seq = 2",
			"UPDATE audit_entries SET actor_id = 'x' WHERE scope = ? AND seq = 2",
			"UPDATE audit_entries SET actor_name = 'x' WHERE scope = ? AND seq = 2",
			"UPDATE audit_entries SET action = 'x' WHERE scope = ? AND seq = 2",
			"UPDATE audit_entries SET target = 'x' WHERE scope = ? AND seq = 2",
			"UPDATE audit_entries SET detail = '{ }' WHERE scope = ? AND seq = 2",
			"UPDATE audit_entries SET prev_hash = hash WHERE scope = ? AND seq = 2",
			"UPDATE audit_entries SET hash = prev_hash WHERE scope = ? AND seq = 2",
			"UPDATE audit_entries SET seq = 4 WHERE scope = ? AND seq = 2",
			"DELETE FROM audit_entries WHERE scope = ? AND seq = 1",
			"DELETE FROM audit_entries WHERE scope = ? AND seq = 3",
			"DELETE FROM audit_entries WHERE scope = ?",
			"DELETE FROM audit_heads WHERE scope = ?",
			"UPDATE audit_heads SET seq = 2 WHERE scope = ?",
		} {
			scope := audit.OfTenant(uuid.New())
			err := s.Update(t.Context(), func(tx *store.Tx) error {
				for range 3 {
					act := audit.Act{Scope: scope, At: time.Now(), Actor: audit.System("test"), Action: audit.TenantUpdate}
					if err := tx.AppendAudit(act); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := audit.Verify(t.Context(), s, scope); err != nil {
				t.Fatal(err)
			}
			if err := s.ExecRaw(t.Context(), tamper, string(scope)); err != nil {
				t.Fatal(err)
			}
			if _, ok := errors.AsType[*audit.BrokenError](second(audit.Verify(t.Context(), s, scope))); !ok {
				t.Errorf("not found: %s", tamper)
			}
		}
	})
}

func second(_ audit.Head, err error) error { return err }
