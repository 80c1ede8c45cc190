package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/check/document"
	"agegate/internal/rules/audit"
)

var _ document.ListStore = (*Store)(nil)

// listedIssuerRow is an issuer of a published list, with its list.
type listedIssuerRow struct {
	document.TrustedIssuer `gorm:"embedded"`

	ListID     uuid.UUID
	ListName   string    `gorm:"->"`
	NextUpdate time.Time `gorm:"->"`
}

func (listedIssuerRow) TableName() string { return "listed_issuers" }

// listedIssuers returns the issuers of one list, or of all lists for uuid.Nil.
func (tx *Tx) listedIssuers(list uuid.UUID) ([]document.TrustedIssuer, error) {
	query := tx.db.Select("listed_issuers.*, trust_lists.name AS list_name, trust_lists.next_update").
		Joins("JOIN trust_lists ON trust_lists.id = listed_issuers.list_id").
		Order("listed_issuers.created_at, listed_issuers.id")
	if list != uuid.Nil {
		query = query.Where("list_id = ?", list)
	}
	rows, err := find[listedIssuerRow](query)
	return mapAll(rows, func(r listedIssuerRow) document.TrustedIssuer {
		r.List = document.IssuerList{ID: r.ListID, Name: r.ListName, Until: r.NextUpdate}
		return r.TrustedIssuer
	}), err
}

// AddTrustList implements document.ListStore.
func (s *Store) AddTrustList(ctx context.Context, l document.TrustList, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error { return tx.db.Create(&l).Error })
}

// TrustLists implements document.ListStore.
func (s *Store) TrustLists(ctx context.Context) ([]document.TrustList, error) {
	return viewAll[document.TrustList](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Order("created_at, id") })
}

// UpdateTrustList implements document.ListStore.
func (s *Store) UpdateTrustList(
	ctx context.Context, id uuid.UUID, fn func(*document.TrustList, []document.TrustedIssuer) (document.ListChange, error),
) error {
	return s.Update(ctx, func(tx *Tx) error {
		l, err := take[document.TrustList](tx.forUpdate(), "id = ?", id)
		if err != nil {
			return err
		}
		issuers, err := tx.listedIssuers(id)
		if err != nil {
			return err
		}
		change, err := fn(&l, issuers)
		if err != nil {
			return err
		}
		if err := tx.changeList(l, change); err != nil {
			return err
		}
		for _, act := range change.Acts {
			if err := tx.AppendAudit(act); err != nil {
				return err
			}
		}
		return nil
	})
}

// changeList writes a list and its change.
func (tx *Tx) changeList(l document.TrustList, change document.ListChange) error {
	if change.Delete {
		if err := tx.db.Delete(&listedIssuerRow{}, "list_id = ?", l.ID).Error; err != nil {
			return err
		}
		return tx.db.Delete(&document.TrustList{}, "id = ?", l.ID).Error
	}
	if len(change.Remove) > 0 {
		if err := tx.db.Delete(&listedIssuerRow{}, "list_id = ? AND id IN ?", l.ID, change.Remove).Error; err != nil {
			return err
		}
	}
	if len(change.Add) > 0 {
		rows := mapAll(change.Add, func(i document.TrustedIssuer) listedIssuerRow {
			return listedIssuerRow{TrustedIssuer: i, ListID: l.ID}
		})
		if err := tx.db.CreateInBatches(rows, 50).Error; err != nil {
			return err
		}
	}
	return tx.db.Save(&l).Error
}

// ClaimTrustList implements document.ListStore.
func (s *Store) ClaimTrustList(ctx context.Context, id uuid.UUID, now, due time.Time) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.db.Model(&document.TrustList{}).Where("id = ? AND due_at <= ?", id, now).Update("due_at", due))
	})
}
