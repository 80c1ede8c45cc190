package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/check/document"
	"agegate/internal/rules/audit"
)

var _ document.VerifierStore = (*Store)(nil)

type verifierRow struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	TenantID  *uuid.UUID
	Role      string
	Name      string
	Host      string
	ByHost    bool
	Metadata  []byte
	Sealed    []byte
	Chain     []byte
	State     string
	NotAfter  *time.Time
	CreatedAt time.Time
}

func (verifierRow) TableName() string { return "verifiers" }

func toVerifier(r verifierRow) document.VerifierKey {
	r.CreatedAt = at(r.CreatedAt)
	if r.NotAfter != nil {
		until := at(*r.NotAfter)
		r.NotAfter = &until
	}
	return document.VerifierKey(r)
}

// ofVerifier limits a query to the keys of a role and a tenant, or of the instance.
func ofVerifier(db *gorm.DB, role string, tenantID *uuid.UUID) *gorm.DB {
	if tenantID == nil {
		return db.Where("role = ? AND tenant_id IS NULL", role)
	}
	return db.Where("role = ? AND tenant_id = ?", role, *tenantID)
}

// retire deletes the active key of an owner.
func (tx *Tx) retire(role string, tenantID *uuid.UUID) error {
	return ofVerifier(tx.db, role, tenantID).Where("state = ?", document.VerifierActive).Delete(&verifierRow{}).Error
}

// AddVerifier implements document.VerifierStore.
func (s *Store) AddVerifier(ctx context.Context, v document.VerifierKey, act audit.Act) error {
	return s.Update(ctx, func(tx *Tx) error {
		if v.State == document.VerifierActive {
			if err := tx.retire(v.Role, v.TenantID); err != nil {
				return err
			}
		}
		row := verifierRow(v)
		if err := tx.db.Create(&row).Error; err != nil {
			return err
		}
		return tx.AppendAudit(act)
	})
}

// ActivateVerifier implements document.VerifierStore.
func (s *Store) ActivateVerifier(ctx context.Context, v document.VerifierKey, act audit.Act) error {
	return s.Update(ctx, func(tx *Tx) error {
		if err := tx.retire(v.Role, v.TenantID); err != nil {
			return err
		}
		done, err := changed(tx.db.Model(&verifierRow{}).Where("id = ? AND state = ?", v.ID, document.VerifierPending).
			Updates(map[string]any{"state": document.VerifierActive, "chain": v.Chain, "not_after": v.NotAfter}))
		if err == nil && !done {
			err = gorm.ErrRecordNotFound
		}
		if err != nil {
			return err
		}
		return tx.AppendAudit(act)
	})
}

// RemoveVerifier implements document.VerifierStore.
func (s *Store) RemoveVerifier(ctx context.Context, id uuid.UUID, act audit.Act) error {
	return s.Update(ctx, func(tx *Tx) error {
		removed, err := changed(tx.db.Where("id = ?", id).Delete(&verifierRow{}))
		if err == nil && !removed {
			err = gorm.ErrRecordNotFound
		}
		if err != nil {
			return err
		}
		return tx.AppendAudit(act)
	})
}

// Verifiers implements document.VerifierStore.
func (s *Store) Verifiers(ctx context.Context) ([]document.VerifierKey, error) {
	return view(ctx, s, func(tx *Tx) ([]document.VerifierKey, error) {
		var rows []verifierRow
		err := tx.db.Order("created_at, id").Find(&rows).Error
		return mapAll(rows, toVerifier), err
	})
}

// Verifier implements document.VerifierStore.
func (s *Store) Verifier(ctx context.Context, id uuid.UUID) (document.VerifierKey, error) {
	return view(ctx, s, func(tx *Tx) (document.VerifierKey, error) {
		var row verifierRow
		err := tx.db.Take(&row, "id = ?", id).Error
		return toVerifier(row), err
	})
}

// ActiveVerifier implements document.VerifierStore.
func (s *Store) ActiveVerifier(ctx context.Context, role string, tenantID *uuid.UUID) (document.VerifierKey, error) {
	return view(ctx, s, func(tx *Tx) (document.VerifierKey, error) {
		var row verifierRow
		err := ofVerifier(tx.db, role, tenantID).Take(&row, "state = ?", document.VerifierActive).Error
		return toVerifier(row), err
	})
}

// ReplaceSealedVerifier implements document.VerifierStore.
func (s *Store) ReplaceSealedVerifier(ctx context.Context, v document.VerifierKey, next []byte) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.db.Model(&verifierRow{}).Where("id = ? AND sealed = ?", v.ID, v.Sealed).Update("sealed", next))
	})
}
