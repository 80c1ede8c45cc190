package store_test

import (
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// TestDeleteTenantDeletesWhatOnlyEarlierReleasesUse: rows in tables that this release
// does not use do not keep a tenant from being deleted.
func TestDeleteTenantDeletesWhatOnlyEarlierReleasesUse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		o := outbox{Store: db, t: t}
		id := o.newTenant()
		for statement, args := range map[string][]any{
			"INSERT INTO qa_cards (id, tenant_id, link_hash, name, outcome, target_age, created_at) " +
				"VALUES (?, ?, ?, 'Till', 'verified', 18, ?)": {uuid.New(), id, make([]byte, 32), time.Now()},
			"INSERT INTO certifications (id, tenant_id, endpoint_id, started_at, passed, results) " +
				"VALUES (?, ?, 'e', ?, true, '[]')": {uuid.New(), id, time.Now()},
			"INSERT INTO certified_hosts (tenant_id, host, started_at) VALUES (?, 'h', ?)": {id, time.Now()},
		} {
			o.must(db.Update(t.Context(), func(tx *store.Tx) error { return tx.Exec(statement, args...) }))
		}
		act := audit.Act{Scope: audit.OfTenant(id), At: time.Now(), Actor: audit.System("test"), Action: audit.TenantUpdate}
		o.must(db.SetTenantDisabled(t.Context(), id, true, act))
		o.must(db.DeleteTenant(t.Context(), id, act))
		if _, err := db.TenantByID(t.Context(), id); err == nil {
			t.Error("the tenant is still there")
		}
		o.must(db.View(t.Context(), func(tx *store.Tx) error {
			n, err := tx.Count("SELECT (SELECT count(*) FROM qa_cards) + (SELECT count(*) FROM certifications) + " +
				"(SELECT count(*) FROM certified_hosts)")
			if n != 0 {
				t.Errorf("%d rows are left", n)
			}
			return err
		}))
	})
}

// TestPreviousReleaseDeletesTenants: 0.2.0, back after an upgrade, deletes a tenant
// without knowing the tables that were made since.
func TestPreviousReleaseDeletesTenants(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		o := outbox{Store: db, t: t}
		id := o.newTenant()
		for statement, args := range map[string][]any{
			"INSERT INTO test_feeds (tenant_id, last) VALUES (?, 1)": {id},
			"INSERT INTO mails (id, tenant_id, kind, created_at, due_at, expires_at) VALUES (?, ?, 'k', ?, ?, ?)": {
				uuid.New(), id, time.Now(), time.Now(), time.Now(),
			},
			"INSERT INTO registrations (id, tenant_id, text, created_at) VALUES (?, ?, 't', ?)": {uuid.New(), id, time.Now()},
		} {
			o.must(db.Update(t.Context(), func(tx *store.Tx) error { return tx.Exec(statement, args...) }))
		}
		o.must(db.Update(t.Context(), func(tx *store.Tx) error {
			for _, known := range []string{"usage_counters", "credit_balances", "tenant_secrets", "api_keys"} {
				if err := tx.Exec("DELETE FROM "+known+" WHERE tenant_id = ?", id); err != nil {
					return err
				}
			}
			return tx.Exec("DELETE FROM tenants WHERE id = ?", id)
		}))
	})
}
