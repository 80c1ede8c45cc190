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
// movement. There are 316 different challenges.
const Steps = 4

// maxProlonged is the maximum number of prompts that Prolong adds.
const maxProlonged = 2

// Times of the challenge, by the server's clock. A frame arrives after it was taken. So
// an action that seems too early really was too early.
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

// How many wrong directions are allowed in one challenge. After each, a new prompt is
// shown; one too many ends the attempt without a result. People most often confuse left
// and right, or a prompt and its opposite, so one more of these is allowed. TestOdds
// shows how often an attack passes by chance.
const (
	maxConfused = 1
	maxWrong    = 1
)

// MaxTime is the longest time of a challenge: the time of every prompt, of every prompt
// that replaces another, of every return to level, and of every extension.
const MaxTime = (Steps+maxProlonged+maxConfused+maxWrong+1+maxProlonged+maxResumed)*2*promptTime +
	maxExtensions*extraTime

// maxResumed is how often the camera may change the picture in one challenge. Twice is
// enough for a person who turns the phone and turns it back.
const maxResumed = 2

// How many consecutive frames confirm a movement, right or wrong.
const (
	heldFrames  = 2
	levelFrames = 2
)

// Challenge asks for one action after another and judges them. Only its state changes:
// each event replaces the state as a whole.
type Challenge struct {
	random  io.Reader
	neutral *vision.Observation // the level head that the challenge began with
	state   state
	before  state // the state before the latest frame
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

// NewChallenge returns a challenge that draws its prompts from random when it needs
// them. It panics then if random gives no bytes.
func NewChallenge(random io.Reader) *Challenge { return &Challenge{random: random} }

// Begin starts the challenge from a level face.
func (c *Challenge) Begin(o *vision.Observation, now time.Time) {
	c.neutral = o
	c.state = c.state.asking(c.draw(aim{}), aim{}, now)
}

// draw returns a random prompt that points at least a quarter turn away from
// where the head is, or any prompt if the head is near level.
func (c *Challenge) draw(at aim) Prompt {
	var away []Prompt
	for _, p := range Actions {
		if at.isNear() || at.angle(aims[p]) > 90-45.0/2 {
			away = append(away, p)
		}
	}
	i, err := rand.Int(c.random, big.NewInt(int64(len(away))))
	if err != nil {
		panic("liveness: no randomness for a challenge: " + err.Error())
	}
	return away[i.Int64()]
}

// Prompt is the prompt to show now.
func (c *Challenge) Prompt() Prompt {
	if c.state.prompt == "" {
		return PromptHoldStill
	}
	return c.state.prompt
}

// Hint is the advice to show with the prompt.
func (c *Challenge) Hint() Hint { return c.state.hint }

// Progress returns how many prompts were fulfilled, and how many there are.
func (c *Challenge) Progress() (done, total int) { return c.state.done, c.state.total() }

// Fulfilled returns how far the current prompt is fulfilled, from 0 to 1, in
// tenths.
func (c *Challenge) Fulfilled() float64 { return c.state.progress }

// Remaining returns how much time is left for the current prompt, including its
// repetition, and whether MoreTime would succeed.
func (c *Challenge) Remaining(now time.Time) (left time.Duration, extensible bool) {
	left = c.state.deadline.Sub(now)
	if !c.state.repeated {
		left += promptTime
	}
	return max(left, 0), c.state.extra < maxExtensions
}

// MoreTime extends the current prompt's time, at most maxExtensions times in one
// challenge, and reports whether it did.
func (c *Challenge) MoreTime() bool {
	if c.state.extra == maxExtensions {
		return false
	}
	c.state.extra++
	c.Wait(extraTime)
	return true
}

// Wait extends the current prompt's time by the time that the server took for a
// frame, so that a slow server costs the person nothing.
func (c *Challenge) Wait(d time.Duration) { c.state.deadline = c.state.deadline.Add(d) }

// Over reports whether every prompt was fulfilled.
func (c *Challenge) Over() bool { return c.state.over() }

// Prolong adds a prompt to a complete challenge, at most maxProlonged times, and
// reports whether it did. The head must be level.
func (c *Challenge) Prolong(now time.Time) bool {
	if c.state.added == maxProlonged {
		return false
	}
	c.state.added++
	c.state = c.state.asking(c.draw(aim{}), aim{}, now)
	return true
}

// Astray reports whether a prompt was not fulfilled, and the head went another way at
// least once.
func (c *Challenge) Astray() bool { return !c.Over() && c.state.wrong+c.state.excused > 0 }

// Complete reports whether every prompt was fulfilled and the head has come back
// to level since.
func (c *Challenge) Complete() bool { return c.Over() && c.state.held >= levelFrames }

// Glimpse returns a frame of the moving head if the latest frame ended a
// movement that was seen, and otherwise nil.
func (c *Challenge) Glimpse() *vision.Observation { return c.state.glimpse }

// Cuts returns how often the head jumped to a pose although frames came fast enough to
// show the movement. With living heads, too, there is one jump now and then.
func (c *Challenge) Cuts() int { return c.state.cuts }

// Reached returns the first of the frames that fulfilled the latest prompt. Later frames
// usually show the face turned further.
func (c *Challenge) Reached() *vision.Observation { return c.state.reached }

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
	last := c.state.path.last
	return last.isNear() || c.Over() && last.length() < 1
}

