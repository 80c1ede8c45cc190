package store

import (
	"errors"
	"time"

	"gorm.io/gorm"

	"agegate/internal/rules/webhook"
)

// eventBatch is the maximum number of events that one transaction changes, so
// that a tenant with very many does not delay others.
const eventBatch = 500

// finishEndpoint updates the endpoint after an attempt and reports whether it is disabled.
func (tx *Tx) finishEndpoint(d webhook.Delivery, v webhook.Action) (disabled bool, err error) {
	before, err := tx.lockEndpoint(d, v)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return false, nil // the endpoint has never failed
	}
	if err != nil {
		return false, err
	}
	now, err := tx.readClock()
	if err != nil {
		return false, err
	}
	failedLately := false
	if before.FirstFailureAt != nil && v != webhook.ActionFinish {
		if failedLately, err = tx.failedLately(before, now); err != nil {
			return false, err
		}
	}
	after := before.After(v, failedLately, now)
	if after.DisabledAt != nil && v != webhook.ActionFinish {
		// Events that another transaction has locked are skipped, because two transactions that wait for each other's
		// events would deadlock. The next failure changes them.
		err = tx.db.Exec(tx.chosen("id", "webhook_events", "endpoint_id = ? AND status = 'pending' LIMIT ?")+
			"UPDATE webhook_events SET status = 'waiting', next_attempt_at = NULL WHERE id IN (SELECT id FROM chosen)",
			after.ID, eventBatch).Error
	}
	if err != nil || after == before {
		return after.DisabledAt != nil, err
	}
	return after.DisabledAt != nil, tx.db.Exec(
		"UPDATE webhook_endpoints SET first_failure_at = ?, disabled_at = ?, disabled_reason = ? WHERE id = ?",
		after.FirstFailureAt, after.DisabledAt, after.DisabledReason, after.ID).Error
}

// lockEndpoint locks the delivery's endpoint and returns its record. After a failure a missing record is
// created; after a success it is gorm.ErrRecordNotFound.
func (tx *Tx) lockEndpoint(d webhook.Delivery, v webhook.Action) (webhook.Endpoint, error) {
	id := webhook.EndpointID(d.TenantID, d.Livemode, d.Destination)
	if v != webhook.ActionFinish {
		if err := tx.db.Exec(`
			INSERT INTO webhook_endpoints (id, tenant_id, livemode, url, disabled_reason)
			VALUES (?, ?, ?, ?, '') ON CONFLICT (id) DO NOTHING`, id, d.TenantID, d.Livemode, d.Destination).Error; err != nil {
			return webhook.Endpoint{}, err
		}
	}
	return take[webhook.Endpoint](tx.forUpdate().Table(endpointTable), "id = ?", id)
}

// failedLately reports whether an attempt at the endpoint failed less than webhook.FailureLimit before now.
func (tx *Tx) failedLately(e webhook.Endpoint, now time.Time) (bool, error) {
	since := now.Add(-webhook.FailureLimit)
	if e.FirstFailureAt.After(since) {
		return true, nil
	}
	var found bool
	err := tx.db.Raw(`SELECT EXISTS (
		SELECT 1 FROM webhook_events
		WHERE endpoint_id = ? AND status IN ('pending', 'failed', 'waiting') AND last_at > ?
	)`, e.ID, since).Scan(&found).Error
	return found, err
}
