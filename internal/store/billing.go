package store

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"agegate/internal/billing"
)

var (
	_ billing.Store = (*Store)(nil)
	_ billing.Tx    = (*Tx)(nil)
)

// UpdateBilling implements billing.Store with Update.
func (s *Store) UpdateBilling(ctx context.Context, fn func(billing.Tx) error) error {
	return s.Update(ctx, func(tx *Tx) error { return fn(tx) })
}

// Credit implements billing.Store.
func (s *Store) Credit(ctx context.Context, tenantID uuid.UUID) (int64, error) {
	return view(ctx, s, func(tx *Tx) (units int64, err error) {
		return units, tx.db.Raw("SELECT units FROM credit_balances WHERE tenant_id = ?", tenantID).Scan(&units).Error
	})
}

// Entries implements billing.Store.
func (s *Store) Entries(ctx context.Context, tenantID uuid.UUID) ([]billing.Entry, error) {
	return view(ctx, s, func(tx *Tx) ([]billing.Entry, error) {
		var rows []entryRow
		err := tx.db.Where("tenant_id = ?", tenantID).Order("created_at, id").Find(&rows).Error
		return mapAll(rows, toEntry), err
	})
}

// TakeCounter implements billing.Tx. The first unit of a period inserts the
// row, which the WHERE of the SELECT refuses under a limit of 0. The cast
// tells PostgreSQL the parameter's type.
func (tx *Tx) TakeCounter(_ context.Context, tenantID uuid.UUID, c billing.Counter, period string, limit int64) (bool, error) {
	if limit == billing.Unlimited {
		limit = math.MaxInt64
	}
	return changed(tx.db.Exec(`
		INSERT INTO usage_counters (tenant_id, counter, period, used)
		SELECT CAST(? AS `+tx.uuidType()+`), ?, ?, 1 WHERE CAST(? AS bigint) >= 1
		ON CONFLICT (tenant_id, counter, period)
		DO UPDATE SET used = usage_counters.used + 1 WHERE usage_counters.used < ?`,
		tenantID, c, period, limit, limit))
}

func (tx *Tx) uuidType() string {
	if tx.postgres {
		return "uuid"
	}
	return "text"
}

// ReturnCounter implements billing.Tx.
func (tx *Tx) ReturnCounter(_ context.Context, tenantID uuid.UUID, c billing.Counter, period string) error {
	return tx.db.Exec(`
		UPDATE usage_counters SET used = used - 1
		WHERE tenant_id = ? AND counter = ? AND period = ? AND used > 0`,
		tenantID, c, period).Error
}

// AddCredit implements billing.Tx.
func (tx *Tx) AddCredit(_ context.Context, tenantID uuid.UUID, delta int64) (bool, error) {
	if delta < 0 {
		return changed(tx.db.Exec(
			"UPDATE credit_balances SET units = units + ? WHERE tenant_id = ? AND units + ? >= 0",
			delta, tenantID, delta))
	}
	return changed(tx.db.Exec(`
		INSERT INTO credit_balances (tenant_id, units) VALUES (?, ?)
		ON CONFLICT (tenant_id) DO UPDATE SET units = credit_balances.units + excluded.units`,
		tenantID, delta))
}

// InsertHold implements billing.Tx.
func (tx *Tx) InsertHold(_ context.Context, h billing.Hold) error {
	row := fromHold(h)
	return tx.db.Create(&row).Error
}

const holdColumns = "session_id, tenant_id, source, period, expires_at"

// SettleHold implements billing.Tx.
func (tx *Tx) SettleHold(_ context.Context, sessionID uuid.UUID) (billing.Hold, bool, error) {
	var row holdRow
	found, err := changed(tx.db.Raw(
		"UPDATE holds SET status = ? WHERE session_id = ? AND status = ? RETURNING "+holdColumns,
		holdSettled, sessionID, holdOpen).Scan(&row))
	return toHold(row), found, err
}

// ExtendHold implements billing.Tx.
func (tx *Tx) ExtendHold(_ context.Context, sessionID uuid.UUID, expiresAt time.Time) (bool, error) {
	return changed(tx.db.Model(&holdRow{}).Where("session_id = ? AND status = ?", sessionID, holdOpen).
		Update("expires_at", at(expiresAt)))
}

// ReleaseExpiredHolds implements billing.Tx.
func (tx *Tx) ReleaseExpiredHolds(_ context.Context, tenantID uuid.UUID, now time.Time) ([]billing.Hold, error) {
	var rows []holdRow
	err := tx.db.Raw(
		"UPDATE holds SET status = ? WHERE tenant_id = ? AND status = ? AND expires_at <= ? RETURNING "+holdColumns,
		holdReleased, tenantID, holdOpen, at(now)).Scan(&rows).Error
	return mapAll(rows, toHold), err
}

// AppendEntries implements billing.Tx.
func (tx *Tx) AppendEntries(_ context.Context, entries ...billing.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	rows := mapAll(entries, fromEntry)
	return tx.db.Create(&rows).Error
}
