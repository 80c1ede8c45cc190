package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

var (
	_ session.RecordStore = (*Store)(nil)
	_ session.RecordTx    = (*Tx)(nil)
)

// undelivered are the statuses of an event that may still be delivered without a resend.
var undelivered = []webhook.Status{webhook.StatusPending, webhook.StatusWaiting}

// UpdateRecords implements session.RecordStore with Update.
func (s *Store) UpdateRecords(ctx context.Context, fn func(session.RecordTx) error) error {
	return s.Update(ctx, func(tx *Tx) error { return fn(tx) })
}

// CountUnfinished implements session.RecordStore.
func (s *Store) CountUnfinished(
	ctx context.Context, tenantID uuid.UUID, now time.Time,
) (open, events int64, last time.Time, err error) {
	err = s.View(ctx, func(tx *Tx) error {
		sessions := tx.db.Model(&session.Session{}).
			Where("tenant_id = ? AND created_at > ?", tenantID, now.Add(-session.MaxLifetime)). // lets the query use the index
			Where("status = ? AND expires_at > ?", session.StatusPending, now).Session(&gorm.Session{})
		return cmp.Or(sessions.Count(&open).Error,
			sessions.Select("expires_at").Order("expires_at DESC").Limit(1).Scan(&last).Error,
			tx.db.Table("webhook_events").Where("tenant_id = ? AND status IN ?", tenantID, undelivered).
				Count(&events).Error)
	})
	return open, events, last, err
}

// LockRecord implements session.RecordTx.
func (tx *Tx) LockRecord(id uuid.UUID) (session.Record, error) {
	row, err := take[session.Session](tx.forUpdate(), "id = ?", id)
	if err != nil {
		return session.Record{}, err
	}
	records, err := tx.records([]session.Session{row}, tx.forUpdate())
	if err != nil {
		return session.Record{}, err
	}
	return records[0], nil
}

// LockRecords implements session.RecordTx.
func (tx *Tx) LockRecords(
	tenantID uuid.UUID, before time.Time, after session.Record, limit int,
) ([]session.Record, error) {
	rows, err := find[session.Session](tx.forUpdate().
		Where("tenant_id = ? AND created_at < ? AND (created_at, id) > (?, ?)", tenantID, before, after.CreatedAt, after.ID).
		Order("created_at, id").Limit(limit))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return tx.records(rows, tx.forUpdate(clause.LockingOptionsSkipLocked))
}

// records adds to each session the state of its event. It locks the events, because a delivered event may be made due
// again. If the lock does not wait, an event that another transaction is changing counts as undelivered.
func (tx *Tx) records(rows []session.Session, lock *gorm.DB) ([]session.Record, error) {
	ids := mapAll(rows, func(r session.Session) uuid.UUID { return r.ID })
	var locked []string
	if err := lock.Model(&eventRow{}).Where("session_id IN ?", ids).Pluck("id", &locked).Error; err != nil {
		return nil, err
	}
	events, err := find[eventRow](tx.db.Select("id", "session_id", "status").Where("session_id IN ?", ids))
	if err != nil {
		return nil, err
	}
	pending := map[uuid.UUID]bool{}
	for _, e := range events {
		pending[e.SessionID] = slices.Contains(undelivered, e.Status) || !slices.Contains(locked, e.ID)
	}
	return mapAll(rows, func(r session.Session) session.Record {
		return session.Record{
			ID: r.ID, TenantID: r.TenantID, Status: r.Status, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
			Undelivered: pending[r.ID],
		}
	}), nil
}

// DeleteRecords implements session.RecordTx. Foreign keys delete the attempts with their event, and the
// handovers and requests to wallets with their session. A hold that is still open is not deleted, because its
// unit would be lost. Its foreign key lets the deletion of its session fail.
func (tx *Tx) DeleteRecords(ids []uuid.UUID) error {
	for _, statement := range []string{
		"DELETE FROM webhook_events WHERE session_id IN ?",
		"DELETE FROM idempotency_claims WHERE session_id IN ?",
		"DELETE FROM holds WHERE session_id IN ? AND status <> 'open'",
		"DELETE FROM sessions WHERE id IN ?",
	} {
		if err := tx.db.Exec(statement, ids).Error; err != nil {
			return err
		}
	}
	return nil
}
