// Package liveness tells whether the person before the camera is there and
// alive: the challenge of prompted movements, what a solid head's landmarks do
// on the way, blinks, and frames that no camera takes.
package liveness

import (
	"crypto/rand"
	"io"
	"math"
	"math/big"
	"time"

	"agegate/internal/vision"
)

// Prompt asks the person for an action during the challenge; none is "".
type Prompt string

// The prompts. Left and right are the person's own.
const (
	PromptHoldStill  Prompt = "hold_still" // look into the camera and wait
	PromptTurnLeft   Prompt = "turn_left"
	PromptTurnRight  Prompt = "turn_right"
	PromptLookUp     Prompt = "look_up"
	PromptComeCloser Prompt = "come_closer"
)

// Actions are the prompts a challenge is drawn from.
var Actions = []Prompt{PromptTurnLeft, PromptTurnRight, PromptLookUp, PromptComeCloser}

// Sequences are all challenges: three actions, none twice in a row, at least
// one of them a turn, which shows best that a face is not flat, and nobody has
// to come closer twice. There are 32.
var Sequences = orders()

func orders() (all [][]Prompt) {
	for _, a := range Actions {
		for _, b := range Actions {
			for _, c := range Actions {
				closer := a == PromptComeCloser && c == PromptComeCloser
				turn := isTurn(a) || isTurn(b) || isTurn(c)
				if a != b && b != c && turn && !closer {
					all = append(all, []Prompt{a, b, c})
				}
			}
		}
	}
	return all
}

func isTurn(p Prompt) bool { return p == PromptTurnLeft || p == PromptTurnRight }

// below is a number from 0 to n-1, each as likely as the others.
func below(random io.Reader, n int) int {
	i, err := rand.Int(random, big.NewInt(int64(n)))
	if err != nil {
		panic("liveness: no randomness for a challenge: " + err.Error())
	}
	return int(i.Int64())
}

// Times of the challenge, by the server's clock. A frame arrives later than it
// was taken, so an action seen too early was certainly made too early.
const (
	promptTime  = 6 * time.Second        // from prompt to action
	minReaction = 150 * time.Millisecond // nobody begins to move earlier after seeing a prompt
	minMotion   = 150 * time.Millisecond // nor completes an action sooner after beginning it
)

// How many frames in a row it takes to believe a movement, either way.
const (
	heldFrames  = 2
	levelFrames = 2
)

// movement is how far a head is from where it was when it was level.
type movement struct {
	yaw, pitch float64 // degrees, as in vision.Pose
	closer     float64 // face width over the width then
}

// amount is how much of the action the movement is; 1 fulfils the prompt.
func (m movement) amount(p Prompt) float64 {
	switch p {
	case PromptTurnLeft:
		return m.yaw / turned
	case PromptTurnRight:
		return -m.yaw / turned
	case PromptLookUp:
		return m.pitch / raised
	case PromptComeCloser:
		return (m.closer - 1) / (approached - 1)
	}
	return 0
}

// Limits of the movements.
const (
	turned     = 15.0 // degrees of yaw: far enough for depth to show, near enough to keep looking at the screen
	raised     = 11.0 // degrees of pitch
	approached = 1.22 // times the face's width
	level      = 7.0  // degrees from the neutral pose within which a head is level
	clearly    = 1.3  // times these amounts, an action that was not asked for is meant
)

func (m movement) level() bool {
	return math.Abs(m.yaw) < level && math.Abs(m.pitch) < level
}

// wrong reports whether another action than the prompted one was clearly made.
func (m movement) wrong(prompt Prompt) bool {
	for _, p := range Actions {
		if p != prompt && m.amount(p) >= clearly && m.amount(p) > m.amount(prompt) {
			return true
		}
	}
	return false
}

