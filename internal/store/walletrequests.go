package store

import (
	"context"

	"gorm.io/gorm/clause"

	"agegate/internal/check/document"
)

var _ document.WalletStore = (*Store)(nil)

type walletRequestRow struct {
	LinkHash []byte `gorm:"primaryKey"`
	Nonce    []byte
	Outcome  string
	Final    bool
}

func (walletRequestRow) TableName() string { return "wallet_requests" }

// PutWalletRequest implements document.WalletStore.
func (s *Store) PutWalletRequest(ctx context.Context, r document.WalletRequest) error {
	return s.Update(ctx, func(tx *Tx) error {
		row := walletRequestRow(r)
		return tx.db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "link_hash"}},
			DoUpdates: clause.AssignmentColumns([]string{"nonce", "outcome", "final"}),
		}).Create(&row).Error
	})
}

// WalletRequestOf implements document.WalletStore.
func (s *Store) WalletRequestOf(ctx context.Context, linkHash []byte) (document.WalletRequest, error) {
	return view(ctx, s, func(tx *Tx) (document.WalletRequest, error) {
		var row walletRequestRow
		err := tx.db.Take(&row, "link_hash = ?", linkHash).Error
		return document.WalletRequest(row), err
	})
}

// RecordWalletOutcome implements document.WalletStore.
func (s *Store) RecordWalletOutcome(ctx context.Context, linkHash, nonce []byte, outcome string, final bool) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.db.Model(&walletRequestRow{}).Where("link_hash = ? AND nonce = ? AND NOT final", linkHash, nonce).
			Updates(map[string]any{"outcome": outcome, "final": final}))
	})
}

// TakeWalletRequest implements document.WalletStore.
func (s *Store) TakeWalletRequest(ctx context.Context, linkHash, nonce []byte) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.db.Where("link_hash = ? AND nonce = ?", linkHash, nonce).Delete(&walletRequestRow{}))
	})
}
