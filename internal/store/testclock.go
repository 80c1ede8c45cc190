package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

var (
	_ session.ClockStore = (*Store)(nil)
	_ session.ClockTx    = (*Tx)(nil)
)

// UpdateClock implements session.ClockStore with Update.
func (s *Store) UpdateClock(ctx context.Context, fn func(session.ClockTx) error) error {
	return s.Update(ctx, func(tx *Tx) error { return fn(tx) })
}

// MoveExpiry implements session.ClockTx.
func (tx *Tx) MoveExpiry(id uuid.UUID, now time.Time) (bool, error) {
	return changed(tx.open(id, now).Where("NOT livemode").Update("expires_at", now))
}

// ExpireNextRedirect implements session.ClockTx.
func (tx *Tx) ExpireNextRedirect(id uuid.UUID) (bool, error) {
	return changed(tx.db.Model(&session.Session{}).Where("id = ? AND NOT livemode", id).
		Update("next_redirect_expired", true))
}

// TakeExpiredRedirect implements session.Store.
func (s *Store) TakeExpiredRedirect(ctx context.Context, id uuid.UUID) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.db.Model(&session.Session{}).Where("id = ? AND next_redirect_expired",
			id).Update("next_redirect_expired", false))
	})
}

// RetryEvent implements webhook.Journal.
func (s *Store) RetryEvent(ctx context.Context, scope webhook.Scope, id string, act audit.Act) error {
	return s.Update(ctx, func(tx *Tx) error {
		row, err := tx.lockEvent(scope, id)
		if err != nil {
			return err
		}
		if err := webhook.MayRetry(row.Livemode, row.Status, row.LeaseToken != nil); err != nil {
			return err
		}
		err = tx.db.Table("webhook_events").Where("id = ?", id).Update("next_attempt_at", tx.dbNow()).Error
		if err != nil {
			return err
		}
		return tx.AppendAudit(ofOwner(act, row.TenantID))
	})
}
