package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/backoffice/account"
)

type providerRow struct {
	TenantID    uuid.UUID `gorm:"primaryKey"`
	Name        string
	Issuer      string
	ClientID    string
	Sealed      []byte
	GroupsClaim string
	Grants      []account.Grant `gorm:"serializer:json"`
	Required    bool
}

func (providerRow) TableName() string { return "providers" }

// Provider implements account.Store.
func (s *Store) Provider(ctx context.Context, tenantID uuid.UUID) (account.StoredProvider, error) {
	return view(ctx, s, func(tx *Tx) (account.StoredProvider, error) { return tx.Provider(tenantID) })
}

// Provider implements account.Tx.
func (tx *Tx) Provider(tenantID uuid.UUID) (account.StoredProvider, error) {
	row, err := take[providerRow](tx.db, "tenant_id = ?", tenantID)
	return account.StoredProvider(row), err
}

// PutProvider implements account.Tx.
func (tx *Tx) PutProvider(p account.StoredProvider) error {
	row := providerRow(p)
	return tx.db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "tenant_id"}},
		UpdateAll: true}).Create(&row).Error
}

// DeleteProvider implements account.Tx.
func (tx *Tx) DeleteProvider(tenantID uuid.UUID) error {
	return mustChange(tx.db.Where("tenant_id = ?", tenantID).Delete(&providerRow{}))
}

// UserByProvider implements account.Store.
func (s *Store) UserByProvider(ctx context.Context, of uuid.UUID, issuer, subject string) (account.User, error) {
	return view(ctx, s, func(tx *Tx) (account.User, error) {
		if of == uuid.Nil {
			return takeUser(tx.db, "issuer = ? AND subject = ? AND managed_by IS NULL", issuer, subject)
		}
		return takeUser(tx.db, "managed_by = ? AND issuer = ? AND subject = ?", of, issuer, subject)
	})
}

// SetPerson implements account.Tx.
func (tx *Tx) SetPerson(userID uuid.UUID, name, email string) error {
	return mustChange(tx.user(userID).Updates(map[string]any{"name": name, "email": email}))
}

// SetOperator implements account.Tx.
func (tx *Tx) SetOperator(userID uuid.UUID, operator bool) error {
	return mustChange(tx.user(userID).Update("operator", operator))
}

// managed selects the users whom a tenant's providers manage, except those of one
// issuer.
func (tx *Tx) managed(tenantID uuid.UUID, except string) *gorm.DB {
	return tx.db.Table("users").Select("id").Where("managed_by = ? AND issuer <> ?", tenantID, except)
}

// DismissManaged implements account.Tx.
func (tx *Tx) DismissManaged(tenantID uuid.UUID, except string, now time.Time) error {
	for _, end := range []*gorm.DB{
		tx.db.Exec("DELETE FROM memberships WHERE user_id IN (?)", tx.managed(tenantID, except)),
		tx.db.Exec("DELETE FROM links WHERE created_by IN (?)", tx.managed(tenantID, except)),
		tx.db.Exec("UPDATE logins SET ends_at = ? WHERE ends_at > ? AND user_id IN (?)", now, now,
			tx.managed(tenantID, except)),
	} {
		if end.Error != nil {
			return end.Error
		}
	}
	return nil
}

// deleteManaged deletes a tenant's provider and the users whom the tenant's providers
// manage.
func (tx *Tx) deleteManaged(tenantID uuid.UUID) error {
	const users = "(SELECT id FROM users WHERE managed_by = ?)"
	for _, statement := range []string{
		"DELETE FROM providers WHERE tenant_id = ?",
		"DELETE FROM logins WHERE user_id IN " + users,
		"DELETE FROM memberships WHERE user_id IN " + users,
		"DELETE FROM links WHERE created_by IN " + users,
		"DELETE FROM users WHERE managed_by = ?",
	} {
		if err := tx.db.Exec(statement, tenantID).Error; err != nil {
			return err
		}
	}
	return nil
}
