package tenant

import (
	"reflect"
	"testing"
)

// TestEverySettingIsListed: what Changes can set is in settings, and so is
// compared, applied and checked. The brand is another row, and Margin is a part of
// Margins.
func TestEverySettingIsListed(t *testing.T) {
	limit := int64(7)
	changes := Tenant{FreeChecks: &limit, TestCap: &limit, AlertBelow: &limit}.all()
	for field, value := range reflect.ValueOf(changes).Fields() {
		if value.IsNil() != (field.Name == "Brand" || field.Name == "Margin") {
			t.Errorf("settings lists %s: %t", field.Name, !value.IsNil())
		}
	}
	if n := reflect.TypeFor[Changes]().NumField() - 2; len(settings) != n {
		t.Errorf("%d settings are listed, Changes has %d", len(settings), n)
	}
}

func TestApplyClearsNumbers(t *testing.T) {
	limit := int64(7)
	before := Tenant{Name: "Shop", FreeChecks: &limit, TestCap: &limit, AlertBelow: &limit}
	none, never := int64(DefaultLimit), int64(NoAlert)
	after := Changes{FreeChecks: &none, AlertBelow: &never}.Apply(before)
	want := before
	want.FreeChecks, want.AlertBelow = nil, nil
	if !reflect.DeepEqual(after, want) {
		t.Errorf("applied %+v, want %+v", after, want)
	}
}
