package age

import (
	"context"
	"math"
	"time"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// tooSlow is how long the server may take for one frame. If it takes longer, it may
// miss a movement of the head.
const tooSlow = 300 * time.Millisecond

// person is the person of a capture, from the first frame that counts.
type person struct {
	setting
	poise
	*liveness.Watch
	demand liveness.Demand
	needs  int                // how many frames must count
	ages   []float64          // in years, of the frames that count
	apart  []float64          // years between the two age models, of the same frames
	faces  []*vision.Features // of the same frames
}

// count takes a frame of a level head, and reports whether it is good. A good frame
// counts while fewer than limit frames do; only then it must have the full size.
func (p *person) count(ctx context.Context, s sight, limit int) (g vision.Guidance, good bool, err error) {
	switch guidance := p.steady(s.Observation); {
	case guidance != vision.GuidanceOK:
		return guidance, false, nil
	case len(p.ages) >= limit:
		return guidance, true, nil
	case !s.Resolved():
		return s.resolution(), false, nil
	}
	err = p.collect(ctx, s.Observation)
	return vision.GuidanceOK, err == nil, err
}

// collect adds a frame and its age to those that count. More must count if the two age
// models disagree about these frames.
func (p *person) collect(ctx context.Context, o *vision.Observation) error {
	f, err := p.Collect(ctx, o)
	if err != nil {
		return err
	}
	estimate := p.engine.head.Estimate(f)
	p.ages = append(p.ages, estimate.Years)
	p.apart = append(p.apart, estimate.Apart)
	p.faces = append(p.faces, f)
	p.needs = p.demand.Frames
	if liveness.Median(p.apart) > maxApart {
		p.needs += furtherFrames
	}
	return nil
}

// unseen reports whether too few frames showed the head moving.
func (p *person) unseen() bool { return p.Glimpses < p.demand.Glimpses }

// conclude completes the last step. It compares the median estimate with the cutoff,
// after it has checked that the face looks live and was always the same. What was not
// seen is no proof of fraud: the verdict is VerdictNoCapture if too few frames showed the
// head moving, or if the face looks drawn. The server was too slow to see it only if at
// most one movement took place between two frames that came fast (cuts).
func (p *person) conclude(last Step, cuts int, slowest time.Duration) Step {
	switch {
	case !p.IsLive(p.demand):
		last.Verdict = VerdictSpoof
	case p.unseen() && cuts <= 1 && slowest > tooSlow:
		last.Verdict, last.Why = VerdictNoCapture, ReasonUnserved
	case p.unseen():
		last.Verdict, last.Why = VerdictNoCapture, ReasonHasty
	case !p.engine.gate.Passes(p.faces): // no strike: the gate may be wrong about a person
		last.Verdict, last.Why = VerdictNoCapture, ReasonDrawn
	default:
		// The rounded value decides, so that what is shown and stored never contradicts the
		// verdict.
		last.Age = math.Round(liveness.Median(p.ages)*10) / 10
		last.Cutoff, last.Faces = float64(p.options.TargetAge)+p.options.Margin, p.faces
		last.Verdict = VerdictBelow
		if last.Age >= last.Cutoff {
			last.Verdict = VerdictMet
		}
	}
	return last
}

// atRest is how far a head at rest may turn from the last good frame or from the mean of
// the latest ones, in degrees. A trembling head is at rest by that mean.
const atRest = 6.0

// maxDrift is how far the face may move between two good frames, over its
// width, before the person is asked to hold still.
const maxDrift = 0.35

// poise is how still a person holds their head.
type poise struct {
	good       *vision.Observation // the last good frame
	yaw, pitch float64             // mean of the latest ones, in degrees; a new one weighs a third
}

// steady returns the frame's guidance, or GuidanceHoldStill if the face moved too
// far since the last good frame.
func (p *poise) steady(o *vision.Observation) vision.Guidance {
	if o.Guidance != vision.GuidanceOK {
		return o.Guidance
	}
	last := p.good
	p.good = o
	if last == nil {
		p.yaw, p.pitch = o.Pose.Yaw, o.Pose.Pitch
		return vision.GuidanceOK
	}
	turn := min(math.Hypot(o.Pose.Yaw-last.Pose.Yaw, o.Pose.Pitch-last.Pose.Pitch),
		math.Hypot(o.Pose.Yaw-p.yaw, o.Pose.Pitch-p.pitch))
	p.yaw += (o.Pose.Yaw - p.yaw) / 3
	p.pitch += (o.Pose.Pitch - p.pitch) / 3
	x, y, _ := o.Place()
	lastX, lastY, width := last.Place()
	if math.Hypot(x-lastX, y-lastY) > maxDrift*width || turn > atRest {
		return vision.GuidanceHoldStill
	}
	return vision.GuidanceOK
}
