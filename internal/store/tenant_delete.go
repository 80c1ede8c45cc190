package store

import (
	"context"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

// deleteBatch is the maximum number of rows that one transaction of DeleteTenant
// deletes from a table that grows with the tenant's use.
const deleteBatch = 500

// DeleteTenant implements tenant.Store.
func (s *Store) DeleteTenant(ctx context.Context, id uuid.UUID, act audit.Act) error {
	written := false
	for _, statement := range []string{
		// Deleting events also deletes their attempts, by the foreign key.
		"DELETE FROM webhook_events WHERE id IN (SELECT id FROM webhook_events WHERE tenant_id = ? LIMIT ?)",
		`DELETE FROM idempotency_claims WHERE (tenant_id, livemode, key_hash) IN (
			SELECT tenant_id, livemode, key_hash FROM idempotency_claims WHERE tenant_id = ? LIMIT ?)`,
		"DELETE FROM ledger_entries WHERE id IN (SELECT id FROM ledger_entries WHERE tenant_id = ? LIMIT ?)",
		`DELETE FROM session_hours WHERE (tenant_id, livemode, hour, target_age, status, source) IN (
			SELECT tenant_id, livemode, hour, target_age, status, source FROM session_hours WHERE tenant_id = ? LIMIT ?)`,
	} {
		for more := true; more; {
			err := s.Update(ctx, func(tx *Tx) error {
				if err := tx.checkDeletable(id); err != nil {
					return err
				}
				result := tx.db.Exec(statement, id, deleteBatch)
				more = result.RowsAffected == deleteBatch
				if result.Error != nil || written {
					return result.Error
				}
				return tx.AppendAudit(act)
			})
			if err != nil {
				return err
			}
			written = true
		}
	}
	return s.Update(ctx, func(tx *Tx) error {
		if err := tx.checkDeletable(id); err != nil {
			return err
		}
		return tx.deleteRest(id)
	})
}

// deleteRest deletes a tenant with its rows in the tables that do not grow with its
// use. Those of test_feeds, mails and registrations go with the tenant's row.
func (tx *Tx) deleteRest(id uuid.UUID) error {
	for _, table := range []string{
		"webhook_endpoints", "ledger_days", "api_refusals", "brands", "tenant_secrets", "api_keys", "usage_counters",
		"credit_balances", "memberships", "links", "notices", "certifications", "certified_hosts", "qa_cards", "verifiers",
	} {
		if err := tx.db.Exec("DELETE FROM "+table+" WHERE tenant_id = ?", id).Error; err != nil {
			return err
		}
	}
	marks := []string{markOf(insight.SumSessions, id), markOf(insight.SumLedger, id)}
	if err := tx.db.Exec("DELETE FROM fold_marks WHERE name IN ?", marks).Error; err != nil {
		return err
	}
	return tx.db.Exec("DELETE FROM tenants WHERE id = ?", id).Error
}

// checkDeletable locks a tenant and refuses one that is enabled or has
// sessions. While it is locked, no session can be created.
func (tx *Tx) checkDeletable(id uuid.UUID) error {
	row, err := tx.lockTenant(id)
	if err != nil {
		return err
	}
	if !row.Disabled {
		return tenant.ErrEnabled
	}
	var session []uuid.UUID
	err = tx.db.Table("sessions").Where("tenant_id = ?", id).Limit(1).Pluck("id", &session).Error
	if err == nil && len(session) > 0 {
		return fault.New(fault.Conflict, "the tenant still has sessions")
	}
	return err
}
