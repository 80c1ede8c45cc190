// Package liveness decides whether the person in front of the camera is present
// and alive. It judges the challenge of prompted head movements, the depth that
// the landmarks show during them, blinks, and frames that no camera produces.
package liveness

import (
	"crypto/rand"
	"io"
	"math"
	"math/big"
	"time"

	"agegate/internal/check/vision"
)

// Steps is the number of prompts in a challenge that is not prolonged. Each prompt
// points at least a quarter turn away from where the head is, so it needs a new
// movement: there are 316 challenges.
const Steps = 4

// maxProlonged is the maximum number of prompts that Prolong adds.
const maxProlonged = 2

// Times of the challenge, by the server's clock. A frame arrives after it was
// taken, so an action that seems too early was made too early.
const (
	promptTime  = 10 * time.Second       // to follow a prompt; the prompt is then repeated for as long again
	extraTime   = 20 * time.Second       // added to a prompt's time when the person asks for it
	minReaction = 150 * time.Millisecond // the shortest time in which a person reacts to a prompt
	minMotion   = 150 * time.Millisecond // the shortest time in which a person completes an action
	grace       = time.Second            // time to notice that a new prompt replaced the last one after a wrong direction
)

// maxExtensions is how often the person may get more time in one challenge: as
// often as WCAG 2.2.1 requires.
const maxExtensions = 10

// Wrong directions allowed in one challenge. A new prompt answers each; one too
// many ends the attempt without a result. People most often confuse left and
// right, or a prompt and its opposite, so one more of these is allowed. TestOdds
// shows how often an attack passes by chance.
const (
	maxConfused = 1
	maxWrong    = 1
)

// MaxTime is the longest time that a challenge gives: for every prompt, each of
// those that replace another, and each return to level, and with every extension.
const MaxTime = (Steps+maxProlonged+maxConfused+maxWrong+1+maxProlonged)*2*promptTime + maxExtensions*extraTime

// How many consecutive frames confirm a movement, right or wrong.
const (
	heldFrames  = 2
	levelFrames = 2
)

// Challenge asks for one action after another and judges them.
type Challenge struct {
	random  io.Reader
	neutral *vision.Observation // the level head that the challenge began with
	done    int                 // prompts fulfilled
	added   int                 // prompts that Prolong added
	wrong   int                 // wrong directions, not counting the confused ones
	excused int                 // confused directions
	extra   int                 // extensions of a prompt's time

	// The state of the current prompt.
	prompt   Prompt // PromptHoldStill once all are fulfilled
	hint     Hint
	shown    time.Time
	deadline time.Time
	fresh    bool // it replaced a prompt that was not followed
	repeated bool // it was repeated
	progress float64

	held    int                 // frames in a row that fulfil the prompt
	reached *vision.Observation // the first of them
	strayed int                 // frames in a row that show another direction
	missed  int                 // frames that point next to the target
	left    bool                // the head has left the place where it was when the prompt appeared
	path    path
	glimpse *vision.Observation // a frame of the moving head, when the latest frame ended a movement that was seen
	cut     bool                // the head jumped to a pose, although frames came fast enough to show it moving
}

// Outcome is what one frame means for the challenge.
type Outcome int

// The outcomes of a frame.
const (
	GoesOn  Outcome = iota
	AtLevel         // the head is level: the frame may count
	Acted           // the frame completes an action
	Missed          // the time is over, or too many directions were wrong
	Failed          // the frame shows something that no live person does
)

// NewChallenge returns a challenge that draws its prompts, one after another,
// from random. It panics later when random gives no bytes.
func NewChallenge(random io.Reader) *Challenge { return &Challenge{random: random} }

// Begin starts the challenge from a level face.
func (c *Challenge) Begin(o *vision.Observation, now time.Time) {
	c.neutral = o
	c.ask(c.draw(aim{}), aim{}, now)
}

