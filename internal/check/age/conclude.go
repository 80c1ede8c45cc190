package age

import (
	"math"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// conclude compares the median estimate with the cutoff. Before that, it checks that
// the face looks live and was always the same. The verdict is VerdictNoCapture, not
// VerdictSpoof, if frames came too slowly to show the head moving, if a single movement
// between two frames is missing, or if the face looks drawn.
func (c *Capture) conclude() Step {
	switch {
	case !c.evidence.IsLive(c.demand()) || c.unseen() && c.challenge.Cuts() > 1:
		return c.finish(VerdictSpoof, 0)
	case c.unseen():
		step := c.finish(VerdictNoCapture, 0)
		step.Unserved = c.slowest > tooSlow
		return step
	case !c.engine.gate.Passes(c.faces): // no strike: the gate may be wrong about a person
		step := c.finish(VerdictNoCapture, 0)
		step.Drawn = true
		return step
	}
	// The rounded value decides, so that what is shown and stored never contradicts the
	// verdict.
	years := math.Round(liveness.Median(c.ages)*10) / 10
	verdict, cutoff := VerdictBelow, float64(c.options.TargetAge)+c.options.Margin
	if years >= cutoff {
		verdict = VerdictMet
	}
	step := c.finish(verdict, years)
	step.Cutoff, step.Faces = cutoff, c.faces
	return step
}

// unseen reports whether too few frames showed the head moving.
func (c *Capture) unseen() bool { return c.evidence.Glimpses() < c.demand().Glimpses }

func (c *Capture) finish(v Verdict, years float64) Step {
	c.phase = PhaseDone
	step := c.step(vision.GuidanceOK)
	step.Verdict, step.Age = v, years
	step.Astray = v == VerdictNoCapture && c.challenge.Astray()
	return step
}