// Challenge asks for one action after another and judges them.
type Challenge struct {
	sequence []Prompt
	pauses   []int // level frames before the next prompt, by actions done
	done     int
	neutral  vision.Pose         // of the level head
	width    float64             // scale of the face when the prompt was shown
	rested   *vision.Observation // the latest level frame
	shown    time.Time           // when the present prompt was; zero while the head returns to level
	waiting  time.Time           // since when a prompt, or a return to level, has been waited for
	held     int                 // frames in a row that fulfil the prompt, or are level when that is awaited
	strayed  int                 // frames in a row that show another action
	way      way                 // to the action, or back
	glimpse  *vision.Observation // of the head under way, when the frame ended a way on which it was seen
	cut      bool                // a way was missing, though frames came fast enough to show it
}

// Outcome of one frame for the challenge.
type Outcome int

// What a frame can mean to the challenge.
const (
	GoesOn  Outcome = iota
	AtLevel         // the head is level: the frame may decide
	Acted           // the frame completes an action
	Missed          // the prompt's time is over
	Failed          // no live person does this
)

// NewChallenge draws one of the Sequences, each as likely as the others, and
// before each action how many frames the head has to be level, so that a
// recording meets neither the order nor the time. It panics when random gives
// no bytes.
func NewChallenge(random io.Reader) *Challenge {
	c := &Challenge{sequence: Sequences[below(random, len(Sequences))]}
	for range c.sequence {
		c.pauses = append(c.pauses, levelFrames+below(random, 3))
	}
	c.pauses = append(c.pauses, levelFrames)
	return c
}

// Begin starts the challenge from a level face.
func (c *Challenge) Begin(o *vision.Observation, now time.Time) {
	c.neutral = o.Pose
	c.reveal(o, now)
}

// reveal shows the next prompt. Nearness is measured anew each time, since
// people stay where they came to.
func (c *Challenge) reveal(o *vision.Observation, now time.Time) {
	c.shown, c.waiting = now, now
	c.width, c.rested = o.Scale, o
	c.held, c.strayed = 0, 0
	c.way.add(c.movement(o).amount(c.Prompt()), o, now)
}

// Prompt is what to show now.
func (c *Challenge) Prompt() Prompt {
	if c.shown.IsZero() || c.Over() {
		return PromptHoldStill
	}
	return c.sequence[c.done]
}

// Progress returns how many actions were made, and how many are asked for.
func (c *Challenge) Progress() (done, total int) { return c.done, len(c.sequence) }

// Over reports whether every action was made.
func (c *Challenge) Over() bool { return c.done == len(c.sequence) }

// Complete reports whether every action was made and the head has come back
// since.
func (c *Challenge) Complete() bool { return c.Over() && c.held >= c.pauses[c.done] }

// Glimpse returns the head under way, when the latest frame ended a way on
// which it was seen, else nil.
func (c *Challenge) Glimpse() *vision.Observation { return c.glimpse }

// Cut reports whether a way was missing, though frames came fast enough to
// show it.
func (c *Challenge) Cut() bool { return c.cut }

// Solid reports whether the frame that completed the latest action shows a
// solid head rather than a picture, compared with the latest level frame.
func (c *Challenge) Solid(o *vision.Observation) bool {
	return relief(c.rested, o) >= minRelief[c.sequence[c.done-1]]
}

// movement of the observed face since it was level.
func (c *Challenge) movement(o *vision.Observation) movement {
	return movement{
		yaw:    o.Pose.Yaw - c.neutral.Yaw,
		pitch:  o.Pose.Pitch - c.neutral.Pitch,
		closer: o.Scale / c.width,
	}
}

// travelled keeps what was seen of the way that has come to its end. Coming
// closer shows nothing: any picture can be enlarged bit by bit.
func (c *Challenge) travelled(action Prompt) {
	switch {
	case action == PromptComeCloser:
	case c.way.glides():
		c.glimpse = c.way.glimpse
	default:
		c.cut = c.cut || c.way.gap <= closeGap
	}
	c.way = way{}
}

