package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/rules/trail"
	"agegate/internal/rules/webhook"
)

var (
	_ webhook.Queue   = (*Store)(nil)
	_ webhook.Journal = (*Store)(nil)
)

// InsertEvent implements session.Tx. The event is due at once. It waits if its endpoint is disabled, and is
// never sent if it has no destination. A second event of a session is fault.Conflict.
//
// InsertEvent does not see that another transaction is disabling the endpoint. The event then gets one attempt
// before it waits.
func (tx *Tx) InsertEvent(e webhook.Event) error {
	endpoint := webhook.EndpointID(e.TenantID, e.Livemode, e.Destination)
	var disabled int64 // 0 for an endpoint without a record, and for the empty ID
	err := tx.db.Table("webhook_endpoints").Where("id = ? AND disabled_at IS NOT NULL", endpoint).Count(&disabled).Error
	if err != nil {
		return err
	}
	status := webhook.FirstStatus(e.Destination, disabled > 0)
	var due any
	if status == webhook.StatusPending {
		due = tx.dbNow()
	}
	return tx.db.Table("webhook_events").Create(map[string]any{
		"id": e.ID, "tenant_id": e.TenantID, "session_id": e.SessionID, "livemode": e.Livemode,
		"destination": e.Destination, "endpoint_id": endpoint, "body": e.Body,
		"status": status, "created_at": tx.dbNow(), "next_attempt_at": due,
		"attempts": 0, "step": 0, "last_class": "", "last_status": 0, "trace": trail.Mark(tx.db.Statement.Context),
	}).Error
}

// dueTenants selects the tenants whose earliest pending delivery is due. The subquery
// with a LIMIT is one index lookup for each tenant. With outdated statistics,
// PostgreSQL would turn an EXISTS into a join with every due delivery.
var dueTenants = owners("webhook_events", "pending") + `(
	SELECT e.next_attempt_at FROM webhook_events e
	WHERE e.status = 'pending' AND e.tenant_id = owner.tenant_id ORDER BY e.next_attempt_at LIMIT 1
) <= ?`

// DueTenants implements webhook.Queue.
func (s *Store) DueTenants(ctx context.Context) ([]uuid.UUID, error) {
	return view(ctx, s, func(tx *Tx) (tenants []uuid.UUID, err error) {
		err = tx.db.Raw(dueTenants, tx.dbNow()).Scan(&tenants).Error
		return tenants, err
	})
}

// ClaimDeliveries implements webhook.Queue.
func (s *Store) ClaimDeliveries(
	ctx context.Context, claims []webhook.Claim, lease time.Duration,
) ([]webhook.Delivery, error) {
	token := uuid.New()
	return update(ctx, s, func(tx *Tx) (deliveries []webhook.Delivery, err error) {
		for _, c := range claims {
			rows, err := tx.claim(c, token, lease)
			if err != nil {
				return nil, err
			}
			deliveries = append(deliveries, rows...)
		}
		return deliveries, nil
	})
}

func (tx *Tx) claim(c webhook.Claim, token uuid.UUID, lease time.Duration) ([]webhook.Delivery, error) {
	var rows []eventRow
	err := tx.db.Raw(tx.chosen("id AS due", "webhook_events",
		"tenant_id = @tenant AND status = 'pending' AND next_attempt_at <= @now ORDER BY next_attempt_at LIMIT @limit")+`
		UPDATE webhook_events SET next_attempt_at = @until, lease_token = @token, attempts = attempts + 1
		FROM chosen WHERE id = due RETURNING id, tenant_id, session_id, livemode, destination, body,
			attempts, step, trace, next_attempt_at`, map[string]any{
		"tenant": c.TenantID, "limit": c.Limit, "token": token, "now": tx.dbNow(), "until": tx.dbNowPlus(lease),
	}).Scan(&rows).Error
	if err != nil {
		return nil, err
	}
	return mapAll(rows, func(row eventRow) webhook.Delivery {
		return webhook.Delivery{
			Event: row.Event, Step: row.Step, Trace: row.Trace,
			Lease: webhook.Lease{EventID: row.ID, Token: token, Number: row.Attempts, At: row.NextAttemptAt.Add(-lease)},
		}
	}), nil
}

// leased selects the delivery if the lease still holds.
func (tx *Tx) leased(lease webhook.Lease) *gorm.DB {
	return tx.db.Table("webhook_events").Where("id = ? AND lease_token = ?", lease.EventID, lease.Token)
}

// ReleaseDelivery implements webhook.Queue.
func (s *Store) ReleaseDelivery(ctx context.Context, lease webhook.Lease, after time.Duration) error {
	return s.Update(ctx, func(tx *Tx) error {
		res := tx.leased(lease).Updates(map[string]any{
			// Its endpoint may have been disabled in the meantime.
			"next_attempt_at": gorm.Expr("CASE WHEN status = 'pending' THEN ? END", tx.dbNowPlus(after)),
			"lease_token":     nil,
			"attempts":        gorm.Expr("attempts - 1"),
		})
		if res.Error == nil && res.RowsAffected == 0 {
			return webhook.ErrLeaseLost
		}
		return res.Error
	})
}

// FinishDelivery implements webhook.Queue.
func (s *Store) FinishDelivery(
	ctx context.Context, d webhook.Delivery, a webhook.Attempt, o webhook.Disposition,
) error {
	lost := false
	err := s.Update(ctx, func(tx *Tx) error {
		// Every transaction locks the endpoint before its events, so that transactions do not deadlock.
		disabled, err := tx.finishEndpoint(d, o.Action)
		if err != nil {
			return err
		}
		status := o.Status(disabled)
		var next any
		if status == webhook.StatusPending {
			next = tx.dbNowPlus(o.RetryIn)
		}
		if err := tx.insertAttempt(d.ID, a, next); err != nil {
			return err
		}
		res := tx.leased(d.Lease).Updates(map[string]any{
			"status": status, "next_attempt_at": next, "lease_token": nil, "step": gorm.Expr("step + 1"),
			"last_at": a.At, "last_class": a.Class, "last_status": a.StatusCode,
		})
		lost = res.Error == nil && res.RowsAffected == 0
		return res.Error
	})
	if err == nil && lost {
		return webhook.ErrLeaseLost
	}
	return err
}

// insertAttempt inserts an attempt, unless it was recorded before.
func (tx *Tx) insertAttempt(eventID string, a webhook.Attempt, next any) error {
	return tx.db.Exec(`
		INSERT INTO webhook_attempts (event_id, number, at, class, status_code, latency_us, excerpt, next_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_id, number) DO NOTHING`,
		eventID, a.Number, a.At, a.Class, a.StatusCode, a.Latency.Microseconds(), append([]byte{}, a.Excerpt...), next).Error
}

// PruneEvents implements webhook.Queue. An event that another transaction has
// locked may be about to become due again, and is left for the next run.
func (s *Store) PruneEvents(ctx context.Context, keep time.Duration, limit int) (int, error) {
	return update(ctx, s, func(tx *Tx) (int, error) {
		return tx.deleteChosen("webhook_events", "id", "created_at < ? AND status <> 'pending' ORDER BY created_at LIMIT ?",
			tx.dbNowPlus(-keep), limit)
	})
}
