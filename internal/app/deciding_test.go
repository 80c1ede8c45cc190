package app_test

import (
	"reflect"
	"testing"

	"agegate/internal/app"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
)

// TestDeciding: a start writes an entry if, and only if, the settings or files
// differ from those of the start before.
func TestDeciding(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		for i, step := range []struct {
			margin  string
			entries int
			changes []audit.Change
		}{
			{"7", 1, []audit.Change{{Setting: "age_margin", New: "7"}, {Setting: "estimator", New: "e1"}}},
			{"7", 1, nil},
			{"5", 2, []audit.Change{{Setting: "age_margin", Old: "7", New: "5"}}},
			{"7", 3, []audit.Change{{Setting: "age_margin", Old: "5", New: "7"}}},
		} {
			err := app.RecordDeciding(t.Context(), g.App.Store, g.Clock.Now(),
				map[string]string{"age_margin": step.margin, "estimator": "e1"})
			if err != nil {
				t.Fatal(err)
			}
			entries, err := g.App.Store.AuditEntries(t.Context(),
				audit.Filter{Scope: audit.Instance, Action: audit.GatewayConfigure})
			if err != nil || len(entries) != step.entries {
				t.Fatalf("start %d: %d entries, %v", i+1, len(entries), err)
			}
			if changes := entries[0].Details().Changes; step.changes != nil && !reflect.DeepEqual(changes, step.changes) {
				t.Errorf("start %d: %+v", i+1, changes)
			}
		}
		if _, err := audit.Verify(t.Context(), g.App.Store, audit.Instance); err != nil {
			t.Error(err)
		}
	})
}
