package tenant

import (
	"context"

	"agegate/internal/rules/brand"

	"github.com/google/uuid"
)

// BrandChanges are the parts of a brand that an operator sets. Nil leaves a part unchanged, an empty value clears it.
type BrandChanges struct {
	Name   *string
	Colour *string // in a form that brand.ParseColour accepts
	Logo   *[]byte // a picture in a format that brand.Logo accepts
}

// ClearedBrand clears every part.
func ClearedBrand() *BrandChanges {
	return &BrandChanges{Name: new(string), Colour: new(string), Logo: new([]byte)}
}

// Brand returns the look of a tenant's hosted page; the zero Brand if nothing is set.
func (s *Service) Brand(ctx context.Context, tenantID uuid.UUID) (brand.Brand, error) {
	return s.store.Brand(ctx, tenantID)
}

// Logo returns the logo with the given hash, a PNG, or fault.NotFound.
func (s *Service) Logo(ctx context.Context, hash string) ([]byte, error) {
	return s.store.Logo(ctx, hash)
}
