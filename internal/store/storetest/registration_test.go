package storetest

import (
	"reflect"
	"testing"
	"time"

	"agegate/internal/check/document"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

// Each tenant and the instance have at most one registration certificate.
func TestRegistrations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx, start := t.Context(), start.UTC().Truncate(time.Microsecond) // as stored
		end := start.Add(time.Hour)
		owner := tenant.Tenant{ID: id(t), Name: "Shop", CreatedAt: start, Disabled: true}
		wantNoError(t, s.CreateTenant(ctx, owner, nil, nil, anAct))
		_, err := s.RegistrationOf(ctx, nil)
		wantCode(t, "the instance has none", err, fault.NotFound)
		instance := document.Registration{ID: id(t), Text: "one", CreatedAt: start}
		first := document.Registration{ID: id(t), TenantID: &owner.ID, Text: "two", NotAfter: &end, CreatedAt: start}
		second := document.Registration{ID: id(t), TenantID: &owner.ID, Text: "three", CreatedAt: end}
		for _, r := range []document.Registration{instance, first, second} {
			wantNoError(t, s.PutRegistration(ctx, r, anAct))
			got, err := s.RegistrationOf(ctx, r.TenantID)
			if err != nil || !reflect.DeepEqual(got, r) {
				t.Errorf("%+v, %v, want %+v", got, err, r)
			}
		}
		want := []document.Registration{instance, second}
		if got, err := s.Registrations(ctx); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		wantCode(t, "the replaced one", s.RemoveRegistration(ctx, first.ID, anAct), fault.NotFound)
		wantNoError(t, s.RemoveRegistration(ctx, instance.ID, anAct))
		_, err = s.RegistrationOf(ctx, nil)
		wantCode(t, "the removed one", err, fault.NotFound)
		wantNoError(t, s.DeleteTenant(ctx, owner.ID, anAct))
		if got, err := s.Registrations(ctx); err != nil || len(got) > 0 {
			t.Errorf("of a deleted tenant: %+v, %v", got, err)
		}
	})
}
