package puppet

import (
	"math"
	"math/rand/v2"

	"agegate/internal/check/liveness"
)

// Actor is a person in front of the camera who is never quite still, reacts after
// a delay, and takes time to turn. Times are in seconds from any start and must
// not decrease.
type Actor struct {
	Home     Pose                          // pose when no prompt is shown
	Reply    func(liveness.Prompt) Gesture // the gesture that answers a prompt
	Reaction func() (wait, motion float64) // seconds until the movement begins, and that it lasts
	Zoom     float64                       // size of the frame relative to the one that Home refers to; 0 means 1
	random   *rand.Rand
	sway     [5]wave
	prompt   liveness.Prompt
	from     Gesture // the gesture at the start of the movement
	to       Gesture
	start    float64 // when the movement started
	lasts    float64
	blinks   float64 // when the current or next blink begins
	closed   float64 // length of the blink
}

// Gesture is a deviation from the resting pose, in degrees.
type Gesture struct{ Yaw, Pitch float64 }

type wave struct{ size, rate, phase float64 }

func (w wave) at(t float64) float64 { return w.size * math.Sin(2*math.Pi*(w.rate*t+w.phase)) }

// NewActor returns a person who follows the prompts; each actor does so slightly
// differently.
func NewActor(random *rand.Rand, home Pose) *Actor {
	a := &Actor{Home: home, random: random}
	a.Reply, a.Reaction = a.Obey, a.human
	for i := range a.sway {
		a.sway[i] = wave{0.5 + random.Float64(), 0.15 + 0.3*random.Float64(), random.Float64()}
	}
	return a
}

// Obey returns the gesture for a prompt.
func (a *Actor) Obey(p liveness.Prompt) Gesture {
	side, up := p.Direction()
	if side == 0 && up == 0 {
		return Gesture{}
	}
	some := 0.9 + 0.3*a.random.Float64()
	aside := 4 * (a.random.Float64() - 0.5) // nobody turns in an exactly straight line
	return Gesture{Yaw: 26*some*side - aside*up, Pitch: 20*some*up + aside*side}
}

// human returns a wait of a fifth to half a second, and a movement that takes
// about as long or a little longer.
func (a *Actor) human() (wait, motion float64) {
	return 0.2 + 0.3*a.random.Float64(), 0.35 + 0.35*a.random.Float64()
}

// See shows the person the page's prompt at time t.
func (a *Actor) See(p liveness.Prompt, t float64) {
	if p != a.prompt {
		a.Act(p, t)
	}
}

// Act makes the person react to the prompt at time t, even if they have already
// reacted to it.
func (a *Actor) Act(p liveness.Prompt, t float64) {
	a.prompt = p
	a.from = a.gesture(t)
	a.to = a.Reply(p)
	a.start, a.lasts = a.Reaction()
	a.start += t
}

// gesture returns the gesture at time t.
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

// Pose returns the pose of the head at time t.
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

// lids returns how far the eyes are shut: the person blinks every two to six
// seconds, for a fifth to a third of a second.
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
