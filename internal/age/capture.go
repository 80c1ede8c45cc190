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

// PromptHoldStill asks to look into the camera and wait; no prompt is "".
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

// settledFrames is how many good frames in a row end the framing, so that a
// face passing by does not cost an attempt.
const settledFrames = 2

// demand is what a passive decision needs: a number of good frames and the
// median of each passive score.
type demand struct {
	frames     int
	real, live float64
}

// Of 864 good still pictures of people (UTKFace), 0.5 % score under 0.23 real
// and 0.20 live, 5 % under 0.34 and 0.50: the scores are weak, so the usual
// limits only catch the plain cases. Without head turns more is asked.
var (
	usual    = demand{frames: 5, real: 0.2, live: 0.1}
	assisted = demand{frames: 10, real: 0.3, live: 0.15}
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
	settled  int       // good frames in a row while framing
	previous Face      // in the last good frame
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
	guidance := o.Guidance
	if guidance == GuidanceOK {
		if c.drifted(o.Face) {
			guidance = GuidanceHoldStill
		}
		c.previous = o.Face
	}
	if guidance != GuidanceOK {
		c.settled = 0
		return c.step(guidance), nil
	}
	starts := false
	if c.phase == PhaseFraming {
		if c.settled++; c.settled < settledFrames {
			return c.step(GuidanceOK), nil
		}
		starts, c.phase, c.started = true, PhaseChallenge, c.options.Now()
	}
	features, err := c.engine.analyzer.Features(ctx, o)
	if err != nil {
		return Step{}, err
	}
	c.ages = append(c.ages, c.engine.head.Age(features))
	c.real, c.live = append(c.real, o.Real), append(c.live, o.Live)
	step := c.step(GuidanceOK)
	if len(c.ages) == c.demand().frames {
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

func (c *Capture) demand() demand {
	if c.options.Assisted {
		return assisted
	}
	return usual
}

// decide compares the median estimate with the cutoff, unless the face does
// not look live.
func (c *Capture) decide() Step {
	if d := c.demand(); median(c.real) < d.real || median(c.live) < d.live {
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
	s := Step{Guidance: g, Phase: c.phase, Done: len(c.ages), Total: c.demand().frames}
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
