package store

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm/clause"

	"agegate/internal/rules/brand"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

type brandRow struct {
	TenantID uuid.UUID `gorm:"primaryKey"`
	Name     string
	Colour   string
	Logo     []byte
	LogoHash string
}

func (brandRow) TableName() string { return "brands" }

// updateBrand applies the non-nil changes to a tenant that exists.
func (tx *Tx) updateBrand(tenantID uuid.UUID, c *tenant.BrandChanges) error {
	if c == nil {
		return nil
	}
	columns := map[string]any{}
	set(columns, "name", c.Name)
	set(columns, "colour", c.Colour)
	if c.Logo != nil {
		columns["logo"], columns["logo_hash"] = nil, ""
		if len(*c.Logo) > 0 {
			columns["logo"], columns["logo_hash"] = *c.Logo, brand.Hash(*c.Logo)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	err := tx.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&brandRow{TenantID: tenantID}).Error
	if err != nil {
		return err
	}
	return tx.db.Model(&brandRow{}).Where("tenant_id = ?", tenantID).Updates(columns).Error
}

func set[T any](columns map[string]any, name string, value *T) {
	if value != nil {
		columns[name] = *value
	}
}

// Brand implements tenant.Store.
func (s *Store) Brand(ctx context.Context, tenantID uuid.UUID) (brand.Brand, error) {
	return view(ctx, s, func(tx *Tx) (brand.Brand, error) { return tx.brand(tenantID) })
}

func (tx *Tx) brand(tenantID uuid.UUID) (brand.Brand, error) {
	var rows []brandRow
	err := tx.db.Select("name", "colour", "logo_hash").Where("tenant_id = ?", tenantID).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return brand.Brand{}, err
	}
	return brand.Brand{Name: rows[0].Name, Colour: brand.Colour(rows[0].Colour), LogoHash: rows[0].LogoHash}, nil
}

// Logo implements tenant.Store.
func (s *Store) Logo(ctx context.Context, hash string) ([]byte, error) {
	if hash == "" {
		return nil, fault.New(fault.NotFound, "Not found")
	}
	return view(ctx, s, func(tx *Tx) ([]byte, error) {
		var row brandRow // several tenants may have the same logo, with equal bytes
		err := tx.db.Select("logo").Where("logo_hash = ? AND logo_hash <> ''", hash).Take(&row).Error
		return row.Logo, err
	})
}
