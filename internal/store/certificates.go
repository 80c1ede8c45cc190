package store

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/backoffice/certificate"
)

var _ certificate.Store = (*Store)(nil)

// Certificates implements certificate.Store.
func (s *Store) Certificates(ctx context.Context) ([]certificate.Certificate, error) {
	return viewAll[certificate.Certificate](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Order("name") })
}

// ClaimOrders implements certificate.Store. The account's row is the lock.
func (s *Store) ClaimOrders(ctx context.Context, now, until time.Time) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		first := certificate.Certificate{Name: certificate.Account, DueAt: now}
		if err := tx.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&first).Error; err != nil {
			return false, err
		}
		return changed(tx.db.Table("certificates").Where("name = ? AND due_at <= ?", certificate.Account, now).
			Update("due_at", until))
	})
}

// SaveCertificate implements certificate.Store.
func (s *Store) SaveCertificate(ctx context.Context, c certificate.Certificate) error {
	return s.Update(ctx, func(tx *Tx) error {
		return tx.db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, UpdateAll: true}).Create(&c).Error
	})
}

// Challenges implements certificate.Store.
func (s *Store) Challenges(ctx context.Context, now time.Time) ([]certificate.Challenge, error) {
	return viewAll[certificate.Challenge](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Where("ends_at > ?", now) })
}

// SaveChallenge implements certificate.Store.
func (s *Store) SaveChallenge(ctx context.Context, c certificate.Challenge, now time.Time) error {
	return s.Update(ctx, func(tx *Tx) error {
		if err := tx.db.Delete(&certificate.Challenge{}, "ends_at <= ?", now).Error; err != nil {
			return err
		}
		return tx.db.Clauses(clause.OnConflict{UpdateAll: true, Columns: []clause.Column{{Name: "token"}}}).
			Create(&c).Error
	})
}