// draw returns a random prompt that points at least a quarter turn away from
// where the head is, or any prompt if the head is near level.
func (c *Challenge) draw(at aim) Prompt {
	var away []Prompt
	for _, p := range Actions {
		if at.length() < 0.6 || at.angle(aims[p]) > 90-45.0/2 {
			away = append(away, p)
		}
	}
	i, err := rand.Int(c.random, big.NewInt(int64(len(away))))
	if err != nil {
		panic("liveness: no randomness for a challenge: " + err.Error())
	}
	return away[i.Int64()]
}

// ask shows a prompt when the head points at a.
func (c *Challenge) ask(p Prompt, a aim, now time.Time) {
	c.prompt, c.hint, c.shown, c.deadline = p, "", now, now.Add(promptTime)
	c.fresh, c.repeated = false, false
	c.progress, c.held, c.strayed, c.missed, c.left = 0, 0, 0, 0, a.length() < 0.6
	c.path = newPath(a, now)
}

// Prompt is the prompt to show now.
func (c *Challenge) Prompt() Prompt {
	if c.prompt == "" {
		return PromptHoldStill
	}
	return c.prompt
}

// Hint is the advice to show with the prompt.
func (c *Challenge) Hint() Hint { return c.hint }

// Progress returns how many prompts were fulfilled, and how many there are.
func (c *Challenge) Progress() (done, total int) { return c.done, Steps + c.added }

// Fulfilled returns how far the current prompt is fulfilled, from 0 to 1, in
// tenths.
func (c *Challenge) Fulfilled() float64 { return c.progress }

// Remaining returns how much time is left for the current prompt, including its
// repetition, and whether MoreTime would succeed.
func (c *Challenge) Remaining(now time.Time) (left time.Duration, extensible bool) {
	left = c.deadline.Sub(now)
	if !c.repeated {
		left += promptTime
	}
	return max(left, 0), c.extra < maxExtensions
}

// MoreTime extends the current prompt's time and reports whether it did: it does
// so at most maxExtensions times in one challenge.
func (c *Challenge) MoreTime() bool {
	if c.extra == maxExtensions {
		return false
	}
	c.extra, c.deadline = c.extra+1, c.deadline.Add(extraTime)
	return true
}

// Wait extends the current prompt's time by the time that the server took for a
// frame, so that a slow server costs the person nothing.
func (c *Challenge) Wait(d time.Duration) { c.deadline = c.deadline.Add(d) }

// Over reports whether every prompt was fulfilled.
func (c *Challenge) Over() bool { return c.done == Steps+c.added }

// Prolong adds a prompt to a challenge that is complete and reports whether it
// did: it does so at most maxProlonged times. The head must be level.
func (c *Challenge) Prolong(now time.Time) bool {
	if c.added == maxProlonged {
		return false
	}
	c.added++
	c.ask(c.draw(aim{}), aim{}, now)
	return true
}

// Astray reports whether a prompt was left unfulfilled after the head went
// another way at least once.
func (c *Challenge) Astray() bool { return !c.Over() && c.wrong+c.excused > 0 }

// Complete reports whether every prompt was fulfilled and the head has come back
// to level since.
func (c *Challenge) Complete() bool { return c.Over() && c.held >= levelFrames }

// Glimpse returns a frame of the moving head if the latest frame ended a
// movement that was seen, and otherwise nil.
func (c *Challenge) Glimpse() *vision.Observation { return c.glimpse }

// Cut reports whether the head jumped to a pose, although frames came fast
// enough to show it moving.
func (c *Challenge) Cut() bool { return c.cut }

// Reached returns the first of the frames that fulfilled the latest prompt: the
// one in which the face is turned the least.
func (c *Challenge) Reached() *vision.Observation { return c.reached }

// Solid reports whether a frame that fulfils the prompt p shows a solid head and
// not a flat picture. It compares the frame with the level frame at the start of
// the challenge.
func (c *Challenge) Solid(o *vision.Observation, p Prompt) bool {
	return relief(c.neutral, o) >= minRelief(p)
}

// Lapsed reports whether the time for the current prompt, including its
// repetition, is over.
func (c *Challenge) Lapsed(now time.Time) bool {
	left, _ := c.Remaining(now)
	return left == 0
}

// NearLevel reports whether the next frame may show a level head: the head was
// nearly level in the latest frame or, once all prompts are fulfilled, is on its
// way back.
func (c *Challenge) NearLevel() bool {
	length := c.path.last.length()
	return length < 0.6 || c.Over() && length < 1
}

