package puppet

import (
	"math"
	"math/rand/v2"

	"agegate/internal/check/liveness"
)

// Actor is a person before the camera: never quite still, slow to react, and
// turning in an arc of time. Times are in seconds from any beginning and must
// not go back.
type Actor struct {
	Home     Pose                          // how they sit when nothing is asked
	Reply    func(liveness.Prompt) Gesture // the gesture with which they answer a prompt
	Reaction func() (wait, motion float64) // seconds until they move, and that it takes
	Zoom     float64                       // size of the frame relative to the one that Home refers to; 0 means 1
	random   *rand.Rand
	sway     [5]wave
	prompt   liveness.Prompt
	from     Gesture // what they moved from
	to       Gesture
	start    float64 // of the movement
	lasts    float64
	blinks   float64 // when the present or next blink begins
	closed   float64 // for how long
}

// Gesture is a deviation from the resting pose, in degrees.
type Gesture struct{ Yaw, Pitch float64 }

type wave struct{ size, rate, phase float64 }

func (w wave) at(t float64) float64 { return w.size * math.Sin(2*math.Pi*(w.rate*t+w.phase)) }

// NewActor returns somebody who does what is asked, each a little differently.
func NewActor(random *rand.Rand, home Pose) *Actor {
	a := &Actor{Home: home, random: random}
	a.Reply, a.Reaction = a.Obey, a.human
	for i := range a.sway {
		a.sway[i] = wave{0.5 + random.Float64(), 0.15 + 0.3*random.Float64(), random.Float64()}
	}
	return a
}

// Obey makes the gesture that a prompt asks for.
func (a *Actor) Obey(p liveness.Prompt) Gesture {
	side, up := p.Direction()
	if side == 0 && up == 0 {
		return Gesture{}
	}
	some := 0.9 + 0.3*a.random.Float64()
	aside := 4 * (a.random.Float64() - 0.5) // nobody turns exactly straight
	return Gesture{Yaw: 26*some*side - aside*up, Pitch: 20*some*up + aside*side}
}

// human returns a wait of a fifth to half a second, and a movement of about
// that length or a little longer.
func (a *Actor) human() (wait, motion float64) {
	return 0.2 + 0.3*a.random.Float64(), 0.35 + 0.35*a.random.Float64()
}

// See shows the person at time t what the page asks for.
func (a *Actor) See(p liveness.Prompt, t float64) {
	if p != a.prompt {
		a.Act(p, t)
	}
}

// Act makes the person react to the prompt at time t, also if they have before.
func (a *Actor) Act(p liveness.Prompt, t float64) {
	a.prompt = p
	a.from = a.gesture(t)
	a.to = a.Reply(p)
	a.start, a.lasts = a.Reaction()
	a.start += t
}

// gesture at time t.
func (a *Actor) gesture(t float64) Gesture {
	s := 0.0
	if t > a.start {
		s = smooth((t - a.start) / max(a.lasts, 1e-3))
	}
	return Gesture{
		Yaw:   a.from.Yaw + s*(a.to.Yaw-a.from.Yaw),
		Pitch: a.from.Pitch + s*(a.to.Pitch-a.from.Pitch),
	}
}

// Pose is how the person holds the head at time t.
func (a *Actor) Pose(t float64) Pose {
	g, p := a.gesture(t), a.Home
	p.Yaw += g.Yaw + a.sway[0].at(t)
	p.Pitch += g.Pitch + a.sway[1].at(t)
	p.Roll += a.sway[2].at(t)
	p.X += p.Width / 60 * a.sway[3].at(t)
	p.Y += p.Width / 60 * a.sway[4].at(t)
	p.Shut = a.lids(t)
	if a.Zoom > 0 {
		p.X, p.Y, p.Width = a.Zoom*p.X, a.Zoom*p.Y, a.Zoom*p.Width
	}
	return p
}

// lids says how far the eyes are shut: a blink every two to six seconds, of a
// fifth to a third of a second.
func (a *Actor) lids(t float64) float64 {
	for t > a.blinks+a.closed {
		a.blinks = max(t, a.blinks) + 2 + 4*a.random.Float64()
		a.closed = 0.2 + 0.13*a.random.Float64()
	}
	if t < a.blinks {
		return 0
	}
	return smooth(3 * (0.5 - math.Abs((t-a.blinks)/a.closed-0.5)))
}
