package storetest

import (
	"bytes"
	"testing"

	"agegate/internal/rules/brand"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

func TestBrand(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx, owner, other := t.Context(), newTenant(t, s), newTenant(t, s)
		holds := func(when string, want brand.Brand) {
			t.Helper()
			if got, err := s.Brand(ctx, owner.ID); err != nil || got != want {
				t.Errorf("%s: %+v, %v\nwant %+v", when, got, err, want)
			}
		}
		change := func(c tenant.BrandChanges) {
			t.Helper()
			_, err := s.UpdateTenant(ctx, owner.ID, tenant.Changes{Brand: &c}, anAct)
			wantNoError(t, err)
		}
		holds("at first", brand.Brand{})
		name, colour, logo := "Vin & Øl", "1f5f5b", []byte("a picture")
		change(tenant.BrandChanges{Name: &name, Colour: &colour})
		holds("name and colour", brand.Brand{Name: name, Colour: "1f5f5b"})
		change(tenant.BrandChanges{Logo: &logo})
		want := brand.Brand{Name: name, Colour: "1f5f5b", LogoHash: brand.Hash(logo)}
		holds("and a logo", want)
		change(tenant.BrandChanges{})
		holds("without changes", want)
		if got, err := s.Logo(ctx, want.LogoHash); err != nil || !bytes.Equal(got, logo) {
			t.Errorf("Logo = %q, %v", got, err)
		}
		if got, err := s.Brand(ctx, other.ID); err != nil || got != (brand.Brand{}) {
			t.Errorf("another tenant's: %+v, %v", got, err)
		}

		// Two tenants may have the same logo, which is deleted with the last of
		// them.
		_, err := s.UpdateTenant(ctx, other.ID, tenant.Changes{Brand: &tenant.BrandChanges{Logo: &logo}}, anAct)
		wantNoError(t, err)
		change(*tenant.ClearedBrand())
		holds("cleared", brand.Brand{})
		_, err = s.Logo(ctx, want.LogoHash)
		wantNoError(t, err)
		wantNoError(t, s.SetTenantDisabled(ctx, other.ID, true, anAct))
		wantNoError(t, s.DeleteTenant(ctx, other.ID, anAct))
		for _, hash := range []string{want.LogoHash, "", "x"} {
			_, err = s.Logo(ctx, hash)
			wantCode(t, "a logo that nobody has", err, fault.NotFound)
		}
		_, err = s.UpdateTenant(ctx, uuid.New(), tenant.Changes{Brand: &tenant.BrandChanges{Name: &name}}, anAct)
		wantCode(t, "brand of no tenant", err, fault.NotFound)
	})
}

// If a change of the brand is refused, the tenant's other settings do not change
// either.
func TestBrandAndSettingsChangeTogether(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		name, colour := "Changed", "not a colour"
		_, err := s.UpdateTenant(t.Context(), owner.ID,
			tenant.Changes{Name: &name, Brand: &tenant.BrandChanges{Colour: &colour}}, anAct)
		if err == nil {
			t.Fatal("a colour of twelve letters is stored")
		}
		if got, err := s.TenantByID(t.Context(), owner.ID); err != nil || got.Name != owner.Name {
			t.Errorf("the name is %q, %v", got.Name, err)
		}
	})
}
