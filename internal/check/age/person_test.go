package age_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/check/liveness"
	"agegate/internal/check/photographic"
	"agegate/internal/check/vision"
)

// person is an analyzer that shows a person who does what the capture asks for,
// one frame every gap, and an age model that returns their age. Its fields are
// the ways in which a clip can be dishonest.
type person struct {
	options  age.Options
	gap      time.Duration // between frames
	trip     time.Duration // round trip of the connection
	react    time.Duration // from a prompt to the first movement
	move     time.Duration // from level to the whole action
	flat     bool          // a picture instead of a head
	blinks   bool
	moreTime bool    // asks for more time whenever it is offered
	shut     float64 // how much the face with shut eyes resembles itself, 0 to 1
	years    []int   // estimates for the frames that count, in order; the last one repeats
	act      func(p liveness.Prompt) stance
	change   func(n int, o *vision.Observation) // a final change to frame n
	face     func(n int) int                    // whose face frame n shows
	frame    func(n int) []byte                 // the bytes of frame n
	head     age.Head                           // ExpectedValue if nil
	gate     *photographic.Gate                 // nil for none

	now    time.Time
	shown  int
	prompt liveness.Prompt
	full   bool      // the page was asked for frames of the full size
	since  time.Time // of the prompt
	from   stance
	asked  int                             // frames whose age was computed
	named  int                             // frames in which the person was recognized
	seen   map[*vision.Observation]glimpse // the frames for which Features may be called
}

// glimpse is the content of one frame.
type glimpse struct {
	face  int
	alike float64 // likeness to the original face, 0 to 1
}

// stance is how a head is held, in degrees.
type stance struct{ yaw, pitch float64 }

func (s stance) toward(t stance, part float64) stance {
	part = min(max(part, 0), 1)
	return stance{s.yaw + part*(t.yaw-s.yaw), s.pitch + part*(t.pitch-s.pitch)}
}

func obey(p liveness.Prompt) stance {
	return map[liveness.Prompt]stance{
		liveness.PromptLeft: {yaw: 20}, liveness.PromptRight: {yaw: -20},
		liveness.PromptUp: {pitch: 16}, liveness.PromptDown: {pitch: -16},
		liveness.PromptUpLeft: {15, 11}, liveness.PromptUpRight: {-15, 11},
	}[p]
}

func honest(options age.Options, years ...int) *person {
	return &person{
		options: options, years: years, act: obey, blinks: true, shut: 0.75,
		gap: 150 * time.Millisecond, react: 300 * time.Millisecond, move: 450 * time.Millisecond,
		face: func(int) int { return 0 }, change: func(int, *vision.Observation) {},
		frame: func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) },
		now:   time.Unix(1767225600, 0),
		seen:  map[*vision.Observation]glimpse{},
	}
}

func (p *person) stance() stance {
	moved := p.now.Sub(p.since) - p.react
	return p.from.toward(p.act(p.prompt), float64(moved)/float64(max(p.move, 1)))
}

// underWay reports whether the head is between level and the pose where an action
// counts.
func (p *person) underWay() bool {
	aside := math.Hypot(p.stance().yaw/20, p.stance().pitch/16)
	return aside > 0.15 && aside < 0.7
}

// blurUnderWay blurs the frames of a moving head.
func (p *person) blurUnderWay(_ int, o *vision.Observation) {
	if p.underWay() {
		o.Guidance = vision.GuidanceBlurred
	}
}

// shift moves the face sideways, in face widths, and enlarges it.
func shift(o *vision.Observation, aside, larger float64) {
	x := o.Face.X + aside*o.Face.Width
	for i, p := range o.Landmarks {
		o.Landmarks[i] = vision.Point{X: x + larger*(p.X-o.Face.X), Y: o.Face.Y + larger*(p.Y-o.Face.Y)}
	}
	o.Face.X, o.Face.Width = x, larger*o.Face.Width
}

func (p *person) see(prompt liveness.Prompt) {
	if prompt != p.prompt {
		p.from, p.prompt, p.since = p.stance(), prompt, p.now
	}
}

// Analyze does for the first frame what Follow does for later ones.
func (p *person) Analyze(ctx context.Context, jpeg []byte) (*vision.Observation, error) {
	return p.Follow(ctx, jpeg, nil)
}

