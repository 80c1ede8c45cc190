package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

// Members implements account.Store.
func (s *Store) Members(ctx context.Context, tenantIDs ...uuid.UUID) ([]account.Member, error) {
	return viewAll[account.Member](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Table("memberships").InnerJoins("User").
			Where("memberships.tenant_id IN ?", tenantIDs).Order("memberships.created_at, memberships.user_id")
	})
}

// InsertMembership implements account.Tx.
func (tx *Tx) InsertMembership(m account.Membership) error {
	return tx.db.Create(&m).Error
}

// LockOwners implements account.Tx. It locks the tenant's row, which exists even if there is no owner.
func (tx *Tx) LockOwners(tenantID uuid.UUID) error {
	return tx.forChange().Take(&tenant.Tenant{}, "id = ?", tenantID).Error
}

// OwnerExists implements account.Tx.
func (tx *Tx) OwnerExists(tenantID uuid.UUID) (bool, error) {
	rows, err := find[account.Membership](tx.db.Joins("JOIN users ON users.id = memberships.user_id AND users.issuer IS "+
		"NULL").
		Where("tenant_id = ? AND role = ?", tenantID, account.Owner).Limit(1))
	return len(rows) > 0, err
}

// dispensable selects a user's membership if the tenant can do without it: the user is not an owner, the
// identity provider manages the user, or the tenant has another owner whom no provider manages.
func (tx *Tx) dispensable(tenantID, userID uuid.UUID) *gorm.DB {
	return tx.db.Where(`tenant_id = ? AND user_id = ? AND (role <> 'owner'
		OR EXISTS (SELECT 1 FROM users WHERE users.id = ? AND users.issuer IS NOT NULL) OR EXISTS (
		SELECT 1 FROM memberships AS other JOIN users ON users.id = other.user_id
		WHERE other.tenant_id = ? AND other.role = 'owner' AND other.user_id <> ? AND users.disabled_at IS NULL
			AND users.issuer IS NULL))`,
		tenantID, userID, userID, tenantID, userID)
}

// kept returns fault.Conflict if no row was changed, because the membership is that of the last owner.
func kept(result *gorm.DB) error {
	if result.Error == nil && result.RowsAffected == 0 {
		return fault.New(fault.Conflict, "The last owner stays")
	}
	return result.Error
}

// SetRole implements account.Tx.
func (tx *Tx) SetRole(tenantID, userID uuid.UUID, role account.Role) error {
	return kept(tx.dispensable(tenantID, userID).Model(&account.Membership{}).Update("role", role))
}

// DeleteMembership implements account.Tx.
func (tx *Tx) DeleteMembership(tenantID, userID uuid.UUID) error {
	return kept(tx.dispensable(tenantID, userID).Delete(&account.Membership{}))
}

// OpenLinks implements account.Store.
func (s *Store) OpenLinks(
	ctx context.Context, kinds []account.LinkKind, tenantIDs []uuid.UUID, now time.Time,
) ([]account.OpenLink, error) {
	return viewAll[account.OpenLink](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Table("links").
			Select("*, EXISTS (SELECT 1 FROM mails WHERE link = links.hash AND sealed IS NOT NULL) AS waits").
			Where("expires_at > ? AND (kind IN ? OR kind = 'invitation' AND tenant_id IN ?)", now, kinds, tenantIDs).
			Order("created_at DESC, hash")
	})
}

// InsertLink implements account.Tx.
func (tx *Tx) InsertLink(l account.Link) error {
	return tx.db.Create(&l).Error
}

// DeleteLinks implements account.Tx.
func (tx *Tx) DeleteLinks(of account.Link) (deleted []account.Link, err error) {
	err = tx.db.Clauses(clause.Returning{}).Where(&of).Delete(&deleted).Error
	return deleted, err
}
