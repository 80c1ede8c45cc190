package age_test

import (
	"context"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// slowly makes every frame wait for its turn, while the clock goes on.
func (p *person) slowly(wait time.Duration) *person {
	p.options.Turn = func(context.Context) (func(), error) {
		p.now = p.now.Add(wait)
		return func() {}, nil
	}
	return p
}

// TestAWaitForTheServerIsNotThePersons: a prompt lapses after twenty seconds of
// the person's own time, however long the server took for each frame. The same
// holds for the time limit before the challenge.
func TestAWaitForTheServerIsNotThePersons(t *testing.T) {
	stays := func(p *person) { p.act = func(liveness.Prompt) stance { return stance{} } }
	rows := []struct {
		name    string
		options age.Options
		edit    func(p *person)
		own     time.Duration // the person's own time until the attempt ends
	}{
		{"prompt", plain, stays, 20 * time.Second},
		{"framing", plain, func(p *person) {
			p.act = func(liveness.Prompt) stance { return stance{yaw: 20} }
			p.from = stance{yaw: 20}
		}, 2 * time.Minute},
	}
	for _, row := range rows {
		for _, wait := range []time.Duration{0, 3 * time.Second} {
			p := honest(row.options, 40).slowly(wait)
			row.edit(p)
			steps := p.play(t)
			last := steps[len(steps)-1]
			own := time.Duration(len(steps)) * p.gap
			if last.Verdict != age.VerdictNoCapture || own < row.own || own > row.own+2*time.Second {
				t.Errorf("%s, %s a frame: %q after %s of the person's time, want %s", row.name, wait, last.Verdict, own, row.own)
			}
		}
	}
}

// TestSittingEnds: a person who cannot move their head and is not seen to blink
// sits for 40 seconds, and at most 60 if the server is slow.
func TestSittingEnds(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{0: 40 * time.Second, 3 * time.Second: 60 * time.Second} {
		p := honest(still, 40).slowly(wait)
		p.blinks = false
		began := p.now
		steps := p.play(t)
		took, last := p.now.Sub(began), steps[len(steps)-1]
		if last.Verdict != age.VerdictNoCapture || took < want || took > want+10*wait+2*time.Second {
			t.Errorf("%s a frame: %q after %s, want %s", wait, last.Verdict, took, want)
		}
	}
}

// TestMovementMissedByTheServer: a movement that was not seen because frames
// waited at the server is reported as unserved. If the camera was slow, it is
// not.
func TestMovementMissedByTheServer(t *testing.T) {
	for _, row := range []struct {
		gap, wait time.Duration
		unserved  bool
	}{
		{150 * time.Millisecond, time.Second, true},
		{1100 * time.Millisecond, 50 * time.Millisecond, false},
	} {
		p := honest(plain, 40).slowly(row.wait)
		p.gap = row.gap
		steps := p.play(t)
		last := steps[len(steps)-1]
		if last.Verdict != age.VerdictNoCapture || (last.Why == age.ReasonUnserved) != row.unserved {
			t.Errorf("a frame every %s, each looked at for %s: %q, %q; want no capture, %v", row.gap, row.wait,
				last.Verdict, last.Why, row.unserved)
		}
	}
}

// TestFramesAreTimedByTheirArrival: a frame that waited before the models looked
// at it still counts as taken when it arrived.
func TestFramesAreTimedByTheirArrival(t *testing.T) {
	p := honest(plain, 40)
	p.options.Now = func() time.Time { return p.now }
	c := age.NewEngine(p, age.ExpectedValue{}, nil).NewCapture(p.options)
	arrived := p.now
	for seq := range uint32(5) {
		step, err := c.Add(t.Context(), age.Frame{Nonce: c.Nonce(), Seq: seq, JPEG: p.frame(int(seq)), Received: arrived})
		if err != nil {
			t.Fatal(err)
		}
		if step.Verdict != "" || step.Phase == age.PhaseChallenge && step.Remaining > 20*time.Second {
			t.Errorf("frame %d: %q, %s remain", seq, step.Verdict, step.Remaining)
		}
		p.now, arrived = p.now.Add(time.Minute), arrived.Add(p.gap)
	}
}

// TestMovementsUnseenAtFirst: if too few frames showed the head moving, up to two
// further movements are asked for before the attempt ends without a result. Frames
// have the full size only where they may count.
func TestMovementsUnseenAtFirst(t *testing.T) {
	for _, row := range []struct {
		covered int // movements whose frames do not show the face
		total   int
		want    age.Verdict
	}{
		{0, 4, age.VerdictMet},
		{4, 5, age.VerdictMet},
		{9, 6, age.VerdictNoCapture},
	} {
		p := honest(plain, 40)
		movements, prompt := 0, p.prompt
		p.change = func(_ int, o *vision.Observation) {
			if p.prompt != prompt {
				movements, prompt = movements+1, p.prompt
			}
			if p.underWay() && movements <= row.covered {
				o.Guidance = vision.GuidanceCovered
			}
			if !p.full {
				o.Width, o.Height, o.Face.X, o.Face.Y, o.Face.Width = o.Width/3, o.Height/3, o.Face.X/3, o.Face.Y/3, o.Face.Width/3
				for i, at := range o.Landmarks {
					o.Landmarks[i] = vision.Point{X: at.X / 3, Y: at.Y / 3}
				}
			}
		}
		steps := p.play(t)
		if last := steps[len(steps)-1]; last.Verdict != row.want || last.Total != row.total || last.Done != row.total {
			t.Errorf("%d movements covered: %+v, want %s after %d", row.covered, last, row.want, row.total)
		}
	}
}

// TestSlowestPerson: somebody who uses all the time of every prompt, with every
// extension and further movement, passes.
func TestSlowestPerson(t *testing.T) {
	p := honest(plain, 40)
	began, movements, prompt := p.now, 0, p.prompt
	p.moreTime, p.react = true, 218*time.Second
	p.change = func(_ int, o *vision.Observation) {
		if p.prompt != prompt {
			movements, prompt = movements+1, p.prompt
		}
		switch {
		case movements == 0 && p.now.Sub(began) < 118*time.Second:
			o.Guidance = vision.GuidanceTooDark
		case movements > 1:
			p.react = 18500 * time.Millisecond
		}
		if p.underWay() && movements < 8 {
			o.Guidance = vision.GuidanceCovered
		}
	}
	steps := p.play(t)
	last, took := steps[len(steps)-1], p.now.Sub(began)
	if last.Verdict != age.VerdictMet || last.Total != 6 || took < 8*time.Minute || took > age.MaxTime {
		t.Errorf("%s after %v, with %d movements", last.Verdict, took, last.Total)
	}
}
