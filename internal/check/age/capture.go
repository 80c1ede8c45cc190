package age

import (
	"context"
	"math"
	"time"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// Limits of one capture. The challenge limits its own time, prompt by prompt.
const (
	framingTime  = 2 * time.Minute
	assistedTime = 40 * time.Second // from the first good frame, in the assisted mode
	assistedWall = 60 * time.Second // the same by the server's clock: nobody sits longer, however slow the server is
)

// MaxTime is the longest time of a capture, without the time that the server takes, by
// which Add extends it.
const MaxTime = framingTime + liveness.MaxTime

// maxFrames is the maximum number of frames of a capture: 8 a second.
const maxFrames = 8 * int(MaxTime/time.Second)

// settledFrames is how many consecutive good frames with the head at rest end the
// framing. It is more than one, so that a face that only passes by does not use up an
// attempt.
const settledFrames = 3

// firstFrames is how many frames may count towards the age before the first prompt is
// fulfilled. The other frames are taken at the end, so that nobody can take the
// person's place after the first frames.
const firstFrames = 3

// atRest is the maximum turn of the head between two settled frames, in degrees.
const atRest = 6.0

// The largest angles of the head, in degrees of yaw and of pitch up and down, at which
// the challenge starts. A dense beard alone moves the measured pitch down by 9 degrees
// (median of 570 pictures, UTKFace). Faces that are measured 15 to 20 degrees down are
// estimated as well as level ones. At the same angle up, teenagers are estimated 2.3
// years too old (held out, 17 and 9 pictures of 13 to 17).
const (
	maxStartYaw  = 15.0
	maxStartUp   = 15.0
	maxStartDown = 20.0
)

// How often a person with a doubtful picture is asked for better light before the
// challenge starts, and how much time they have after each request. After the last
// request, the attempt starts anyway.
const (
	lightRequests = 2
	lightTime     = 5 * time.Second
)

// maxDrift is how far the face may move between two good frames, over its
// width, before the person is asked to hold still.
const maxDrift = 0.35

// Capture is one attempt in front of the camera. It is for one goroutine.
//
// While framing it waits for a level face at rest. Then the challenge prompts
// for movements, and the level frames before and after them decide the age.
type Capture struct {
	engine  *Engine
	options Options
	nonce   [16]byte

	phase   Phase
	started time.Time           // of the phase; postponed by the time that the server took for each frame
	begun   time.Time           // of the challenge; never postponed
	at      time.Time           // when the latest frame arrived
	slowest time.Duration       // the longest time that the server took for a frame of the challenge
	next    uint32              // sequence number expected
	seen    *vision.Observation // the last frame, in which the next face is looked for
	full    int                 // steps in a row that asked the page for the full size
	settled int                 // good frames in a row while framing
	good    *vision.Observation // the last good frame
	asked   int                 // requests for better light
	askedAt time.Time           // the last of them

	challenge *liveness.Challenge
	track     liveness.Track
	memory    liveness.Memory
	evidence  liveness.Evidence
	ages      []float64          // in years, of the frames that count
	apart     []float64          // years between the two age models, of the same frames
	faces     []*vision.Features // of the same frames
}

// Nonce must precede every frame of this capture.
func (c *Capture) Nonce() [16]byte { return c.nonce }

// tooSlow is how long the server may take for one frame. If it takes longer, it may
// miss a movement of the head.
const tooSlow = 300 * time.Millisecond

// Add takes the next frame and says what to do. The time that Add takes, including the
// wait for a turn, does not count against the person: Add extends all time limits by
// it. These errors end the attempt, and nothing is accepted after them:
// ErrForeignFrame, ErrFrameOrder, vision.ErrFrameTooLarge, ErrFinished, and the errors
// of ctx, of Options.Turn and of a failing model.
func (c *Capture) Add(ctx context.Context, f Frame) (Step, error) {
	if o := c.engine.observer; o != nil {
		defer func(start time.Time) { o.Frame(time.Since(start)) }(time.Now())
	}
	began := c.options.Now()
	step, err := c.add(ctx, f)
	if err != nil {
		c.phase = PhaseDone
		return Step{}, err
	}
	c.excuse(c.options.Now().Sub(began))
	return step, nil
}

// excuse extends the time limits by the time that the server took for a frame.
func (c *Capture) excuse(took time.Duration) {
	c.started, c.askedAt = c.started.Add(took), c.askedAt.Add(took)
	if c.phase == PhaseChallenge {
		c.challenge.Wait(took)
		c.slowest = max(c.slowest, took)
	}
}

func (c *Capture) add(ctx context.Context, f Frame) (Step, error) {
	if err := c.admit(f); err != nil {
		return Step{}, err
	}
	now := f.Received // taken before the models run: their time does not count against the person
	if now.IsZero() {
		now = c.options.Now()
	}
	c.at = now
	if c.exhausted(now) {
		return c.finish(VerdictNoCapture, 0), nil
	}
	done, err := c.options.Turn(ctx)
	if err != nil {
		return Step{}, err
	}
	defer done()
	o, err := c.engine.analyzer.Follow(ctx, f.JPEG, c.seen)
	if err != nil {
		return Step{}, err
	}
	c.seen = o
	if o.Landmarks == nil {
		c.settled = 0
		return c.step(o.Guidance), nil
	}
	novelty := c.memory.Add(f.JPEG, o)
	if c.phase == PhaseFraming {
		return c.frame(ctx, o, novelty, now)
	}
	return c.watch(ctx, o, novelty, now, f.Trip)
}

// admit makes the checks that do not need the image.
func (c *Capture) admit(f Frame) error {
	switch {
	case c.phase == PhaseDone:
		return ErrFinished
	case f.Nonce != c.nonce:
		return ErrForeignFrame
	case f.Seq != c.next:
		return ErrFrameOrder
	case len(f.JPEG) > vision.MaxFrameBytes:
		return vision.ErrFrameTooLarge
	}
	c.next++
	return nil
}

// exhausted reports whether the time is over. It also looks at the challenge, so that
// the challenge ends even if no frame shows a face.
func (c *Capture) exhausted(now time.Time) bool {
	took := now.Sub(c.started)
	switch {
	case int(c.next) > maxFrames:
		return true
	case c.phase == PhaseFraming:
		return took > framingTime
	case c.options.Assisted:
		return took > assistedTime || now.Sub(c.begun) > assistedWall
	}
	return c.challenge.Lapsed(now)
}

// MoreTime extends the time of the current prompt, at most ten times in one challenge,
// and reports whether it did.
func (c *Capture) MoreTime() bool {
	return c.phase == PhaseChallenge && !c.options.Assisted && c.challenge.MoreTime()
}

// frame waits for a good face at rest, and starts the challenge from it.
func (c *Capture) frame(ctx context.Context, o *vision.Observation, n liveness.Novelty, now time.Time) (Step, error) {
	if n != liveness.Fresh {
		return c.step(o.Guidance), nil
	}
	guidance := c.steady(o)
	switch {
	case guidance != vision.GuidanceOK:
	case math.Abs(o.Pose.Yaw) > maxStartYaw:
		guidance = vision.GuidanceTurnedAway
	case o.Pose.Pitch > maxStartUp:
		guidance = vision.GuidanceChinRaised
	case o.Pose.Pitch < -maxStartDown:
		guidance = vision.GuidanceChinLowered
	case c.asked > 0 && now.Sub(c.askedAt) < lightTime:
		guidance = vision.GuidanceTooDark
	}
	if guidance != vision.GuidanceOK {
		c.settled = 0
		return c.step(guidance), nil
	}
	if c.settled++; c.settled < settledFrames || !o.Resolved() {
		return c.step(c.resolution(o)), nil
	}
	if o.Doubtful() && c.asked < lightRequests {
		c.asked++
		c.askedAt = now
		c.settled = 0
		return c.step(vision.GuidanceTooDark), nil
	}
	c.phase = PhaseChallenge
	c.started = now
	c.begun = now
	c.track = liveness.NewTrack(o, now)
	c.challenge.Begin(o, now)
	if err := c.collect(ctx, o, 1); err != nil {
		return Step{}, err
	}
	step := c.step(vision.GuidanceOK)
	step.AttemptStarted = true
	return step, nil
}

// resolution returns the guidance for a frame that could count if it were larger. It
// asks the person to come closer only if the page cannot send larger frames. Frames
// that were sent before the page learned that the full size is needed are still small.
func (c *Capture) resolution(o *vision.Observation) vision.Guidance {
	if c.full >= FramesUnderWay && !o.Resolved() {
		return vision.GuidanceTooFar
	}
	return vision.GuidanceOK
}

// steady returns the frame's guidance, or GuidanceHoldStill if the face moved too
// far since the last good frame.
func (c *Capture) steady(o *vision.Observation) vision.Guidance {
	if o.Guidance != vision.GuidanceOK {
		return o.Guidance
	}
	last := c.good
	c.good = o
	if last == nil {
		return vision.GuidanceOK
	}
	x, y, _ := o.Place()
	lastX, lastY, width := last.Place()
	if math.Hypot(x-lastX, y-lastY) > maxDrift*width ||
		math.Hypot(o.Pose.Yaw-last.Pose.Yaw, o.Pose.Pitch-last.Pose.Pitch) > atRest {
		return vision.GuidanceHoldStill
	}
	return vision.GuidanceOK
}

// decide takes a level frame, and decides when the challenge is over and enough frames
// count. If too few frames have shown the head moving, it first asks for a further
// movement.
func (c *Capture) decide(ctx context.Context, o *vision.Observation, now time.Time) (Step, error) {
	switch guidance := c.steady(o); guidance {
	case vision.GuidanceOK:
	case vision.GuidanceHoldStill: // the head is still coming back to level, as asked
		return c.step(vision.GuidanceOK), nil
	default:
		return c.step(guidance), nil
	}
	if len(c.ages) < c.limit() && !o.Resolved() { // other frames need not have the full size
		return c.step(c.resolution(o)), nil
	}
	if err := c.collect(ctx, o, c.limit()); err != nil {
		return Step{}, err
	}
	if !c.challenge.Complete() || len(c.ages) < c.frames() {
		return c.step(vision.GuidanceOK), nil
	}
	if c.unseen() && c.challenge.Cuts() == 0 && c.challenge.Prolong(now) {
		return c.step(vision.GuidanceOK), nil
	}
	return c.conclude(), nil
}

// limit returns the maximum number of frames that may count at this point of the
// challenge.
func (c *Capture) limit() int {
	switch {
	case c.options.Assisted:
		return maxFrames
	case c.challenge.Over():
		return c.frames()
	}
	return firstFrames
}

// frames returns how many frames must count. It is more if the two age models disagree
// about the frames that count so far.
func (c *Capture) frames() int {
	frames := c.demand().Frames
	if len(c.apart) > 0 && liveness.Median(c.apart) > maxApart {
		frames += furtherFrames
	}
	return frames
}

// collect adds a good frame and its age to the evidence, while fewer than limit
// frames count.
func (c *Capture) collect(ctx context.Context, o *vision.Observation, limit int) error {
	if len(c.ages) >= limit {
		return nil
	}
	f, err := c.evidence.Collect(ctx, c.engine.analyzer, o)
	if err != nil {
		return err
	}
	estimate := c.engine.head.Estimate(f)
	c.ages = append(c.ages, estimate.Years)
	c.apart = append(c.apart, estimate.Apart)
	c.faces = append(c.faces, f)
	return nil
}

// sit takes a frame of a person who cannot move their head. The person need not do
// anything: everybody blinks within the time, and a still picture never does. All
// frames count, so that nobody else can blink in the person's place.
func (c *Capture) sit(ctx context.Context, o *vision.Observation) (Step, error) {
	if guidance := c.steady(o); guidance != vision.GuidanceOK {
		return c.step(guidance), nil
	}
	if !o.Resolved() {
		return c.step(c.resolution(o)), nil
	}
	if err := c.collect(ctx, o, c.limit()); err != nil {
		return Step{}, err
	}
	if len(c.ages) < c.frames() || !c.evidence.Blinked() {
		return c.step(vision.GuidanceOK), nil
	}
	return c.conclude(), nil
}

func (c *Capture) demand() liveness.Demand {
	if c.options.Assisted {
		return liveness.Assisted
	}
	return liveness.Usual
}
