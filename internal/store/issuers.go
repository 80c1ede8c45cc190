package store

import (
	"context"

	"github.com/google/uuid"

	"agegate/internal/check/document"
	"agegate/internal/rules/audit"
)

var _ document.TrustStore = (*Store)(nil)

// AddIssuer implements document.TrustStore.
func (s *Store) AddIssuer(ctx context.Context, i document.TrustedIssuer, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error { return tx.db.Create(&i).Error })
}

// Issuers implements document.TrustStore.
func (s *Store) Issuers(ctx context.Context) ([]document.TrustedIssuer, error) {
	return view(ctx, s, func(tx *Tx) ([]document.TrustedIssuer, error) {
		issuers, err := find[document.TrustedIssuer](tx.db.Order("created_at, id"))
		if err != nil {
			return nil, err
		}
		listed, err := tx.listedIssuers(uuid.Nil)
		return append(issuers, listed...), err
	})
}

// RemoveIssuer implements document.TrustStore.
func (s *Store) RemoveIssuer(ctx context.Context, id uuid.UUID, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		return mustChange(tx.db.Delete(&document.TrustedIssuer{}, "id = ?", id))
	})
}
