package age

import (
	"context"
	"time"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// MaxTime is the longest time of a capture, without the time that the server takes.
const MaxTime = framingTime + liveness.MaxTime

// maxFrames is the maximum number of frames of a capture: 8 a second.
const maxFrames = 8 * int(MaxTime/time.Second)

// Capture is one attempt in front of the camera. It is for one goroutine.
//
// It goes through phases. Framing waits for a level face at rest. Then the challenge
// prompts for movements; after the last, closing waits for the head to come back. In the
// assisted mode, the person only sits. The level frames before and after the movements,
// or while the person sits, decide the age.
type Capture struct {
	setting
	nonce   [16]byte
	phase   phase               // nil once the capture has ended
	next    uint32              // sequence number expected
	seen    *vision.Observation // the last frame, in which the next face is looked for
	full    int                 // steps in a row that asked the page for the full size
	served  time.Duration       // the time that the server took for all frames
	slowest time.Duration       // the longest time that the server took for a frame after framing
}

// phase is how far a capture has come, and what it knows by then.
type phase interface {
	// lapsed reports whether the time of the phase is over when the frame arrives.
	lapsed(s sight) bool
	// see takes the next frame. It returns the phase that follows and the step to show,
	// or nil and the last step of the capture.
	see(ctx context.Context, s sight) (phase, Step, error)
	// show returns a step that shows the phase as it is, with guidance for a frame.
	show(s sight, g vision.Guidance) Step
	// end returns the last step of a capture that ends in this phase without an age.
	end(v Verdict) Step
}

// sight is one frame and what the capture knows about its way.
type sight struct {
	liveness.Frame
	full    int           // steps in a row that asked the page for the full size
	slowest time.Duration // the longest time that the server took for a frame after framing
}

// resolution returns the guidance for a frame that could count if it were larger. It
// asks the person to come closer only if the page cannot send larger frames. Frames
// that were sent before the page learned that the full size is needed are still small.
func (s sight) resolution() vision.Guidance {
	if s.full >= FramesUnderWay && !s.Resolved() {
		return vision.GuidanceTooFar
	}
	return vision.GuidanceOK
}

// Nonce must precede every frame of this capture.
func (c *Capture) Nonce() [16]byte { return c.nonce }

// MoreTime extends the time of the current prompt, at most ten times in one challenge,
// and reports whether it did.
func (c *Capture) MoreTime() bool {
	asking, ok := c.phase.(interface{ moreTime() bool })
	return ok && asking.moreTime()
}

// Add takes the next frame and says what to do. The time that Add takes, including the
// wait for a turn, does not count against the person. These errors end the attempt, and
// nothing is accepted after them: ErrForeignFrame, ErrFrameOrder,
// vision.ErrFrameTooLarge, ErrFinished, and the errors of ctx, of Options.Turn and of a
// failing model.
func (c *Capture) Add(ctx context.Context, f Frame) (Step, error) {
	if o := c.engine.observer; o != nil {
		defer func(start time.Time) { o.Frame(time.Since(start)) }(time.Now())
	}
	began := c.options.Now()
	step, err := c.add(ctx, f, began)
	if err != nil {
		c.phase = nil
		return Step{}, err
	}
	took := c.options.Now().Sub(began)
	c.served += took
	if step.Phase == PhaseChallenge {
		c.slowest = max(c.slowest, took)
	}
	if c.full++; !step.Full {
		c.full = 0
	}
	return step, nil
}

func (c *Capture) add(ctx context.Context, f Frame, now time.Time) (step Step, err error) {
	switch {
	case c.phase == nil:
		return step, ErrFinished
	case f.Nonce != c.nonce:
		return step, ErrForeignFrame
	case f.Seq != c.next:
		return step, ErrFrameOrder
	case len(f.JPEG) > vision.MaxFrameBytes:
		return step, vision.ErrFrameTooLarge
	}
	c.next++
	if !f.Received.IsZero() {
		now = f.Received
	}
	s := sight{liveness.Frame{JPEG: f.JPEG, At: now, Own: now.Add(-c.served), Trip: f.Trip}, c.full, c.slowest}
	if int(c.next) > maxFrames || c.phase.lapsed(s) {
		step, c.phase = c.phase.end(VerdictNoCapture), nil
		return step.last(), nil
	}
	done, err := c.options.Turn(ctx)
	if err != nil {
		return step, err
	}
	defer done()
	if c.seen, err = c.engine.analyzer.Follow(ctx, f.JPEG, c.seen); err != nil {
		return step, err
	}
	s.Observation = c.seen
	if c.phase, step, err = c.phase.see(ctx, s); c.phase == nil {
		step = step.last()
	}
	return step, err
}
