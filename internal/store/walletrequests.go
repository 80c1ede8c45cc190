package store

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/check/document"
)

var _ document.WalletStore = (*Store)(nil)

// ReplaceWalletRequest implements session.Tx. The session's row is locked, so that
// no other transaction makes a request between the statements.
func (tx *Tx) ReplaceWalletRequest(linkHash, nonce []byte) (bool, error) {
	if err := tx.db.Where("link_hash = ? AND NOT final", linkHash).Delete(&document.WalletRequest{}).Error; err != nil {
		return false, err
	}
	if nonce == nil {
		var left int64
		err := tx.db.Model(&document.WalletRequest{}).Where("link_hash = ?", linkHash).Count(&left).Error
		return left == 0, err
	}
	return changed(tx.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&document.WalletRequest{LinkHash: linkHash,
		Nonce: nonce}))
}

// WalletRequestOf implements document.WalletStore.
func (s *Store) WalletRequestOf(ctx context.Context, linkHash []byte) (document.WalletRequest, error) {
	return viewOne[document.WalletRequest](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Where("link_hash = ?", linkHash)
	})
}

// WalletRequestByNonce implements document.WalletStore.
func (s *Store) WalletRequestByNonce(ctx context.Context, nonce []byte) (document.WalletRequest, error) {
	return viewOne[document.WalletRequest](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Where("nonce = ?", nonce) })
}

// RecordWalletOutcome implements document.WalletStore.
func (s *Store) RecordWalletOutcome(
	ctx context.Context, linkHash, nonce []byte, outcome string, final bool,
) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.db.Model(&document.WalletRequest{}).Where("link_hash = ? AND nonce = ? AND NOT final", linkHash,
			nonce).
			Updates(map[string]any{"outcome": outcome, "final": final}))
	})
}

// TakeWalletRequest implements session.Tx.
func (tx *Tx) TakeWalletRequest(linkHash, nonce []byte) (bool, error) {
	return changed(tx.db.Where("link_hash = ? AND nonce = ?", linkHash, nonce).Delete(&document.WalletRequest{}))
}
