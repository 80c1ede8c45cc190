package liveness

import "math"

// Prompt asks the person for an action during the challenge. "" stands for
// none.
type Prompt string

// The prompts. Left and right are the person's own.
const (
	PromptHoldStill Prompt = "hold_still" // look into the camera and wait
	PromptLeft      Prompt = "turn_left"
	PromptUpLeft    Prompt = "up_left"
	PromptUp        Prompt = "look_up"
	PromptUpRight   Prompt = "up_right"
	PromptRight     Prompt = "turn_right"
	PromptDown      Prompt = "look_down"
)

// Actions are the prompts that a challenge draws from: directions in which the nose
// should point. The two directions between down and a side are left out, because people
// find them hard. TestOdds shows that this does not help attacks. With only left,
// right, up and down it would.
var Actions = []Prompt{PromptLeft, PromptUpLeft, PromptUp, PromptUpRight, PromptRight, PromptDown}

// angles are the directions of the prompts, in degrees: 0 is the person's left,
// 90 is up.
var angles = map[Prompt]float64{
	PromptLeft: 0, PromptUpLeft: 45, PromptUp: 90, PromptUpRight: 135, PromptRight: 180, PromptDown: 270,
}

// Direction returns where the nose points when the prompt p is fulfilled, as a
// vector of length 1: side is the part towards the person's left, up the part
// upwards. Both are 0 for a prompt that requires no movement.
func (p Prompt) Direction() (side, up float64) {
	degrees, ok := angles[p]
	if !ok {
		return 0, 0
	}
	up, side = math.Sincos(degrees * math.Pi / 180)
	return side, up
}

// Hint is advice shown to the person with the prompt. "" stands for none.
type Hint string

// The hints.
const (
	HintOtherWay Hint = "other_way" // the head went another way than prompted
	HintAgain    Hint = "again"     // the time was over, the prompt was nearly fulfilled, or a movement was not seen
)

// Limits for directions of the head.
const (
	turned  = 15.0 // degrees of yaw that fulfil a prompt: depth becomes visible, and the person can still read the screen
	raised  = 11.0 // degrees of pitch
	level   = 7.0  // degrees of yaw and pitch from the neutral pose within which a head is level
	clearly = 1.1  // factor on these amounts from which a wrong direction counts as intended
	leaning = 20.0 // degrees of roll from the neutral pose; looking up to a side gives up to 12
	hit     = 30.0 // a direction within this many degrees of the prompt's fulfils it
	gone    = 70.0 // degrees from the place where the head was when the prompt appeared, at which it has left that place
	// degrees from the prompt's direction at which a direction counts as another one; nothing is
	// decided between hit and astray.
	astray = 50.0
)

// aim is where the nose points, relative to the neutral pose. An aim of length 1
// in the direction of a prompt fulfils it.
type aim struct {
	side float64 // yaw over turned; positive is the person's left
	up   float64 // pitch over raised
}

// aims are the aims of the prompts, of length 1.
var aims = func() map[Prompt]aim {
	all := map[Prompt]aim{}
	for _, p := range Actions {
		side, up := p.Direction()
		all[p] = aim{side, up}
	}
	return all
}()

func (a aim) scaled(k float64) aim   { return aim{k * a.side, k * a.up} }
func (a aim) length() float64        { return math.Hypot(a.side, a.up) }
func (a aim) along(b aim) float64    { return a.side*b.side + a.up*b.up } // b has length 1
func (a aim) distance(b aim) float64 { return math.Hypot(a.side-b.side, a.up-b.up) }

// isNear reports whether the head is near level, that is, not at any target.
func (a aim) isNear() bool { return a.length() < 0.6 }

// angle is the angle between two directions in degrees, 0 to 180.
func (a aim) angle(b aim) float64 {
	cross, dot := a.side*b.up-a.up*b.side, a.side*b.side+a.up*b.up
	return math.Abs(math.Atan2(cross, dot)) * 180 / math.Pi
}

// isLevel reports whether the head is level.
func (a aim) isLevel() bool {
	return math.Abs(a.side)*turned < level && math.Abs(a.up)*raised < level
}

// confused reports whether a person may have confused left and right, or the
// prompt and its opposite.
func (a aim) confused(prompt Prompt) bool {
	asked := aims[prompt]
	return a.angle(aim{side: -asked.side, up: -asked.up}) <= hit ||
		math.Abs(asked.side) > 0.5 && a.angle(aim{side: -asked.side, up: asked.up}) <= hit
}