// Resume repeats the prompt after the camera has changed the picture, at most
// maxResumed times, and reports whether it did. o is the first frame of the new
// picture. What the head did before still counts, except that a movement between the
// two pictures counts as not seen.
func (c *Challenge) Resume(o *vision.Observation, now time.Time) bool {
	if c.state.resumed == maxResumed {
		return false
	}
	c.state = c.state.resuming(c.aim(o), now)
	return true
}

// Judge evaluates a frame in which the face was found. now is when the frame
// arrived, and trip the round-trip time of its connection.
func (c *Challenge) Judge(o *vision.Observation, now time.Time, trip time.Duration) (outcome Outcome) {
	c.before = c.state
	c.state, outcome = c.judged(frame{o, c.aim(o), now, trip})
	return outcome
}

// Retract undoes that the latest frame fulfilled the prompt.
func (c *Challenge) Retract() {
	c.state = c.before
	c.state.held = 0
}

// Leans reports whether the head leans further to a side than it does while it follows
// a prompt. Then somebody is turning the phone. Such a frame should not be judged,
// because the pose is uncertain.
func (c *Challenge) Leans(o *vision.Observation) bool {
	return math.Abs(o.Pose.Roll-c.neutral.Pose.Roll) > leaning
}

// aim returns where the nose points in a frame.
func (c *Challenge) aim(o *vision.Observation) aim { return aimOf(o.Pose, c.neutral.Pose) }

// judged returns the state after a frame, and what the frame means.
func (c *Challenge) judged(f frame) (state, Outcome) {
	s := c.state.seeing(f)
	if f.at.After(s.deadline) {
		if s.repeated {
			return s, Missed
		}
		s = s.repeating()
	}
	switch target := aims[s.prompt]; {
	case s.over():
		return s.resting(f)
	case f.aim.isToward(target, 1):
		return c.held(s, f)
	default:
		return c.going(s, f)
	}
}

// held evaluates a frame that fulfils the prompt.
func (c *Challenge) held(s state, f frame) (state, Outcome) {
	s.strayed = 0
	if f.at.Sub(s.shown) < minReaction+minMotion {
		if s.fresh { // the head may have been moving already
			return s, GoesOn
		}
		return s, Failed
	}
	if s.held++; s.held < heldFrames {
		s.reached = f.o
		return s, GoesOn
	}
	s = s.travelled()
	s.done++
	// The head is at the target, or will be soon.
	at := aims[s.prompt].scaled(max(f.aim.length(), 1))
	next := PromptHoldStill
	if !s.over() {
		next = c.draw(at)
	}
	return s.asking(next, at, f.at), Acted
}

// going evaluates a frame that does not fulfil the prompt.
func (c *Challenge) going(s state, f frame) (state, Outcome) {
	s.held = 0
	s, strays := s.watching(f.aim)
	// After a new prompt the head may first finish the movement that the last one
	// asked for.
	if strays && (!s.fresh || f.at.Sub(s.shown) > grace) {
		return c.corrected(s, f)
	}
	if f.aim.isLevel() {
		return s, AtLevel
	}
	return s, GoesOn
}

// corrected tells the person that the direction is wrong and asks another prompt.
func (c *Challenge) corrected(s state, f frame) (state, Outcome) {
	next := c.draw(f.aim)
	hint := HintOtherWay
	if f.aim.length() < clearly { // the head came back from a direction next to the target
		hint = HintAgain
	}
	switch {
	case s.excused < maxConfused && hint == HintOtherWay && f.aim.confused(s.prompt):
		s.excused++
	case s.wrong == maxWrong:
		return s, Missed
	default:
		s.wrong++
	}
	s = s.asking(next, f.aim, f.at)
	s.fresh, s.hint = true, hint
	return s, GoesOn
}
