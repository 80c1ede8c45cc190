package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/fault"
)

var (
	_ account.Store = (*Store)(nil)
	_ account.Tx    = (*Tx)(nil)
)

// UpdateAccounts implements account.Store with Update.
func (s *Store) UpdateAccounts(ctx context.Context, fn func(account.Tx) error) error {
	return s.Update(ctx, func(tx *Tx) error { return fn(tx) })
}

// UserByEmail implements account.Store.
func (s *Store) UserByEmail(ctx context.Context, email string) (account.User, error) {
	return viewOne[account.User](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Where("email = ? AND issuer IS NULL", email)
	})
}

// UserByProvider implements account.Store.
func (s *Store) UserByProvider(ctx context.Context, issuer, subject string) (account.User, error) {
	return viewOne[account.User](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Where("issuer = ? AND subject = ?", issuer, subject)
	})
}

// InsertUser implements account.Tx.
func (tx *Tx) InsertUser(u account.User) error {
	return tx.db.Create(&u).Error
}

// OperatorExists implements account.Store.
func (s *Store) OperatorExists(ctx context.Context) (bool, error) {
	return view(ctx, s, func(tx *Tx) (bool, error) { return tx.OperatorExists() })
}

// OperatorExists implements account.Tx.
func (tx *Tx) OperatorExists() (bool, error) {
	var ids []uuid.UUID
	err := tx.db.Model(&account.User{}).Where("operator = ? AND issuer IS NULL", true).Limit(1).Pluck("id", &ids).Error
	return len(ids) > 0, err
}

// LockedOut implements account.Directory.
func (s *Store) LockedOut(ctx context.Context) (bool, error) {
	return view(ctx, s, func(tx *Tx) (bool, error) {
		var first []*time.Time // an enabled operator comes first
		err := tx.db.Model(&account.User{}).Where("operator = ?", true).Order("disabled_at IS NOT NULL").Limit(1).
			Pluck("disabled_at", &first).Error
		return len(first) > 0 && first[0] != nil, err
	})
}

// Membership implements account.Store.
func (s *Store) Membership(ctx context.Context, tenantID, userID uuid.UUID) (account.Membership, error) {
	return view(ctx, s, func(tx *Tx) (account.Membership, error) { return tx.Membership(tenantID, userID) })
}

// Membership implements account.Tx.
func (tx *Tx) Membership(tenantID, userID uuid.UUID) (account.Membership, error) {
	return take[account.Membership](tx.db, "tenant_id = ? AND user_id = ?", tenantID, userID)
}

// MembershipsOf implements account.Store.
func (s *Store) MembershipsOf(ctx context.Context, userID uuid.UUID) ([]account.Membership, error) {
	return view(ctx, s, func(tx *Tx) ([]account.Membership, error) { return tx.MembershipsOf(userID) })
}

// FirstMemberships implements account.Store.
func (s *Store) FirstMemberships(ctx context.Context, users []uuid.UUID, each int) ([]account.Membership, error) {
	return view(ctx, s, func(tx *Tx) ([]account.Membership, error) {
		numbered := tx.db.Model(&account.Membership{}).Where("user_id IN ?", users).
			Select("*, row_number() OVER (PARTITION BY user_id ORDER BY created_at, tenant_id) AS nth")
		return find[account.Membership](tx.db.Table("(?) AS memberships", numbered).Where("nth <= ?", each).
			Order("created_at, tenant_id"))
	})
}

// MembershipsOf implements account.Tx.
func (tx *Tx) MembershipsOf(userID uuid.UUID) ([]account.Membership, error) {
	return find[account.Membership](tx.db.Where("user_id = ?", userID).Order("created_at, tenant_id"))
}

// LoginByHash implements account.Store.
func (s *Store) LoginByHash(ctx context.Context, hash []byte) (login account.Login, user account.User, err error) {
	err = s.View(ctx, func(tx *Tx) error {
		var row loginUserRow
		err := tx.db.InnerJoins("User").Take(&row, "logins.hash = ?", hash).Error
		login, user = row.Login, row.User
		return err
	})
	return login, user, err
}

