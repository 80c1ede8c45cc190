package tenant

import (
	"context"

	"agegate/internal/brand"

	"github.com/google/uuid"
)

// BrandChanges are the parts of a brand that an operator sets; nil leaves a part
// as it is, an empty value clears it.
type BrandChanges struct {
	Name   *string
	Colour *string // as brand.ParseColour reads it
	Logo   *[]byte // a picture as brand.Logo reads it
}

// ClearedBrand clears every part.
func ClearedBrand() *BrandChanges {
	return &BrandChanges{Name: new(string), Colour: new(string), Logo: new([]byte)}
}

// checked returns the changes as they are stored: the colour as its digits, the
// logo as brand.Logo returns it. It returns fault.Invalid.
func (c *BrandChanges) checked() (*BrandChanges, error) {
	if c == nil {
		return nil, nil
	}
	stored := *c
	if given(c.Name) {
		if err := checkName(*c.Name); err != nil {
			return nil, err
		}
	}
	if given(c.Colour) {
		colour, err := brand.ParseColour(*c.Colour)
		if err != nil {
			return nil, err
		}
		digits := string(colour)
		stored.Colour = &digits
	}
	if c.Logo != nil && len(*c.Logo) > 0 {
		logo, err := brand.Logo(*c.Logo)
		if err != nil {
			return nil, err
		}
		stored.Logo = &logo
	}
	return &stored, nil
}

// given reports whether a text is set, and not to clear it.
func given(text *string) bool { return text != nil && *text != "" }

// Brand returns how a tenant's hosted page looks; the zero Brand where nothing
// is set.
func (s *Service) Brand(ctx context.Context, tenantID uuid.UUID) (brand.Brand, error) {
	return s.store.Brand(ctx, tenantID)
}

// Logo returns the logo, a PNG, that has a hash, or fault.NotFound.
func (s *Service) Logo(ctx context.Context, hash string) ([]byte, error) {
	return s.store.Logo(ctx, hash)
}
