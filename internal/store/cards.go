package store

import (
	"context"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
)

var _ session.CardStore = (*Store)(nil)

const cardTable = "qa_cards"

// InsertCards implements session.CardStore.
func (s *Store) InsertCards(ctx context.Context, cards []session.Card, limit int, acts []audit.Act) error {
	if len(cards) == 0 {
		return nil
	}
	return s.Update(ctx, func(tx *Tx) error {
		owner, err := tx.lockTenant(cards[0].TenantID)
		if err != nil {
			return err
		}
		var n int64
		if err := tx.db.Table(cardTable).Where("tenant_id = ?", owner.ID).Count(&n).Error; err != nil {
			return err
		}
		if int(n)+len(cards) > limit {
			return session.ErrTooManyCards
		}
		if err := tx.db.Table(cardTable).Create(&cards).Error; err != nil {
			return err
		}
		for _, act := range acts {
			if err := tx.AppendAudit(act); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteCard implements session.CardStore.
func (s *Store) DeleteCard(ctx context.Context, tenantID, id uuid.UUID, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		return mustChange(tx.db.Table(cardTable).Delete(&session.Card{}, "tenant_id = ? AND id = ?", tenantID, id))
	})
}

// Cards implements session.CardStore.
func (s *Store) Cards(ctx context.Context, tenantID uuid.UUID) ([]session.Card, error) {
	return view(ctx, s, func(tx *Tx) ([]session.Card, error) {
		return find[session.Card](tx.db.Table(cardTable).Where("tenant_id = ?", tenantID).Order("id DESC"))
	})
}

// CardByLink implements session.CardStore.
func (s *Store) CardByLink(ctx context.Context, linkHash []byte) (session.Card, error) {
	return view(ctx, s, func(tx *Tx) (session.Card, error) {
		return take[session.Card](tx.db.Table(cardTable), "link_hash = ?", linkHash)
	})
}

// TakeScan implements session.CardStore.
func (s *Store) TakeScan(ctx context.Context, id uuid.UUID, day string, share int64) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.db.Exec(`
			UPDATE qa_cards SET used = CASE WHEN day = ? THEN used + 1 ELSE 1 END, day = ?
			WHERE id = ? AND (day <> ? OR used < ?)
			AND EXISTS (SELECT 1 FROM tenants WHERE tenants.id = qa_cards.tenant_id AND NOT tenants.disabled)`,
			day, day, id, day, share))
	})
}
