package doctor

import (
	"cmp"
	"context"
	"fmt"

	"agegate/internal/backoffice/drift"
)

// driftFindings reports whether estimates are compared with a reference, and whether
// they have shifted.
func driftFindings(ctx context.Context, f facts) ([]Finding, error) {
	state, err := f.db.DriftState(ctx)
	return []Finding{driftFinding(state, cmp.Or(f.estimator, state.Estimator))}, err
}

// driftFinding judges the state of drift.
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
