package age_test

import (
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// upright gives a frame the format of a phone that is held upright. The face stays
// as far from the middle of the frame, in units of its shorter side.
func upright(o *vision.Observation) {
	o.Width, o.Height = 360, 640
	place := func(x, y float64) (float64, float64) { return 0.75*(x-320) + 180, 0.75*(y-240) + 320 }
	o.Face.X, o.Face.Y = place(o.Face.X, o.Face.Y)
	o.Face.Width *= 0.75
	for i, p := range o.Landmarks {
		o.Landmarks[i].X, o.Landmarks[i].Y = place(p.X, p.Y)
	}
}

// during reports whether the frame is one of those from first to last.
func during(n, first, last int) bool { return n >= first && n <= last }

// TestCameraMoves: what a camera does by itself, or with the hand that holds it,
// is no spoof, but nobody else can come in meanwhile. In frame 8 the head is on its
// way to the first target, in frame 10 near it.
func TestCameraMoves(t *testing.T) {
	always := 4000
	turned := func(first, last int) func(*person) {
		return func(p *person) {
			p.change = func(n int, o *vision.Observation) {
				if during(n, first, last) {
					upright(o)
				}
			}
		}
	}
	unrecognized := func(last int, because vision.Guidance) func(*person) {
		return func(p *person) {
			p.face = func(n int) int {
				if p.prompt != liveness.PromptHoldStill && during(n, 9, last) {
					return 1
				}
				return 0
			}
			p.change = func(n int, o *vision.Observation) {
				if p.prompt != liveness.PromptHoldStill && during(n, 9, last) {
					o.Guidance = because
				}
			}
		}
	}
	rows := []struct {
		name   string
		camera func(*person)
		face   func(n int) int // nil for the same always
		want   age.Verdict
	}{
		{"another format, at level", turned(5, always), nil, age.VerdictMet},
		{"another format, under way", turned(8, always), nil, age.VerdictMet},
		{"another format, at the target", turned(10, always), nil, age.VerdictMet},
		{"another format, and back", turned(8, 15), nil, age.VerdictMet},
		{"another format, and back, again and again", func(p *person) {
			p.change = func(n int, o *vision.Observation) {
				if n/5%2 == 1 {
					upright(o)
				}
			}
		}, nil, age.VerdictNoCapture},
		{"another format, another face in it", turned(8, always), func(n int) int {
			if n == 8 {
				return 1
			}
			return 0
		}, age.VerdictSpoof},
		{"another format, blurred at first", func(p *person) {
			p.change = func(n int, o *vision.Observation) {
				if n >= 8 {
					upright(o)
				}
				if n == 8 {
					o.Guidance = vision.GuidanceBlurred
				}
			}
		}, func(n int) int {
			if n == 8 {
				return 1
			}
			return 0
		}, age.VerdictMet},
		{"the picture leans", func(p *person) {
			p.change = func(n int, o *vision.Observation) {
				if during(n, 8, 12) {
					o.Pose = vision.Pose{Roll: 50, Yaw: -20}
				}
			}
		}, nil, age.VerdictMet},
		{"another lens", func(p *person) {
			p.change = func(n int, o *vision.Observation) {
				if n >= 6 {
					shift(o, 0, 1.45)
				}
			}
		}, nil, age.VerdictMet},
		{"a knock", func(p *person) {
			p.change = func(n int, o *vision.Observation) {
				if during(n, 6, 7) {
					shift(o, 0.8, 1)
				}
			}
		}, nil, age.VerdictMet},
		{"too bright for a while", unrecognized(30, vision.GuidanceTooBright), nil, age.VerdictMet},
		{"too bright, and never recognized", unrecognized(always, vision.GuidanceTooBright), nil, age.VerdictNoCapture},
		{"good light, and not recognized", unrecognized(30, vision.GuidanceOK), nil, age.VerdictSpoof},
	}
	for _, row := range rows {
		p := honest(plain, 40)
		row.camera(p)
		if row.face != nil {
			p.face = row.face
		}
		steps := p.play(t)
		if last := steps[len(steps)-1]; last.Verdict != row.want {
			t.Errorf("%s: %+v after %d frames, want %s", row.name, last, len(steps), row.want)
		}
	}
}

// TestTurnedPhoneRepeatsThePrompt: after a change of the format, the page shows the
// same prompt again, with its whole time.
func TestTurnedPhoneRepeatsThePrompt(t *testing.T) {
	p := honest(plain, 40)
	p.change = func(n int, o *vision.Observation) {
		if n >= 8 {
			upright(o)
		}
	}
	steps := p.play(t)
	before, after := steps[7], steps[8]
	if after.Prompt != before.Prompt || after.Hint != liveness.HintAgain || after.Remaining <= before.Remaining {
		t.Errorf("%+v, then %+v", before, after)
	}
}

// TestMovementsMissing: if frames miss one movement altogether or two, and show too little
// of the others, the attempt has no result. What was not seen is no proof of fraud.
func TestMovementsMissing(t *testing.T) {
	for missing := range 3 {
		p := honest(plain, 40)
		movements, prompt := 0, p.prompt
		p.change = func(n int, o *vision.Observation) {
			if p.prompt != prompt {
				movements, prompt = movements+1, p.prompt
			}
			if p.move = honest(plain).move; movements > 2 && movements <= 2+missing {
				p.move = 0
			}
			if p.underWay() {
				o.Guidance = vision.GuidanceCovered
			}
		}
		steps := p.play(t)
		if last := steps[len(steps)-1]; last.Verdict != age.VerdictNoCapture || last.Why != age.ReasonHasty {
			t.Errorf("%d movements missing: %+v", missing, last)
		}
	}
}
