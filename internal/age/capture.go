package age

import (
	"context"
	"math"
	"slices"
	"time"
)

// Phase is how far a capture has come.
type Phase string

// The phases of a capture, in order.
const (
	PhaseFraming   Phase = "framing"   // until the first good frame
	PhaseChallenge Phase = "challenge" // collecting what decides; the attempt counts
	PhaseDone      Phase = "done"      // Step.Verdict is set
)

// Prompt asks the person for an action during the challenge.
type Prompt string

// The prompts of a capture; none is "".
const PromptHoldStill Prompt = "hold_still"

// Verdict is how a capture ended; "" while it runs.
type Verdict string

// The verdicts of a capture.
const (
	VerdictMet       Verdict = "met"        // the estimate reaches the cutoff
	VerdictBelow     Verdict = "below"      // it does not
	VerdictSpoof     Verdict = "spoof"      // not a live face
	VerdictNoCapture Verdict = "no_capture" // time or frames ran out
)

// Step is the server's answer to one frame.
type Step struct {
	Guidance       Guidance
	Phase          Phase
	Prompt         Prompt
	Done, Total    int     // progress of the challenge
	AttemptStarted bool    // true once, at the step that starts the challenge
	Verdict        Verdict // set on the last step
	Age            float64 // years, one decimal; with VerdictMet and VerdictBelow only
}

// Budgets of one capture.
const (
	framingTime   = 60 * time.Second
	challengeTime = 20 * time.Second
	maxFrames     = 600 // about 7 frames a second for the whole time
)

// What a passive decision needs. The assisted path asks for more of both.
const (
	decidingFrames         = 5
	decidingFramesAssisted = 10
	minPassive             = 0.2 // median of each passive score; see the package tests for how faces score
	minPassiveAssisted     = 0.4
)

// maxDrift is how far the face may move between two deciding frames, over its
// width, before the person is asked to hold still.
const maxDrift = 0.35

// Capture is one attempt in front of the camera. It is for one goroutine.
type Capture struct {
	engine  *Engine
	options Options
	nonce   [16]byte

	phase    Phase
	started  time.Time // of the phase
	next     uint32    // sequence number expected
	previous Face
	ages     []float64
	real     []float64
	live     []float64
}

// Nonce must precede every frame of this capture.
func (c *Capture) Nonce() [16]byte { return c.nonce }

// Add takes the next frame and says what to do. ErrForeignFrame,
// ErrFrameOrder, ErrFrameTooLarge and ErrFinished end the attempt, as does
// ctx's error or that of a failing model; nothing after them is accepted.
func (c *Capture) Add(ctx context.Context, f Frame) (Step, error) {
	if err := c.admit(f); err != nil {
		c.phase = PhaseDone
		return Step{}, err
	}
	if c.exhausted() {
		return c.finish(VerdictNoCapture, 0), nil
	}
	o, err := c.engine.analyzer.Analyze(ctx, f.JPEG)
	if err != nil {
		c.phase = PhaseDone
		return Step{}, err
	}
	step, err := c.weigh(ctx, o)
	if err != nil {
		c.phase = PhaseDone
		return Step{}, err
	}
	return step, nil
}

// admit checks what needs no look at the image.
func (c *Capture) admit(f Frame) error {
	switch {
	case c.phase == PhaseDone:
		return ErrFinished
	case f.Nonce != c.nonce:
		return ErrForeignFrame
	case f.Seq != c.next:
		return ErrFrameOrder
	case len(f.JPEG) > MaxFrameBytes:
		return ErrFrameTooLarge
	}
	c.next++
	return nil
}

func (c *Capture) exhausted() bool {
	allowed := framingTime
	if c.phase == PhaseChallenge {
		allowed = challengeTime
	}
	return c.next > maxFrames || c.options.Now().Sub(c.started) > allowed
}

// weigh counts a good frame towards the decision.
func (c *Capture) weigh(ctx context.Context, o *Observation) (Step, error) {
	if o.Guidance != GuidanceOK {
		return c.step(o.Guidance), nil
	}
	drifted := c.drifted(o.Face)
	c.previous = o.Face
	if drifted {
		return c.step(GuidanceHoldStill), nil
	}
	starts := c.phase == PhaseFraming
	if starts {
		c.phase, c.started = PhaseChallenge, c.options.Now()
	}
	features, err := c.engine.analyzer.Features(ctx, o)
	if err != nil {
		return Step{}, err
	}
	c.ages = append(c.ages, c.engine.head.Age(features))
	c.real, c.live = append(c.real, o.Real), append(c.live, o.Live)
	step := c.step(GuidanceOK)
	if len(c.ages) == c.needed() {
		step = c.decide()
	}
	step.AttemptStarted = starts
	return step, nil
}

// drifted reports whether the face moved too far since the last good frame.
func (c *Capture) drifted(f Face) bool {
	return c.previous.Width > 0 &&
		math.Hypot(f.X-c.previous.X, f.Y-c.previous.Y) > maxDrift*c.previous.Width
}

func (c *Capture) needed() int {
	if c.options.Assisted {
		return decidingFramesAssisted
	}
	return decidingFrames
}

// decide compares the median estimate with the cutoff, unless the face does
// not look live.
func (c *Capture) decide() Step {
	passive := minPassive
	if c.options.Assisted {
		passive = minPassiveAssisted
	}
	if median(c.real) < passive || median(c.live) < passive {
		return c.finish(VerdictSpoof, 0)
	}
	// Decided on the rounded value, so that what is shown and stored never
	// contradicts the verdict.
	years := math.Round(median(c.ages)*10) / 10
	if years >= float64(c.options.TargetAge)+c.options.Margin {
		return c.finish(VerdictMet, years)
	}
	return c.finish(VerdictBelow, years)
}

func (c *Capture) finish(v Verdict, years float64) Step {
	c.phase = PhaseDone
	step := c.step(GuidanceOK)
	step.Verdict, step.Age = v, years
	return step
}

func (c *Capture) step(g Guidance) Step {
	s := Step{Guidance: g, Phase: c.phase, Done: len(c.ages), Total: c.needed()}
	if c.phase == PhaseChallenge {
		s.Prompt = PromptHoldStill
	}
	return s
}

// median of a list that is not empty.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
