package main

import (
	"reflect"
	"slices"
	"testing"

	"agegate/internal/rules/tenant"

	"github.com/spf13/pflag"
)

// TestEverySettingHasAFlag: each setting but the brand, whose flags only tenant
// set has, can be given on the command line.
func TestEverySettingHasAFlag(t *testing.T) {
	var c tenant.Changes
	flags := pflag.NewFlagSet("tenant", pflag.ContinueOnError)
	settingFlags(flags, &c)
	flags.VisitAll(func(f *pflag.Flag) {
		if err := flags.Set(f.Name, map[string]string{"bool": "true", "int64": "7"}[f.Value.Type()]); err != nil {
			t.Errorf("--%s: %v", f.Name, err)
		}
	})
	for field, value := range reflect.ValueOf(c).Fields() {
		// --margin sets all margins; Margin is for one target age, in the dashboard.
		if value.IsNil() != slices.Contains([]string{"Brand", "Margin"}, field.Name) {
			t.Errorf("a flag sets %s: %t", field.Name, !value.IsNil())
		}
	}
}
