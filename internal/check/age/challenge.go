package age

import (
	"context"
	"time"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// firstFrames is how many frames may count towards the age before all prompts are
// fulfilled. The other frames are taken at the end, so that nobody can take the person's
// place after the first frames.
const firstFrames = 3

// asked is a person who is asked for movements.
type asked struct {
	*person
	asks *liveness.Challenge
}

// challenge prompts for movements.
type challenge struct{ asked }

// closing waits, after the last movement, until the head is level again and enough frames
// count.
type closing struct{ asked }

func (c *challenge) see(ctx context.Context, s sight) (phase, Step, error) {
	outcome, err := c.asks.Judge(ctx, s.Frame)
	verdict := ending(outcome)
	switch {
	case err != nil || verdict != "":
		return nil, c.end(verdict), err
	case outcome == liveness.AtLevel:
		guidance, _, err := c.count(ctx, s, firstFrames)
		return c, c.show(s, guidance), err
	case outcome == liveness.Acted && c.asks.Over():
		next := &closing{c.asked}
		return next, next.show(s, s.advice(outcome, false)), nil
	}
	return c, c.show(s, s.advice(outcome, true)), nil
}

// see concludes when the head is level and enough frames count. If too few frames have
// shown the head moving, it first goes back to ask for a further movement.
func (c *closing) see(ctx context.Context, s sight) (phase, Step, error) {
	outcome, err := c.asks.Judge(ctx, s.Frame)
	verdict := ending(outcome)
	switch {
	case err != nil || verdict != "":
		return nil, c.end(verdict), err
	case outcome != liveness.AtLevel:
		return c, c.show(s, s.advice(outcome, false)), nil
	}
	guidance, good, err := c.count(ctx, s, c.needs)
	switch {
	case !good || !c.asks.Complete() || len(c.ages) < c.needs:
		return c, c.show(s, guidance), err
	case c.unseen() && c.asks.Cuts == 0 && c.asks.Prolong(s.Frame):
		next := &challenge{c.asked}
		return next, next.show(s, guidance), nil
	}
	return nil, c.conclude(c.end(""), c.asks.Cuts, s.slowest), nil
}

func (a *asked) lapsed(s sight) bool { return !s.Own.Before(a.asks.Until) }

func (a *asked) moreTime() bool { return a.asks.MoreTime() }

// count is like that of the person. It lets the head come back to level, as asked.
func (a *asked) count(ctx context.Context, s sight, limit int) (vision.Guidance, bool, error) {
	guidance, good, err := a.person.count(ctx, s, limit)
	if guidance == vision.GuidanceHoldStill {
		guidance = vision.GuidanceOK
	}
	return guidance, good, err
}

func (c *challenge) show(s sight, g vision.Guidance) Step { return c.step(s, g, firstFrames) }

func (c *closing) show(s sight, g vision.Guidance) Step { return c.step(s, g, c.needs) }

// step shows the prompt. The next frame may count if fewer than limit frames do and the
// head seems to be at rest or on its way back to rest.
func (a *asked) step(s sight, g vision.Guidance, limit int) Step {
	return Step{
		Guidance: g, Phase: PhaseChallenge, Prompt: a.asks.Prompt, Hint: a.asks.Hint, Done: a.asks.Done, Total: a.asks.Total,
		Progress: a.asks.Progress, Remaining: max(a.asks.Until.Sub(s.Own), 0), Extensible: a.asks.Extensions > 0,
		Full: len(a.ages) < limit && a.asks.NearLevel(),
	}
}

func (a *asked) end(v Verdict) Step {
	step := Step{Verdict: v, Done: a.asks.Done, Total: a.asks.Total}
	switch {
	case v != VerdictNoCapture:
	case a.asks.Astray():
		step.Why = ReasonAstray
	case a.asks.Unmoved():
		step.Why = ReasonUnmoved
	}
	return step
}

const (
	assistedTime = 40 * time.Second // from the first good frame
	assistedWall = 60 * time.Second // the same by the server's clock: nobody sits longer, however slow the server is
)

// assisted is a person who cannot move their head. The person need not do anything:
// everybody blinks within the time, and a still picture never does. All frames count, so
// that nobody else can blink in the person's place.
type assisted struct {
	*person
	until time.Time // as Frame.Own
	wall  time.Time // as Frame.At
}

func (a *assisted) lapsed(s sight) bool { return s.Own.After(a.until) || s.At.After(a.wall) }

func (a *assisted) see(ctx context.Context, s sight) (phase, Step, error) {
	outcome, err := a.Follow(ctx, s.Frame)
	verdict := ending(outcome)
	switch {
	case err != nil || verdict != "":
		return nil, a.end(verdict), err
	case outcome != liveness.Plausible:
		return a, a.show(s, s.advice(outcome, true)), nil
	}
	guidance, good, err := a.count(ctx, s, maxFrames)
	if !good || len(a.ages) < a.needs || !a.Blinked() {
		return a, a.show(s, guidance), err
	}
	return nil, a.conclude(a.end(""), 0, s.slowest), nil
}

func (a *assisted) show(_ sight, g vision.Guidance) Step {
	step := a.end("")
	step.Guidance, step.Phase, step.Prompt, step.Full = g, PhaseChallenge, liveness.PromptHoldStill, true
	return step
}

// end counts the frames that count, and a blink.
func (a *assisted) end(v Verdict) Step {
	return Step{Verdict: v, Done: min(len(a.ages), a.needs), Total: a.needs + 1}
}

// ending returns the verdict of an outcome that ends a capture, and otherwise "".
func ending(outcome liveness.Outcome) Verdict {
	switch outcome {
	case liveness.Failed:
		return VerdictSpoof
	case liveness.Missed:
		return VerdictNoCapture
	}
	return ""
}

// advice returns the guidance for a frame that cannot count. If the person should move,
// it need not be a good one.
func (s sight) advice(outcome liveness.Outcome, moving bool) vision.Guidance {
	switch outcome {
	case liveness.Unseen:
		return s.Guidance
	case liveness.Still:
		return vision.GuidanceOK
	case liveness.Leaning:
		return vision.GuidanceHoldStill
	}
	switch s.Guidance {
	case vision.GuidanceOK:
		if !moving {
			return vision.GuidanceTurnedAway
		}
	case vision.GuidanceTurnedAway, vision.GuidanceChinRaised, vision.GuidanceChinLowered, vision.GuidanceBlurred,
		vision.GuidanceOffCenter:
		if moving {
			return vision.GuidanceOK
		}
	}
	return s.Guidance
}
