package app_test

import (
	"reflect"
	"testing"

	"agegate/internal/app"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
)

// TestDeciding: a start writes an entry if, and only if, the settings or files differ from those of the start before.
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

// TestStartsAreRecorded: so is a start that deletes other sessions, or gives other groups of the provider rights.
func TestStartsAreRecorded(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		for _, step := range []struct {
			settings []string
			want     map[string]string // the new values
		}{
			{[]string{"AGEGATE_RETENTION=90d"}, map[string]string{"AGEGATE_RETENTION": "90d"}},
			{idp.Settings("ops=operator"), map[string]string{"AGEGATE_OIDC_ISSUER": idp.URL,
				"AGEGATE_OIDC_ROLES": "ops=operator"}},
			{[]string{"AGEGATE_OIDC_ROLES=it=operator"}, map[string]string{"AGEGATE_OIDC_ROLES": "it=operator"}},
			{[]string{"AGEGATE_RETENTION="}, map[string]string{"AGEGATE_RETENTION": ""}},
			{nil, map[string]string{"AGEGATE_RETENTION": ""}}, // the same start writes nothing
		} {
			g = g.Restart(t, step.settings...)
			entries, err := g.App.Store.AuditEntries(t.Context(),
				audit.Filter{Scope: audit.Instance, Action: audit.GatewayConfigure})
			if err != nil || len(entries) == 0 {
				t.Fatalf("%v: %d entries, %v", step.settings, len(entries), err)
			}
			got := map[string]string{}
			for _, c := range entries[0].Details().Changes {
				got[c.Setting] = c.New
			}
			if !reflect.DeepEqual(got, step.want) {
				t.Errorf("%v: %v, want %v", step.settings, got, step.want)
			}
		}
	})
}
