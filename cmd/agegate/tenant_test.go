package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"agegate/internal/rules/tenant"

	"github.com/spf13/pflag"
)

// TestEverySettingHasAFlag: each setting can be given to create, copy and set.
func TestEverySettingHasAFlag(t *testing.T) {
	var c tenant.Changes
	flags := pflag.NewFlagSet("tenant", pflag.ContinueOnError)
	settingFlags(flags, &c)
	flags.VisitAll(func(f *pflag.Flag) {
		value := map[string]string{"bool": "true", "boolfunc": "true", "int64": "7"}[f.Value.Type()]
		if err := flags.Set(f.Name, value); err != nil {
			t.Errorf("--%s: %v", f.Name, err)
		}
	})
	for field, value := range reflect.ValueOf(c).Fields() {
		// --margin sets all margins; Margin is for one target age, in the dashboard.
		if value.IsNil() != (field.Name == "Margin") {
			t.Errorf("a flag sets %s: %t", field.Name, !value.IsNil())
		}
	}
}

// TestListsOfLines: a flag with a list takes what commas, white space, line ends or
// several flags separate, and an empty one takes all away.
func TestListsOfLines(t *testing.T) {
	for _, args := range [][]string{
		{"--margin", "18=9\n16=3\n"}, {"--margin", "18=9,16=3"}, {"--margin", "18=9, 16=3"},
		{"--margin", "18=9", "--margin", "16=3"},
	} {
		var c tenant.Changes
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		settingFlags(flags, &c)
		if err := flags.Parse(args); err != nil || c.Margins == nil || !slices.Equal(*c.Margins, []string{"18=9", "16=3"}) {
			t.Errorf("%q: %v, %v", args, c.Margins, err)
		}
		if err := flags.Parse([]string{"--languages", ""}); err != nil || c.Languages == nil || len(*c.Languages) > 0 {
			t.Errorf("no languages: %v, %v", c.Languages, err)
		}
	}
}

// TestACopyWithoutFreeChecksNeedsCredit: the copy takes over that no check is free and no credit, and says so.
func TestACopyWithoutFreeChecksNeedsCredit(t *testing.T) {
	c := newConsole(t).withKeys(firstKey, "")
	for _, row := range []struct {
		free string
		says bool
	}{{"0", true}, {"5", false}} {
		id := parsed[createdTenant](c, "tenant", "create", "--name", "Shop"+row.free, "--free-checks", row.free,
			"--json").TenantID.String()
		out := c.run("tenant", "copy", id, "--name", "Copy"+row.free)
		if strings.Contains(out, "no free checks: live ones need credit.\n  agegate tenant credit ") != row.says {
			t.Errorf("of %s free checks: %s", row.free, out)
		}
	}
}
