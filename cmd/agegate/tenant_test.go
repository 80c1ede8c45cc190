package main

import (
	"reflect"
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
		if value.IsNil() != (field.Name == "Brand") {
			t.Errorf("a flag sets %s: %t", field.Name, !value.IsNil())
		}
	}
}
