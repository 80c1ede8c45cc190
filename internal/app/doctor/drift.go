package doctor

import (
	"cmp"
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
	estimator := ""
	if manifest, err := inference.ReadManifest(e.Config.ModelsDir); err == nil {
		estimator = age.Estimator(manifest)
	}
	found, err := driftOf(ctx, db, estimator)
	if err != nil {
		e.problem("drift", err.Error(), "look for the cause in the database's own log")
		return
	}
	e.Tell(found)
}

// driftOf reads the state of drift and judges it. estimator is the fingerprint of the
// models on this machine; if it is empty, it is not compared.
func driftOf(ctx context.Context, db *store.Store, estimator string) (Finding, error) {
	state, err := db.DriftState(ctx)
	if err != nil {
		return Finding{}, err
	}
	return driftFinding(state, cmp.Or(estimator, state.Estimator)), nil
}

// driftFinding judges the state of drift, as driftOf does.
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