// InsertLogin implements account.Tx.
func (tx *Tx) InsertLogin(l account.Login) error {
	return tx.db.Create(&l).Error
}

// TouchLogin implements account.Tx.
func (tx *Tx) TouchLogin(hash []byte, seen time.Time) error {
	return tx.db.Model(&account.Login{}).Where("hash = ? AND seen_at < ?", hash, seen).Update("seen_at", seen).Error
}

// EndLogin implements account.Tx.
func (tx *Tx) EndLogin(hash []byte, now time.Time) error {
	return tx.db.Model(&account.Login{}).Where("hash = ? AND ends_at > ?", hash, now).Update("ends_at", now).Error
}

// SetEntered implements account.Tx.
func (tx *Tx) SetEntered(hash []byte, tenantID *uuid.UUID, until *time.Time, now time.Time) error {
	return mustChange(tx.db.Model(&account.Login{}).Where("hash = ? AND ends_at > ?", hash, now).
		Updates(map[string]any{"entered_tenant": tenantID, "entered_until": until}))
}

// ClaimFlow implements account.Tx.
func (tx *Tx) ClaimFlow(hash []byte, kind string, expires time.Time) (bool, error) {
	row := flowRow{Hash: hash, Kind: kind, ExpiresAt: expires}
	return changed(tx.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&row))
}

// LinkByHash implements account.Store.
func (s *Store) LinkByHash(ctx context.Context, hash []byte) (account.Link, error) {
	return viewOne[account.Link](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Where("hash = ?", hash) })
}

// PutSetupLink implements account.Tx.
func (tx *Tx) PutSetupLink(l account.Link) error {
	return tx.db.Clauses(clause.OnConflict{
		Columns:     []clause.Column{{Name: "kind"}},
		TargetWhere: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "kind = 'setup'"}}},
		DoUpdates: clause.AssignmentColumns([]string{"hash", "tenant_id", "note", "created_by", "created_at",
			"expires_at"}),
	}).Create(&l).Error
}

// TakeLink implements account.Tx.
func (tx *Tx) TakeLink(kind account.LinkKind, hash []byte, now time.Time) (account.Link, error) {
	var rows []account.Link
	err := tx.db.Clauses(clause.Returning{}).
		Where("hash = ? AND kind = ? AND expires_at > ?", hash, kind, now).Delete(&rows).Error
	if err == nil && len(rows) == 0 {
		err = fault.New(fault.NotFound, "Not found")
	}
	if err != nil {
		return account.Link{}, err
	}
	return rows[0], nil
}

// How long ended log-ins, links and other records are kept.
const (
	keepLogins    = 30 * 24 * time.Hour
	keepLinks     = 7 * 24 * time.Hour
	keepThrottles = 24 * time.Hour
)

// PruneAccounts deletes up to limit rows of each kind that are no longer needed at now,
// and returns the largest number that it deleted of one kind.
func (s *Store) PruneAccounts(ctx context.Context, now time.Time, limit int) (int, error) {
	longest := 0
	for _, old := range []struct {
		table, key, column string
		before             time.Time
	}{
		{"logins", "hash", "ends_at", now.Add(-keepLogins)},
		{"links", "hash", "expires_at", now.Add(-keepLinks)},
		{"login_flows", "hash", "expires_at", now},
		{"throttles", "bucket", "updated_at", now.Add(-keepThrottles)},
		{"mails", "id", "expires_at", now.Add(-keepMails)},
	} {
		n, err := update(ctx, s, func(tx *Tx) (int, error) {
			return tx.deleteChosen(old.table, old.key, old.column+" <= ? ORDER BY "+old.column+" LIMIT ?", old.before, limit)
		})
		longest = max(longest, n)
		if err != nil {
			return longest, err
		}
	}
	return longest, nil
}
