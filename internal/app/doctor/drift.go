package doctor

import (
	"context"
	"fmt"

	"agegate/internal/backoffice/drift"
	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/store"
)

// drift reports whether estimates are compared with a reference, and whether they
// have shifted.
func (e *examiner) drift(ctx context.Context, db *store.Store) {
	found, err := driftOf(ctx, db, e.Config.ModelsDir)
	if err != nil {
		e.problem("drift", err.Error(), "look for the cause in the database's own log")
		return
	}
	e.Tell(found)
}

// driftOf reads the state of drift and judges it, with the models in a directory.
func driftOf(ctx context.Context, db *store.Store, modelsDir string) (Finding, error) {
	state, err := db.DriftState(ctx)
	if err != nil {
		return Finding{}, err
	}
	estimator := state.Estimator // where there are no models here, others' are not compared
	if manifest, err := inference.ReadManifest(modelsDir); err == nil {
		estimator = age.Estimator(manifest)
	}
	return driftFinding(state, estimator), nil
}

// driftFinding judges the state of drift, with the fingerprint of the models here.
func driftFinding(state drift.State, estimator string) Finding {
	f := Finding{Name: "drift", Check: "drift", Grade: Warning}
	switch {
	case state.FrozenAt == nil:
		f.Grade, f.Found = OK, "estimates are counted, and not compared: there is no reference yet (agegate drift freeze)"
	case state.Estimator != estimator:
		f.Found, f.Advice = "the reference is of other models, so nothing is compared",
			"run agegate drift freeze once there are 2,000 estimates of these"
	case state.FarFamily() != "":
		f.Found = fmt.Sprintf("the estimates are far from the reference (browsers: %s)", state.FarFamily())
		f.Advice = "look for the cause; agegate drift shows each family of browsers"
	default:
		f.Grade, f.Found = OK, fmt.Sprintf("estimates are compared with references of %d families of browsers",
			max(len(state.Families)-1, 0))
	}
	return f
}
