package doctor

import (
	"context"
	"fmt"

	"agegate/internal/backoffice/drift"
	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/store"
)

// drift reports how the governor of drift stands.
func (e *examiner) drift(ctx context.Context, db *store.Store) {
	state, err := db.DriftState(ctx)
	if err != nil {
		e.problem("drift", err.Error(), "look for the cause in the database's own log")
		return
	}
	estimator := state.Estimator // where there are no models here, others' are not compared
	if manifest, err := inference.ReadManifest(e.Config.ModelsDir); err == nil {
		estimator = age.Estimator(manifest)
	}
	e.Tell(driftFinding(state, e.Config.DriftStep, estimator))
}

// driftFinding judges the governor's state, with the step that is configured and
// the fingerprint of the models here.
func driftFinding(state drift.State, step float64, estimator string) Finding {
	f := Finding{Check: "drift", Grade: Warning}
	switch {
	case step == 0 && state.Raised > 0:
		f.Found = fmt.Sprintf("the governor is off, so the %v years by which it has raised the margin do not apply",
			state.Raised)
		f.Advice = "set AGEGATE_DRIFT_STEP, or run agegate drift lower"
	case step == 0:
		f.Grade, f.Found = OK, "the governor is off"
	case state.Raised > 0:
		f.Found = fmt.Sprintf("the margin is raised by %v years since %s", state.Raised,
			state.RaisedAt.Format("2006-01-02 15:04"))
		f.Advice = "look for the cause, then run agegate drift lower"
	case state.FrozenAt == nil:
		f.Found, f.Advice = "the governor is on but has no reference, so it compares nothing",
			"run agegate drift freeze once there are 2,000 estimates"
	case state.Estimator != estimator:
		f.Found, f.Advice = "the governor's reference is of other models, so it compares nothing",
			"run agegate drift freeze once there are 2,000 estimates of these"
	default:
		f.Grade, f.Found = OK, fmt.Sprintf("the governor is on, with references of %d families of browsers",
			max(len(state.Families)-1, 0))
	}
	return f
}
