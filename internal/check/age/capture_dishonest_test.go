package age_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// TestReasons: a capture without a result says what the head did, if it was in view.
func TestReasons(t *testing.T) {
	moves := func(part float64) func(*person) {
		return func(p *person) {
			p.act = func(a liveness.Prompt) stance { return stance{part * obey(a).yaw, part * obey(a).pitch} }
		}
	}
	for name, row := range map[string]struct {
		change func(*person)
		want   age.Reason
	}{
		"the opposite":            {moves(-1), age.ReasonAstray},
		"nothing":                 {moves(0), age.ReasonUnmoved},
		"half of it":              {moves(0.5), age.ReasonUnmoved},
		"what is asked for":       {moves(1), ""},
		"too fast to be seen":     {func(p *person) { p.move = 0 }, age.ReasonHasty},
		"out of view for a while": {leaves, ""},
	} {
		p := honest(plain, 40)
		row.change(p)
		steps := p.play(t)
		if last := steps[len(steps)-1]; last.Verdict == "" || last.Verdict == age.VerdictSpoof || last.Why != row.want {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

// leaves goes out of the picture soon after the first prompt.
func leaves(p *person) {
	p.change = func(n int, o *vision.Observation) {
		if n > 6 {
			*o = vision.Observation{Guidance: vision.GuidanceNoFace}
		}
	}
}

// TestATremblingHeadIsAtRest: a head that swings by five degrees to each side, four times
// a second, begins within a second and passes.
func TestATremblingHeadIsAtRest(t *testing.T) {
	p := honest(still, 40)
	p.change = func(n int, o *vision.Observation) { o.Pose.Yaw += 5 * math.Sin(2*math.Pi*4*0.15*float64(n)) }
	steps := p.play(t)
	begun := slices.IndexFunc(steps, func(s age.Step) bool { return s.AttemptStarted })
	if last := steps[len(steps)-1]; last.Verdict != age.VerdictMet || begun > 6 {
		t.Errorf("begun at frame %d of %d: %+v", begun, len(steps), last)
	}
}

// TestDishonest breaks each rule of the challenge on its own.
func TestDishonest(t *testing.T) {
	rows := []struct {
		name   string
		change func(*person)
		want   age.Verdict
	}{
		{"the opposite, always", func(p *person) {
			p.act = func(a liveness.Prompt) stance { return stance{}.toward(obey(a), -1) }
		}, age.VerdictNoCapture},
		{"another direction, always", func(p *person) {
			p.act = func(a liveness.Prompt) stance { return stance{obey(a).pitch, obey(a).yaw} }
		}, age.VerdictNoCapture},
		{"nothing", func(p *person) { p.act = func(liveness.Prompt) stance { return stance{} } }, age.VerdictNoCapture},
		{"too little", func(p *person) {
			p.act = func(a liveness.Prompt) stance { return stance{}.toward(obey(a), 0.6) }
		}, age.VerdictNoCapture},
		{"never back to level", func(p *person) {
			p.act = func(a liveness.Prompt) stance {
				if a == liveness.PromptHoldStill {
					return obey(liveness.PromptLeft)
				}
				return obey(a)
			}
		}, age.VerdictNoCapture},
		{"before anybody could", func(p *person) { p.react, p.move = 0, 100*time.Millisecond }, age.VerdictSpoof},
		{"pictures in turn", func(p *person) { p.move = 0 }, age.VerdictNoCapture},
		{"a long way, which brought the frames so close together",
			func(p *person) { p.move, p.trip = 0, 400*time.Millisecond }, age.VerdictNoCapture},
		{"a slow network, on which turns look like that", func(p *person) { p.gap, p.move = 500*time.Millisecond, 0 },
			age.VerdictNoCapture},
		{"pictures in turn, but for the first action", func(p *person) {
			p.change = func(n int, _ *vision.Observation) {
				if n > 9 {
					p.move = 0
				}
			}
		}, age.VerdictNoCapture},
		{"another head on the way", func(p *person) {
			p.face = func(int) int {
				if p.underWay() {
					return 1
				}
				return 0
			}
		}, age.VerdictSpoof},
		{"another head on the way, blurred", func(p *person) {
			p.face = func(int) int {
				if p.underWay() {
					return 1
				}
				return 0
			}
			p.change = p.blurUnderWay
		}, age.VerdictNoCapture},
		{"a print that turns", func(p *person) { p.flat = true }, age.VerdictSpoof},
		{"another face when turned", func(p *person) {
			p.face = func(int) int {
				if p.prompt != liveness.PromptHoldStill && p.prompt != "" {
					return 1
				}
				return 0
			}
		}, age.VerdictSpoof},
		{"another face when level", func(p *person) {
			p.face = func(int) int {
				if p.prompt == liveness.PromptHoldStill {
					return 1
				}
				return 0
			}
		}, age.VerdictSpoof},
		{"printed", func(p *person) { p.change = func(_ int, o *vision.Observation) { o.Real = 0.1 } }, age.VerdictSpoof},
		{"recorded", func(p *person) { p.change = func(_ int, o *vision.Observation) { o.Live = 0.05 } }, age.VerdictSpoof},
		{"somebody else steps in", func(p *person) {
			p.change = func(n int, o *vision.Observation) {
				if n >= 6 {
					shift(o, 1, 1)
				}
			}
		}, age.VerdictSpoof},
		{"a sudden zoom", func(p *person) {
			p.change = func(n int, o *vision.Observation) {
				if n >= 6 {
					shift(o, 0, 1.6)
				}
			}
		}, age.VerdictSpoof},
		{"frames again", func(p *person) {
			p.frame = func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n%12)) }
		}, age.VerdictSpoof},
		{"nearly the same pictures again", func(p *person) {
			p.change = func(n int, o *vision.Observation) {
				o.Grain = new(vision.Grain)
				for i := range o.Grain {
					o.Grain[i] = uint8(i * (n%9 + 1))
				}
				o.Grain[n] ^= 1
			}
		}, age.VerdictSpoof},
		{"a frozen camera", func(p *person) {
			p.frame = func(n int) []byte { return []byte{byte(min(n, 5))} }
		}, age.VerdictNoCapture},
		{"nobody comes", func(p *person) {
			p.change = func(_ int, o *vision.Observation) { *o = vision.Observation{Guidance: vision.GuidanceNoFace} }
		}, age.VerdictNoCapture},
		{"leaves in the middle", leaves, age.VerdictNoCapture},
	}
	for _, row := range rows {
		p := honest(plain, 40)
		row.change(p)
		steps := p.play(t)
		if last := steps[len(steps)-1]; last.Verdict != row.want || last.Age != 0 {
			t.Errorf("%s: %+v after %d frames, want %s", row.name, last, len(steps), row.want)
		}
	}
}

