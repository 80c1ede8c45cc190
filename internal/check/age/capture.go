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
	assistedWall = 60 * time.Second // the same by the clock: however slow the server is, nobody sits longer
	maxFrames    = 3000             // 8 frames a second for the longest attempt
)

// settledFrames is how many good frames in a row, with the head at rest, end the
// framing: a face that only passes by does not use up an attempt.
const settledFrames = 3

// firstFrames is how many frames may decide before the first prompt is
// fulfilled. The others are taken at the end, so that nobody can take over.
const firstFrames = 3

// atRest is the most degrees that the head may turn between two settled frames.
const atRest = 6.0

// The most degrees of yaw, and of pitch up and down, that the challenge starts
// from. A dense beard alone moves the measured pitch down by 9 degrees (median
// of 570 pictures, UTKFace). Faces measured 15 to 20 degrees down are estimated
// as well as level ones; at as many degrees up, teenagers are estimated 2.3
// years too old (held out, 17 and 9 pictures of 13 to 17).
const (
	maxStartYaw  = 15.0
	maxStartUp   = 15.0
	maxStartDown = 20.0
)

// How often a person whose picture is a doubtful one is asked for better light
// before the challenge starts, and how long they have for it each time. After
// the last request the attempt starts as it is.
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
	started time.Time           // of the phase, moved on by what the server took for each frame
	begun   time.Time           // of the challenge; nothing moves it on
	at      time.Time           // when the latest frame arrived
	slowest time.Duration       // that the server took for a frame of the challenge
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
	ages      []float64          // years, of the frames that decide
	faces     []*vision.Features // of the same frames
}

// Nonce must precede every frame of this capture.
func (c *Capture) Nonce() [16]byte { return c.nonce }

// tooSlow is how long a frame may take before the head's movement may be missed
// through the server's fault.
const tooSlow = 300 * time.Millisecond

// Add takes the next frame and says what to do. The time that it takes, the wait
// for a turn included, is not the person's: all limits of time move on by it. ErrForeignFrame,
// ErrFrameOrder, vision.ErrFrameTooLarge and ErrFinished end the attempt, as does
// the error of ctx, of Options.Turn or of a failing model; nothing after them is accepted.
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

// excuse moves the limits of time on by what the server took for a frame.
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
	now := f.Received // before the models run, whose time is not the person's
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

// admit checks what needs no look at the image.
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

// exhausted reports whether the time is over. The challenge is asked here too,
// so that it ends without a face in the frame.
func (c *Capture) exhausted(now time.Time) bool {
	took := now.Sub(c.started)
	switch {
	case c.next > maxFrames:
		return true
	case c.phase == PhaseFraming:
		return took > framingTime
	case c.options.Assisted:
		return took > assistedTime || now.Sub(c.begun) > assistedWall
	}
	return c.challenge.Lapsed(now)
}

// MoreTime extends the time of the present prompt and reports whether it did:
// ten times in one challenge.
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
		c.asked, c.askedAt, c.settled = c.asked+1, now, 0
		return c.step(vision.GuidanceTooDark), nil
	}
	c.phase, c.started, c.begun = PhaseChallenge, now, now
	c.track = liveness.NewTrack(o, now)
	c.challenge.Begin(o, now)
	if err := c.collect(ctx, o, 1); err != nil {
		return Step{}, err
	}
	step := c.step(vision.GuidanceOK)
	step.AttemptStarted = true
	return step, nil
}

// resolution is the guidance for a frame that might decide, but for its size: to
// come closer, if the frame is as large as the page can send it. Frames that were
// under way when the page was asked for the full size do not have it yet.
func (c *Capture) resolution(o *vision.Observation) vision.Guidance {
	if c.full >= FramesUnderWay && !o.Resolved() {
		return vision.GuidanceTooFar
	}
	return vision.GuidanceOK
}

// steady is the frame's guidance, or to hold still if the face moved too far
// since the last good frame.
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
	if math.Hypot(x-lastX, y-lastY) > maxDrift*width || math.Hypot(o.Pose.Yaw-last.Pose.Yaw, o.Pose.Pitch-last.Pose.Pitch) > atRest {
		return vision.GuidanceHoldStill
	}
	return vision.GuidanceOK
}

// watch follows the face through the challenge.
func (c *Capture) watch(ctx context.Context, o *vision.Observation, n liveness.Novelty, now time.Time, trip time.Duration) (Step, error) {
	if n == liveness.Repeated || c.track.Jumps(o, now) {
		return c.finish(VerdictSpoof, 0), nil
	}
	if n == liveness.Stalled {
		return c.step(vision.GuidanceOK), nil
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
		return c.decide(ctx, o)
	}
	return c.step(c.follow(o)), nil
}

// follow is the guidance for a frame in the middle of an action, which need
// not be a good one, or on the way back from it.
func (c *Capture) follow(o *vision.Observation) vision.Guidance {
	switch o.Guidance {
	case vision.GuidanceOK:
		if c.challenge.Prompt() == liveness.PromptHoldStill {
			return vision.GuidanceTurnedAway
		}
	case vision.GuidanceTurnedAway, vision.GuidanceChinRaised, vision.GuidanceChinLowered, vision.GuidanceBlurred, vision.GuidanceOffCenter:
		if c.challenge.Prompt() != liveness.PromptHoldStill {
			return vision.GuidanceOK
		}
	}
	return o.Guidance
}

// confirm checks that a prompt was fulfilled by a solid head, and by the same
// person as before.
func (c *Capture) confirm(ctx context.Context, o *vision.Observation, prompt liveness.Prompt) (Step, error) {
	f, err := c.engine.analyzer.Features(ctx, c.challenge.Reached())
	if err != nil {
		return Step{}, err
	}
	if !c.challenge.Solid(o, prompt) || !c.evidence.Matches(f) {
		return c.finish(VerdictSpoof, 0), nil
	}
	return c.step(c.follow(o)), nil
}

// decide takes a level frame into account and decides once the challenge is
// over and there is enough to go by.
func (c *Capture) decide(ctx context.Context, o *vision.Observation) (Step, error) {
	switch guidance := c.steady(o); guidance {
	case vision.GuidanceOK:
	case vision.GuidanceHoldStill: // still coming back, as asked
		return c.step(vision.GuidanceOK), nil
	default:
		return c.step(guidance), nil
	}
	if !o.Resolved() {
		return c.step(c.resolution(o)), nil
	}
	if err := c.collect(ctx, o, c.limit()); err != nil {
		return Step{}, err
	}
	if !c.challenge.Complete() || len(c.ages) < c.demand().Frames {
		return c.step(vision.GuidanceOK), nil
	}
	return c.conclude(), nil
}

// limit is how many frames may have decided by now.
func (c *Capture) limit() int {
	switch {
	case c.options.Assisted:
		return maxFrames
	case c.challenge.Over():
		return c.demand().Frames
	}
	return firstFrames
}

// collect takes a good frame into the evidence, and its age, while fewer than
// limit frames have decided.
func (c *Capture) collect(ctx context.Context, o *vision.Observation, limit int) error {
	if len(c.ages) >= limit {
		return nil
	}
	f, err := c.evidence.Collect(ctx, c.engine.analyzer, o)
	if err != nil {
		return err
	}
	c.ages, c.faces = append(c.ages, c.engine.head.Age(f)), append(c.faces, f)
	return nil
}

// sit takes a frame of a person who cannot move their head. Nothing is asked
// of them, but everybody blinks within the time, and a picture never does. All
// frames decide, so that nobody else can do the blinking.
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
	if len(c.ages) < c.demand().Frames || !c.evidence.Blinked() {
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
