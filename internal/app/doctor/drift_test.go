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
	raised := frozen
	raised.Raised, raised.RaisedAt = 2, &at
	for _, row := range []struct {
		name  string
		state drift.State
		step  float64
		grade Grade
		found string
	}{
		{"off", drift.State{}, 0, OK, "off"},
		{"off after a raise", raised, 0, Warning, "do not apply"},
		{"no reference", drift.State{}, 2, Warning, "no reference"},
		{"on", frozen, 2, OK, "references of 1 families"},
		{"raised", raised, 2, Warning, "raised by 2 years since 2026-01-02 03:04"},
		{"other models", drift.State{Estimator: "old", FrozenAt: &at}, 2, Warning, "other models"},
	} {
		got := driftFinding(row.state, row.step, "e")
		if got.Grade != row.grade || !strings.Contains(got.Found, row.found) || (got.Grade == OK) != (got.Advice == "") {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}