// Score leaves the scores that the frame was made with.
func (p *person) Score(context.Context, *vision.Observation) error { return nil }

// Follow shows the next frame: an egg-shaped head of 60 points, or a print
// of one, in parallel projection.
func (p *person) Follow(context.Context, []byte, *vision.Observation) (*vision.Observation, error) {
	s := p.stance()
	n := p.shown
	p.shown++
	o := &vision.Observation{
		Guidance: vision.GuidanceOK, Width: 640, Height: 480, Real: 0.9, Live: 0.9,
		Face: vision.Face{Score: 0.9, X: 320, Y: 240, Width: 160}, Pose: vision.Pose{Yaw: s.yaw, Pitch: s.pitch},
	}
	o.Scale, o.Colour, o.Sharpness = o.Face.Width/480, 30, 0.1
	if math.Hypot(s.yaw, s.pitch) > 25 {
		o.Guidance = vision.GuidanceTurnedAway
	}
	sinYaw, cosYaw := math.Sincos(s.yaw * math.Pi / 180)
	sinPitch, cosPitch := math.Sincos(s.pitch * math.Pi / 180)
	for i := range 60 {
		x, y := math.Sin(float64(i)), math.Cos(float64(3*i))
		z := -math.Sqrt(max(0, 2-x*x-y*y))
		if p.flat {
			z = 0
		}
		x, z = x*cosYaw-z*sinYaw, x*sinYaw+z*cosYaw
		y = y*cosPitch + z*sinPitch
		o.Landmarks = append(o.Landmarks, vision.Point{X: o.Face.X + x*o.Face.Width/2, Y: o.Face.Y + y*o.Face.Width/2})
	}
	shown := glimpse{face: p.face(n), alike: 1}
	if o.Eyes = eyes(false); n%15 == 14 && p.blinks {
		o.Eyes, shown.alike = eyes(true), p.shut
	}
	p.change(n, o)
	p.seen[o] = shown
	return o, nil
}

func (p *person) Features(ctx context.Context, o *vision.Observation) (*vision.Features, error) {
	f, err := p.Describe(ctx, o)
	f.Whole.Distribution[p.years[min(p.asked, len(p.years)-1)]] = 1
	p.asked++
	return f, err
}

func (p *person) Describe(_ context.Context, o *vision.Observation) (*vision.Features, error) {
	f, shown := new(vision.Features), p.seen[o]
	p.named++
	f.Whole.Descriptor[shown.face] = float32(shown.alike)
	f.Whole.Descriptor[inference.DescriptorSize-1] = float32(math.Sqrt(1 - shown.alike*shown.alike))
	return f, nil
}

func (p *person) Views(ctx context.Context, o *vision.Observation) (*vision.Features, error) {
	return p.Features(ctx, o)
}

// tester has the methods that testing and rapid have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

// play runs a capture to its verdict and returns every step.
func (p *person) play(t tester) []age.Step {
	t.Helper()
	p.options.Now = func() time.Time { return p.now }
	if p.options.Rand == nil {
		p.options.Rand = bytes.NewReader(make([]byte, 1024))
	}
	if p.head == nil {
		p.head = age.ExpectedValue{}
	}
	c := age.NewEngine(p, p.head, nil).Refusing(p.gate).NewCapture(p.options)
	var steps []age.Step
	for seq := range uint32(4000) {
		step, err := c.Add(t.Context(), age.Frame{Nonce: c.Nonce(), Seq: seq, JPEG: p.frame(int(seq)), Trip: p.trip})
		if err != nil {
			t.Fatal(err)
		}
		if steps = append(steps, step); step.Verdict != "" {
			return steps
		}
		p.see(step.Prompt)
		p.full = step.Full
		if p.moreTime && step.Extensible && step.Remaining < 10*time.Second && !c.MoreTime() {
			t.Fatal("more time was offered and refused")
		}
		p.now = p.now.Add(p.gap)
	}
	t.Fatal("no verdict")
	return nil
}

// eyes returns open eyes, with a dark spot in the middle, or shut ones, with a
// dark line.
func eyes(shut bool) *vision.Eyes {
	e := new(vision.Eyes)
	for i := range e[0] {
		x, y := i%20, i/20
		if shut && y > 9 || !shut && x > 6 && x < 13 {
			e[0][i], e[1][i] = 100, 100
		}
	}
	return e
}
