package doctor

import (
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/drift"
)

func TestDriftFinding(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	frozen := drift.State{Estimator: "e", FrozenAt: &at,
		Families: map[drift.Family]*drift.Standing{drift.All: {}, drift.Edge: {}}}
	far := drift.State{Estimator: "e", FrozenAt: &at, Families: map[drift.Family]*drift.Standing{
		drift.All: {}, drift.Edge: {Ages: drift.Measure{Distant: drift.InARow}}}}
	for _, row := range []struct {
		name  string
		state drift.State
		grade Grade
		found string
	}{
		{"no reference", drift.State{}, OK, "no reference"},
		{"as usual", frozen, OK, "references of 1 families"},
		{"far", far, Warning, "browsers: edge"},
		{"other models", drift.State{Estimator: "old", FrozenAt: &at}, Warning, "other models"},
	} {
		got := driftFinding(row.state, "e")
		if got.Grade != row.grade || !strings.Contains(got.Found, row.found) || (got.Grade == OK) != (got.Advice == "") ||
			!named(got) {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}