// TestAssisted: without head turns, the passive scores must be better and the
// eyes must blink.
func TestAssisted(t *testing.T) {
	free := plain
	rows := []struct {
		name    string
		options age.Options
		change  func(*person)
		want    age.Verdict
	}{
		{"weak score, head free", free, func(p *person) { p.change = weak }, age.VerdictMet},
		{"weak score", still, func(p *person) { p.change = weak }, age.VerdictSpoof},
		{"another face, once enough frames decide", still, func(p *person) {
			p.blinks = false
			p.face = func(n int) int { return n / 20 % 2 }
			p.change = func(n int, o *vision.Observation) { o.Eyes = eyes(n/20%2 == 1) }
		}, age.VerdictSpoof},
		{"a finger before the eyes", still, func(p *person) { p.shut = 0.67 }, age.VerdictSpoof},
		{"no blink", still, func(p *person) { p.blinks = false }, age.VerdictNoCapture},
		{"a screen", still, func(p *person) {
			p.change = func(_ int, o *vision.Observation) { o.Raster = 3 }
		}, age.VerdictSpoof},
		{"moves all the time", still, func(p *person) {
			p.change = func(n int, o *vision.Observation) { shift(o, float64(n%2)*0.55, 1) }
		}, age.VerdictNoCapture},
	}
	for _, row := range rows {
		p := honest(row.options, 40)
		row.change(p)
		steps := p.play(t)
		if last := steps[len(steps)-1]; last.Verdict != row.want {
			t.Errorf("%s: %+v, want %s", row.name, last, row.want)
		}
	}
}

func weak(_ int, o *vision.Observation) { o.Live = 0.12 }
