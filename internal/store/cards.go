package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
)

var _ session.CardStore = (*Store)(nil)

type cardRow struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	TenantID  uuid.UUID
	LinkHash  []byte
	Name      string
	Outcome   string
	TargetAge int
	CreatedAt time.Time
	Day       string
	Used      int64
}

func (cardRow) TableName() string { return "qa_cards" }

func fromCard(c session.Card) cardRow {
	row := cardRow(c)
	row.CreatedAt = at(c.CreatedAt)
	return row
}

func toCard(r cardRow) session.Card {
	r.CreatedAt = at(r.CreatedAt)
	return session.Card(r)
}

// InsertCards implements session.CardStore.
func (s *Store) InsertCards(ctx context.Context, cards []session.Card, most int, acts []audit.Act) error {
	if len(cards) == 0 {
		return nil
	}
	rows := mapAll(cards, fromCard)
	return s.Update(ctx, func(tx *Tx) error {
		owner, err := tx.lockTenant(rows[0].TenantID)
		if err != nil {
			return err
		}
		var n int64
		if err := tx.db.Model(&cardRow{}).Where("tenant_id = ?", owner.ID).Count(&n).Error; err != nil {
			return err
		}
		if int(n)+len(rows) > most {
			return session.ErrTooManyCards
		}
		if err := tx.db.Create(&rows).Error; err != nil {
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
		deleted, err := changed(tx.db.Delete(&cardRow{}, "tenant_id = ? AND id = ?", tenantID, id))
		if err == nil && !deleted {
			return fault.New(fault.NotFound, "Not found")
		}
		return err
	})
}

// Cards implements session.CardStore.
func (s *Store) Cards(ctx context.Context, tenantID uuid.UUID) ([]session.Card, error) {
	return view(ctx, s, func(tx *Tx) ([]session.Card, error) {
		var rows []cardRow
		err := tx.db.Where("tenant_id = ?", tenantID).Order("id DESC").Find(&rows).Error
		return mapAll(rows, toCard), err
	})
}

// CardByLink implements session.CardStore.
func (s *Store) CardByLink(ctx context.Context, linkHash []byte) (session.Card, error) {
	return view(ctx, s, func(tx *Tx) (session.Card, error) {
		var row cardRow
		err := tx.db.Take(&row, "link_hash = ?", linkHash).Error
		return toCard(row), err
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
