package age

import (
	"context"
	"math"
	"time"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

const framingTime = 2 * time.Minute

// settledFrames is how many consecutive good frames with the head at rest end the
// framing. It is more than one, so that a face that only passes by does not use up an
// attempt.
const settledFrames = 3

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

// framing waits for a good face at rest, and starts the challenge from it.
type framing struct {
	setting
	poise
	memory  liveness.Memory
	until   time.Time // as Frame.Own
	settled int       // good frames in a row
	asked   int       // requests for better light
	askedAt time.Time // the last of them, as Frame.Own
}

func (f *framing) lapsed(s sight) bool { return s.Own.After(f.until) }

func (f *framing) see(ctx context.Context, s sight) (phase, Step, error) {
	guidance := s.Guidance
	switch {
	case s.Landmarks == nil:
		f.settled = 0
		return f, f.show(s, guidance), nil
	case f.memory.Add(s.JPEG, s.Observation) != liveness.Fresh:
		return f, f.show(s, guidance), nil
	}
	if guidance = f.judge(s); guidance != vision.GuidanceOK {
		f.settled = 0
		return f, f.show(s, guidance), nil
	}
	if f.settled++; f.settled < settledFrames || !s.Resolved() {
		return f, f.show(s, s.resolution()), nil
	}
	if s.Doubtful() && f.asked < lightRequests {
		f.asked++
		f.askedAt, f.settled = s.Own, 0
		return f, f.show(s, vision.GuidanceTooDark), nil
	}
	return f.start(ctx, s)
}

// judge returns what is wrong with the frame, or GuidanceOK.
func (f *framing) judge(s sight) vision.Guidance {
	guidance := f.steady(s.Observation)
	switch {
	case guidance != vision.GuidanceOK:
		return guidance
	case math.Abs(s.Pose.Yaw) > maxStartYaw:
		return vision.GuidanceTurnedAway
	case s.Pose.Pitch > maxStartUp:
		return vision.GuidanceChinRaised
	case s.Pose.Pitch < -maxStartDown:
		return vision.GuidanceChinLowered
	case f.asked > 0 && s.Own.Sub(f.askedAt) < lightTime:
		return vision.GuidanceTooDark
	}
	return vision.GuidanceOK
}

// start begins the attempt; its first frame counts.
func (f *framing) start(ctx context.Context, s sight) (phase, Step, error) {
	p := &person{setting: f.setting, poise: f.poise, demand: f.demand(),
		Watch: liveness.NewWatch(f.engine.analyzer, f.memory, s.Frame)}
	if err := p.collect(ctx, s.Observation); err != nil {
		return nil, Step{}, err
	}
	var next phase = &assisted{p, s.Own.Add(assistedTime), s.At.Add(assistedWall)}
	if !f.options.Assisted {
		next = &challenge{asked{p, liveness.NewChallenge(f.options.Rand, p.Watch, s.Frame)}}
	}
	step := next.show(s, vision.GuidanceOK)
	step.AttemptStarted = true
	return next, step, nil
}

func (f *framing) show(_ sight, g vision.Guidance) Step {
	step := Step{Guidance: g, Phase: PhaseFraming, Total: liveness.Steps, Full: f.settled >= settledFrames-1}
	if f.options.Assisted {
		step.Total, step.Full = f.demand().Frames+1, true
	}
	return step
}

func (f *framing) end(v Verdict) Step { return Step{Verdict: v, Total: f.show(sight{}, "").Total} }
