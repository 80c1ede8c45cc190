package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/check/document"
	"agegate/internal/rules/audit"
)

var _ document.TrustStore = (*Store)(nil)

type issuerRow struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	Name        string
	Country     string
	DocType     string
	Certificate []byte
	Fingerprint []byte
	SignerUsage string
	NotBefore   time.Time
	NotAfter    time.Time
	CreatedAt   time.Time
}

func (issuerRow) TableName() string { return "trusted_issuers" }

func fromIssuer(i document.TrustedIssuer) issuerRow {
	row := issuerRow(i)
	row.NotBefore, row.NotAfter, row.CreatedAt = at(i.NotBefore), at(i.NotAfter), at(i.CreatedAt)
	return row
}

func toIssuer(r issuerRow) document.TrustedIssuer {
	r.NotBefore, r.NotAfter, r.CreatedAt = at(r.NotBefore), at(r.NotAfter), at(r.CreatedAt)
	return document.TrustedIssuer(r)
}

// AddIssuer implements document.TrustStore.
func (s *Store) AddIssuer(ctx context.Context, i document.TrustedIssuer, act audit.Act) error {
	return s.Update(ctx, func(tx *Tx) error {
		row := fromIssuer(i)
		if err := tx.db.Create(&row).Error; err != nil {
			return err
		}
		return tx.AppendAudit(act)
	})
}

// Issuers implements document.TrustStore.
func (s *Store) Issuers(ctx context.Context) ([]document.TrustedIssuer, error) {
	return view(ctx, s, func(tx *Tx) ([]document.TrustedIssuer, error) {
		var rows []issuerRow
		err := tx.db.Order("created_at, id").Find(&rows).Error
		return mapAll(rows, toIssuer), err
	})
}

// RemoveIssuer implements document.TrustStore.
func (s *Store) RemoveIssuer(ctx context.Context, id uuid.UUID, act audit.Act) error {
	return s.Update(ctx, func(tx *Tx) error {
		removed, err := changed(tx.db.Where("id = ?", id).Delete(&issuerRow{}))
		if err == nil && !removed {
			err = gorm.ErrRecordNotFound
		}
		if err != nil {
			return err
		}
		return tx.AppendAudit(act)
	})
}