// Judge weighs a frame whose face could be followed.
func (c *Challenge) Judge(o *vision.Observation, now time.Time) Outcome {
	c.glimpse = nil
	outcome := c.judge(o, now)
	if outcome == AtLevel {
		c.rested = o
	}
	return outcome
}

func (c *Challenge) judge(o *vision.Observation, now time.Time) Outcome {
	m := c.movement(o)
	switch {
	case now.Sub(c.waiting) > promptTime:
		return Missed
	case c.shown.IsZero():
		return c.rest(o, m, now)
	}
	return c.act(o, m, now)
}

// rest waits until the head is level again, then shows the next prompt.
func (c *Challenge) rest(o *vision.Observation, m movement, now time.Time) Outcome {
	action := c.sequence[c.done-1]
	c.way.add(m.amount(action), o, now)
	if !m.level() {
		c.held = 0
		if c.strays(m, action) {
			return Failed
		}
		return GoesOn
	}
	if c.held++; c.held != c.pauses[c.done] { // beyond it only when all is over
		return AtLevel
	}
	c.travelled(action)
	if !c.Over() {
		c.reveal(o, now)
	}
	return AtLevel
}

// act waits for the prompted action.
func (c *Challenge) act(o *vision.Observation, m movement, now time.Time) Outcome {
	prompt := c.sequence[c.done]
	near := m.amount(prompt)
	c.way.add(near, o, now)
	switch {
	case c.strays(m, prompt):
		return Failed
	case c.strayed > 0:
		return GoesOn
	case near >= 1:
		return c.hold(o, near, now)
	}
	c.held = 0
	if m.level() && near < 0.4 {
		return AtLevel
	}
	return GoesOn
}

// strays counts frames that clearly show another action than the one asked
// for, or come back from, and reports when it is meant.
func (c *Challenge) strays(m movement, prompt Prompt) bool {
	if !m.wrong(prompt) {
		c.strayed = 0
		return false
	}
	c.strayed++
	return c.strayed >= heldFrames
}

// hold weighs a frame that shows the prompted action.
func (c *Challenge) hold(o *vision.Observation, near float64, now time.Time) Outcome {
	if now.Sub(c.shown) < minReaction+minMotion {
		return Failed
	}
	if c.held++; c.held < heldFrames {
		return GoesOn
	}
	c.travelled(c.sequence[c.done])
	c.done++
	c.held, c.shown, c.waiting = 0, time.Time{}, now
	c.way.add(near, o, now)
	return Acted
}

// way is a head's course to an action, or back: what the amounts of the action
// ranged over, the longest stride between two frames and the time it took, and
// the frame nearest to underWay, which is nil before the first.
type way struct {
	last, low, high float64
	at              time.Time // of last
	stride, nearest float64
	gap             time.Duration
	glimpse         *vision.Observation
}

// closeGap is how near in time two frames are between which no head makes its
// way unseen.
const closeGap = 300 * time.Millisecond

// underWay is an amount at which a head is no longer level and the action not
// yet made.
const underWay = 0.75

// longestStride is the share of a way that a moving head covers at most
// between two frames: the briskest turns take a third of a second, of which
// frames 0.2 seconds apart show three quarters at once.
const longestStride = 0.78

func (w *way) add(amount float64, o *vision.Observation, now time.Time) {
	if w.glimpse == nil {
		*w = way{last: amount, low: amount, high: amount, nearest: amount, glimpse: o}
	}
	if stride := math.Abs(amount - w.last); stride > w.stride {
		w.stride, w.gap = stride, now.Sub(w.at)
	}
	w.last, w.low, w.high, w.at = amount, min(w.low, amount), max(w.high, amount), now
	if math.Abs(amount-underWay) < math.Abs(w.nearest-underWay) {
		w.nearest, w.glimpse = amount, o
	}
}

// glides reports whether the way was seen, not only its ends.
func (w *way) glides() bool { return w.stride < longestStride*(w.high-w.low) }
