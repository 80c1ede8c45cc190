package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm/clause"

	"agegate/internal/backoffice/mail"
)

var _ mail.Store = (*Store)(nil)

// keepMails is how long a mail counts towards the limit after it was made, even if it was sent or given up.
const keepMails = 24 * time.Hour

// InsertMail implements account.Tx. It locks the tenant, so that simultaneous
// insertions count one after the other.
func (tx *Tx) InsertMail(m mail.Mail) error {
	if m.TenantID != nil {
		if _, err := tx.lockTenant(*m.TenantID); err != nil {
			return err
		}
	}
	var n int64
	made := owned(tx.db.Table("mails").Where("created_at > ?", m.CreatedAt.Add(-keepMails)), m.TenantID)
	if err := made.Count(&n).Error; err != nil {
		return err
	}
	if n >= mail.MaxADay {
		return mail.ErrTooMany
	}
	return tx.db.Create(&m).Error
}

// ClaimMails implements mail.Store. It takes the first mail of each tenant before the
// second of any, so that no tenant waits for all mails of another.
func (s *Store) ClaimMails(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]mail.Mail, error) {
	return update(ctx, s, func(tx *Tx) (mails []mail.Mail, err error) {
		err = tx.db.Raw(`UPDATE mails SET attempts = attempts + 1, due_at = ?
			WHERE sealed IS NOT NULL AND due_at <= ? AND id IN (
				SELECT id FROM (
					SELECT id, due_at, row_number() OVER (PARTITION BY tenant_id ORDER BY due_at, id) AS turn
					FROM mails WHERE sealed IS NOT NULL AND due_at <= ?
				) AS due ORDER BY turn, due_at, id LIMIT ?)
			RETURNING *`, now.Add(lease), now, now, limit).Find(&mails).Error
		return mails, err
	})
}

// PostponeMail implements mail.Store.
func (s *Store) PostponeMail(ctx context.Context, m mail.Mail, due time.Time) error {
	return s.exec(ctx, "UPDATE mails SET due_at = ? WHERE id = ? AND attempts = ?", due, m.ID, m.Attempts)
}

// LinkStands implements mail.Store.
func (s *Store) LinkStands(ctx context.Context, m mail.Mail) (bool, error) {
	n, err := s.countMails(ctx, "id = ?", m.ID)
	return n > 0, err
}

// WaitingMails returns how many mails that were made before a time are to be sent at now and were not.
func (s *Store) WaitingMails(ctx context.Context, before, now time.Time) (int64, error) {
	return s.countMails(ctx, "sealed IS NOT NULL AND created_at < ? AND expires_at > ?", before, now)
}

// countMails counts mails that have no link, or one that can be used.
func (s *Store) countMails(ctx context.Context, where string, args ...any) (int64, error) {
	return view(ctx, s, func(tx *Tx) (n int64, err error) {
		err = tx.db.Table("mails").Where(where, args...).Where("link IS NULL OR link IN (SELECT hash FROM links)").
			Count(&n).Error
		return n, err
	})
}

// EndMail implements mail.Store.
func (s *Store) EndMail(ctx context.Context, m mail.Mail) error {
	return s.exec(ctx, "UPDATE mails SET sealed = NULL WHERE id = ? AND attempts = ?", m.ID, m.Attempts)
}

// Alert stores mails about a problem that exists since a time, and reports whether it
// stored any. It stores none if the tenant's staff were told already.
func (s *Store) Alert(
	ctx context.Context, tenantID uuid.UUID, kind mail.Kind, subject string, since time.Time, mails []mail.Mail,
) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		type notice struct {
			TenantID uuid.UUID
			Kind     string
			Subject  string
			Since    time.Time
		}
		res := tx.db.Table("notices").Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "tenant_id"}, {Name: "kind"}, {Name: "subject"}},
			Where:     clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "notices.since < excluded.since"}}},
			DoUpdates: clause.AssignmentColumns([]string{"since"}),
		}).Create(&notice{tenantID, string(kind), subject, since})
		if told, err := changed(res); err != nil || !told {
			return false, err
		}
		for _, m := range mails {
			if err := tx.InsertMail(m); err != nil {
				return false, err
			}
		}
		return len(mails) > 0, nil
	})
}

// EndAlert deletes the notice of a problem that is over. If the problem occurs again, staff get a mail again.
func (s *Store) EndAlert(ctx context.Context, tenantID uuid.UUID, kind mail.Kind, subject string) error {
	return s.exec(ctx, "DELETE FROM notices WHERE tenant_id = ? AND kind = ? AND subject = ?", tenantID, string(kind),
		subject)
}
