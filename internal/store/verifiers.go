package store

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/check/document"
	"agegate/internal/rules/audit"
)

var _ document.VerifierStore = (*Store)(nil)

// verifiers is a query for the keys.
func (tx *Tx) verifiers() *gorm.DB { return tx.db.Table("verifiers") }

// verifiersOf is a query for the keys with a role of a tenant or of the instance.
func (tx *Tx) verifiersOf(role string, tenantID *uuid.UUID) *gorm.DB {
	return owned(tx.verifiers().Where("role = ?", role), tenantID)
}

// retire deletes the active key of an owner.
func (tx *Tx) retire(role string, tenantID *uuid.UUID) error {
	return tx.verifiersOf(role, tenantID).Delete(&document.VerifierKey{}, "state = ?", document.VerifierActive).Error
}

// AddVerifier implements document.VerifierStore.
func (s *Store) AddVerifier(ctx context.Context, v document.VerifierKey, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		if v.State == document.VerifierActive {
			if err := tx.retire(v.Role, v.TenantID); err != nil {
				return err
			}
		}
		return tx.verifiers().Create(&v).Error
	})
}

// ActivateVerifier implements document.VerifierStore.
func (s *Store) ActivateVerifier(ctx context.Context, v document.VerifierKey, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		if err := tx.retire(v.Role, v.TenantID); err != nil {
			return err
		}
		return mustChange(tx.verifiers().Where("id = ? AND state = ?", v.ID, document.VerifierPending).
			Updates(map[string]any{"state": document.VerifierActive, "chain": v.Chain, "not_after": v.NotAfter}))
	})
}

// RemoveVerifier implements document.VerifierStore.
func (s *Store) RemoveVerifier(ctx context.Context, id uuid.UUID, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		return mustChange(tx.verifiers().Delete(&document.VerifierKey{}, "id = ?", id))
	})
}

// Verifiers implements document.VerifierStore.
func (s *Store) Verifiers(ctx context.Context) ([]document.VerifierKey, error) {
	return viewAll[document.VerifierKey](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.verifiers().Order("created_at, id")
	})
}

// Verifier implements document.VerifierStore.
func (s *Store) Verifier(ctx context.Context, id uuid.UUID) (document.VerifierKey, error) {
	return viewOne[document.VerifierKey](ctx, s, func(tx *Tx) *gorm.DB { return tx.verifiers().Where("id = ?", id) })
}

// ActiveVerifier implements document.VerifierStore.
func (s *Store) ActiveVerifier(ctx context.Context, role string, tenantID *uuid.UUID) (document.VerifierKey, error) {
	return viewOne[document.VerifierKey](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.verifiersOf(role, tenantID).Where("state = ?", document.VerifierActive)
	})
}

func (tx *Tx) registrations() *gorm.DB { return tx.db.Table("registrations") }

// PutRegistration implements document.VerifierStore.
func (s *Store) PutRegistration(ctx context.Context, r document.Registration, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		if err := tx.registrationsOf(r.TenantID).Delete(&document.Registration{}).Error; err != nil {
			return err
		}
		return tx.registrations().Create(&r).Error
	})
}

// registrationsOf is a query for the registration certificate of a tenant or of the instance.
func (tx *Tx) registrationsOf(tenantID *uuid.UUID) *gorm.DB {
	return owned(tx.registrations(), tenantID)
}

// RemoveRegistration implements document.VerifierStore.
func (s *Store) RemoveRegistration(ctx context.Context, id uuid.UUID, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		return mustChange(tx.registrations().Delete(&document.Registration{}, "id = ?", id))
	})
}

// Registrations implements document.VerifierStore.
func (s *Store) Registrations(ctx context.Context) ([]document.Registration, error) {
	return viewAll[document.Registration](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.registrations().Order("created_at, id")
	})
}

// RegistrationOf implements document.WalletStore.
func (s *Store) RegistrationOf(ctx context.Context, tenantID *uuid.UUID) (document.Registration, error) {
	return viewOne[document.Registration](ctx, s, func(tx *Tx) *gorm.DB { return tx.registrationsOf(tenantID) })
}