// Judge evaluates a frame in which the face was found. now is when the frame
// arrived, and trip the round-trip time of its connection.
func (c *Challenge) Judge(o *vision.Observation, now time.Time, trip time.Duration) Outcome {
	c.glimpse = nil
	a := aimOf(o.Pose, c.neutral.Pose)
	target := aims[c.prompt] // zero for PromptHoldStill
	c.path.add(a, target, o, now, trip)
	if now.After(c.deadline) {
		if c.repeated {
			return Missed
		}
		c.repeated, c.hint, c.deadline = true, HintAgain, c.deadline.Add(promptTime)
	}
	if c.Over() {
		return c.rest(a)
	}
	return c.act(a, o, now)
}

// rest waits until the head is level again after the last prompt.
func (c *Challenge) rest(a aim) Outcome {
	if !a.isLevel() {
		c.held = 0
		return GoesOn
	}
	if c.held++; c.held == levelFrames {
		c.travelled()
	}
	return AtLevel
}

// act waits for the prompted action.
func (c *Challenge) act(a aim, o *vision.Observation, now time.Time) Outcome {
	target := aims[c.prompt]
	c.progress = math.Floor(10*min(max(a.along(target), 0), 1)) / 10
	if a.isToward(target, 1) {
		c.strayed = 0
		return c.hold(a, o, now)
	}
	c.held = 0
	// After a fresh prompt the head may first finish the movement that the last
	// one asked for.
	if c.strays(a) && (!c.fresh || now.Sub(c.shown) > grace) {
		return c.correct(a, now)
	}
	if a.isLevel() {
		return AtLevel
	}
	return GoesOn
}

// strays reports whether the head clearly made another movement than the prompt
// asks for: consecutive frames that point elsewhere, or next to the target and
// back. A head that has not yet left the place where it was when the prompt
// appeared does not stray.
func (c *Challenge) strays(a aim) bool {
	off := a.angle(aims[c.prompt])
	c.left = c.left || a.length() < 0.6 || a.angle(c.path.from) > gone
	switch {
	case a.length() < 0.6 || off > astray:
		if missed := c.missed >= heldFrames; missed {
			c.missed = 0
			return true
		}
	case c.left && a.length() >= clearly:
		c.missed++
	}
	if !c.left || a.length() < clearly || off <= astray {
		c.strayed = 0
		return false
	}
	c.strayed++
	return c.strayed == heldFrames // true once, until the head leaves that direction
}

// correct tells the person that the direction is wrong and draws another prompt.
func (c *Challenge) correct(a aim, now time.Time) Outcome {
	next := c.draw(a)
	hint := HintOtherWay
	if a.length() < clearly { // the head came back from a direction next to the target
		hint = HintAgain
	}
	switch {
	case c.excused < maxConfused && hint == HintOtherWay && a.confused(c.prompt):
		c.excused++
	case c.wrong == maxWrong:
		return Missed
	default:
		c.wrong++
	}
	c.ask(next, a, now)
	c.fresh, c.hint = true, hint
	return GoesOn
}

// hold evaluates a frame that fulfils the prompt.
func (c *Challenge) hold(a aim, o *vision.Observation, now time.Time) Outcome {
	if now.Sub(c.shown) < minReaction+minMotion {
		if c.fresh { // the head may have been moving already
			return GoesOn
		}
		return Failed
	}
	if c.held++; c.held < heldFrames {
		c.reached = o
		return GoesOn
	}
	c.travelled()
	// The head is at the target, or will be soon.
	at := aims[c.prompt].scaled(max(a.length(), 1))
	if c.done++; c.Over() {
		c.ask(PromptHoldStill, at, now)
	} else {
		c.ask(c.draw(at), at, now)
	}
	return Acted
}

// travelled stores the frame that was seen during the movement that has ended.
func (c *Challenge) travelled() {
	if c.path.seen() {
		c.glimpse = c.path.glimpse
	} else {
		c.cut = c.cut || c.path.gap <= closeGap
	}
}
