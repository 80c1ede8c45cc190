package age

import (
	"context"
	"time"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// watch follows the face through the challenge.
func (c *Capture) watch(
	ctx context.Context, o *vision.Observation, n liveness.Novelty, now time.Time, trip time.Duration,
) (Step, error) {
	switch {
	case n == liveness.Repeated:
		return c.finish(VerdictSpoof, 0), nil
	case n == liveness.Stalled:
		return c.step(vision.GuidanceOK), nil
	case c.challenge.Leans(o):
		return c.step(vision.GuidanceHoldStill), nil
	}
	switch c.track.Move(o, now) {
	case liveness.Jumped:
		return c.finish(VerdictSpoof, 0), nil
	case liveness.Reframed:
		return c.rejoin(ctx, o, now)
	}
	if c.options.Assisted {
		return c.sit(ctx, o)
	}
	prompt := c.challenge.Prompt()
	outcome := c.challenge.Judge(o, now, trip)
	if err := c.evidence.Glance(ctx, c.engine.analyzer, c.challenge.Glimpse()); err != nil {
		return Step{}, err
	}
	switch outcome {
	case liveness.Failed:
		return c.finish(VerdictSpoof, 0), nil
	case liveness.Missed:
		return c.finish(VerdictNoCapture, 0), nil
	case liveness.Acted:
		return c.confirm(ctx, o, prompt)
	case liveness.AtLevel:
		return c.decide(ctx, o, now)
	}
	return c.step(c.follow(o)), nil
}

// rejoin continues with a picture that the camera has changed, if its face is the same
// as before. If the frame is unclear, rejoin decides nothing.
func (c *Capture) rejoin(ctx context.Context, o *vision.Observation, now time.Time) (Step, error) {
	same, err := c.evidence.Rejoins(ctx, c.engine.analyzer, c.track.Last(), o)
	switch {
	case err != nil:
		return Step{}, err
	case !same && liveness.Unclear(o):
		return c.step(o.Guidance), nil
	case !same:
		return c.finish(VerdictSpoof, 0), nil
	case !c.challenge.Resume(o, now):
		return c.finish(VerdictNoCapture, 0), nil
	}
	c.track = liveness.NewTrack(o, now)
	return c.step(c.follow(o)), nil
}

// follow returns the guidance for a frame during an action, or on the way back from
// one. Such a frame need not be a good one.
func (c *Capture) follow(o *vision.Observation) vision.Guidance {
	switch o.Guidance {
	case vision.GuidanceOK:
		if c.challenge.Prompt() == liveness.PromptHoldStill {
			return vision.GuidanceTurnedAway
		}
	case vision.GuidanceTurnedAway, vision.GuidanceChinRaised, vision.GuidanceChinLowered, vision.GuidanceBlurred,
		vision.GuidanceOffCenter:
		if c.challenge.Prompt() != liveness.PromptHoldStill {
			return vision.GuidanceOK
		}
	}
	return o.Guidance
}

// confirm checks that a solid head fulfilled the prompt, and that it is the same person
// as before. If the frame is too unclear to show that, the prompt stays.
func (c *Capture) confirm(ctx context.Context, o *vision.Observation, prompt liveness.Prompt) (Step, error) {
	f, err := c.engine.analyzer.Describe(ctx, c.challenge.Reached())
	if err != nil {
		return Step{}, err
	}
	known := c.evidence.Matches(f)
	switch {
	case !c.challenge.Solid(o, prompt), !known && !liveness.Unclear(c.challenge.Reached()):
		return c.finish(VerdictSpoof, 0), nil
	case !known:
		c.challenge.Retract()
	}
	return c.step(c.follow(o)), nil
}
