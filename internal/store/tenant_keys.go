package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
)

// InsertKey implements tenant.Store.
func (s *Store) InsertKey(ctx context.Context, k tenant.APIKey, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error { return tx.db.Create(&k).Error })
}

// KeyByID implements tenant.Store.
func (s *Store) KeyByID(ctx context.Context, keyID uuid.UUID) (tenant.APIKey, error) {
	return viewOne[tenant.APIKey](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Where("id = ?", keyID) })
}

// RevokeKey implements tenant.Store.
func (s *Store) RevokeKey(ctx context.Context, tenantID, keyID uuid.UUID, revokedAt time.Time, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		return mustChange(tx.db.Model(&tenant.APIKey{}).Where("id = ? AND tenant_id = ?", keyID, tenantID).
			Update("revoked_at", gorm.Expr("coalesce(revoked_at, ?)", revokedAt)))
	})
}

// ReplaceKey implements tenant.Store.
func (s *Store) ReplaceKey(
	ctx context.Context, tenantID, old uuid.UUID, expires time.Time, next tenant.APIKey, act audit.Act,
) error {
	return s.act(ctx, act, func(tx *Tx) error {
		own := tx.db.Model(&tenant.APIKey{}).Where("id = ? AND tenant_id = ?", old, tenantID).Session(&gorm.Session{})
		ended, err := changed(own.Where("revoked_at IS NULL AND expires_at IS NULL").Update("expires_at", expires))
		if err != nil {
			return err
		}
		if !ended {
			if err := own.Take(&tenant.APIKey{}).Error; err != nil {
				return err
			}
			return tenant.ErrKeyNotOpen
		}
		return tx.db.Create(&next).Error
	})
}

// Keys implements tenant.Store.
func (s *Store) Keys(ctx context.Context, tenantID uuid.UUID) ([]tenant.APIKey, error) {
	return view(ctx, s, func(tx *Tx) ([]tenant.APIKey, error) {
		rows, err := find[apiKeyCreatorRow](tx.db.Select("api_keys.*, coalesce(users.name, '') AS creator").
			Joins("LEFT JOIN users ON users.id = api_keys.created_by").
			Where("api_keys.tenant_id = ?", tenantID).Order("api_keys.created_at, api_keys.id"))
		return mapAll(rows, func(row apiKeyCreatorRow) tenant.APIKey {
			row.Key.Creator = row.Creator
			return row.Key
		}), err
	})
}

// KeyByHash implements tenant.Store.
func (s *Store) KeyByHash(ctx context.Context, hash credential.KeyHash) (tenant.APIKey, tenant.Tenant, error) {
	row, err := view(ctx, s, func(tx *Tx) (apiKeyTenantRow, error) {
		return take[apiKeyTenantRow](tx.db.InnerJoins("Tenant"), "api_keys.hash = ?", hash[:])
	})
	return row.Key, row.Tenant, err
}

// TouchKey implements tenant.Store.
func (s *Store) TouchKey(ctx context.Context, keyID uuid.UUID, usedAt time.Time) error {
	return s.Update(ctx, func(tx *Tx) error {
		return mustChange(tx.db.Model(&tenant.APIKey{}).Where("id = ?", keyID).
			Update("last_used_at", gorm.Expr("CASE WHEN last_used_at >= ? THEN last_used_at ELSE ? END", usedAt, usedAt)))
	})
}
