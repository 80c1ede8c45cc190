package store

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/rules/session"
)

var (
	_ session.HandoverStore = (*Store)(nil)
	_ session.HandoverTx    = (*Tx)(nil)
)

// HandoverOf implements session.HandoverStore.
func (s *Store) HandoverOf(ctx context.Context, linkHash []byte) (session.Handover, error) {
	return view(ctx, s, func(tx *Tx) (session.Handover, error) { return tx.HandoverOf(linkHash) })
}

// HandoverByToken implements session.HandoverStore.
func (s *Store) HandoverByToken(ctx context.Context, tokenHash []byte) (session.Handover, error) {
	return viewOne[session.Handover](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Where("token_hash = ?", tokenHash) })
}

// HandoverOf implements session.HandoverTx.
func (tx *Tx) HandoverOf(linkHash []byte) (session.Handover, error) {
	return take[session.Handover](tx.db, "link_hash = ?", linkHash)
}

// PutHandover implements session.HandoverTx.
func (tx *Tx) PutHandover(h session.Handover) error {
	return tx.db.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "link_hash"}},
		DoUpdates: clause.AssignmentColumns([]string{"nonce", "token_hash", "expires_at", "phone_hash"}),
	}).Create(&h).Error
}

// TakeHandover implements session.HandoverTx.
func (tx *Tx) TakeHandover(tokenHash, phoneHash []byte, now time.Time) (bool, error) {
	return changed(tx.db.Model(&session.Handover{}).
		Where("token_hash = ? AND phone_hash IS NULL AND expires_at > ?", tokenHash, now).
		Update("phone_hash", phoneHash))
}
