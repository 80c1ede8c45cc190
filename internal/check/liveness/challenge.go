// Package liveness decides whether the person in front of the camera is present
// and alive. It judges the challenge of prompted head movements, the depth that
// the landmarks show during them, blinks, and frames that no camera produces.
package liveness

import (
	"context"
	"crypto/rand"
	"io"
	"math"
	"math/big"
	"slices"
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

// How many consecutive frames confirm a movement, right or wrong.
const (
	heldFrames  = 2
	levelFrames = 2
)

// Challenge asks the person of a watch for one action after another and judges them.
type Challenge struct {
	state
	watch  *Watch
	random io.Reader
}

// state is the progress of a challenge. Its methods return the next state and do not
// change the receiver.
type state struct {
	question
	tally
	held    int                 // frames in a row that fulfil the prompt, or are level after the last prompt
	way     way                 // of the head since the prompt appeared
	glimpse *vision.Observation // a frame of the moving head, when the latest frame ended a movement that was seen
	reached *vision.Observation // the first frame that fulfilled the latest prompt; later ones are turned further
}

// question is the current prompt.
type question struct {
	Prompt   Prompt // PromptHoldStill once all are fulfilled
	Hint     Hint
	Progress float64   // how far the prompt is fulfilled, from 0 to 1, in tenths
	Until    time.Time // the end of the time for the prompt and its repetition, as Frame.Own
	shown    time.Time
	fresh    bool // it replaced a prompt that was not followed
	repeated bool
}

// tally counts over the whole challenge.
type tally struct {
	Done, Total int // prompts fulfilled, and prompts that there are
	Extensions  int // extensions of a prompt's time that are left
	Cuts        int // times that the head jumped to a pose, although frames came fast enough to show it moving
	wrong       int // wrong directions, not counting the confused ones
	excused     int // confused directions
}

// NewChallenge starts a challenge from the level face with which a watch began. It draws
// its prompts from random when it needs them, and panics if random gives no bytes.
func NewChallenge(random io.Reader, w *Watch, f Frame) *Challenge {
	c := &Challenge{watch: w, random: random}
	c.Total, c.Extensions = Steps, maxExtensions
	c.state = c.asking(c.draw(aim{}), aim{}, f)
	return c
}

// draw returns a random prompt that points at least a quarter turn away from
// where the head is, or any prompt if the head is near level.
func (c *Challenge) draw(at aim) Prompt {
	away := slices.DeleteFunc(slices.Clone(Actions), func(p Prompt) bool {
		return !at.isNear() && at.angle(aims[p]) <= 90-45.0/2
	})
	i, err := rand.Int(c.random, big.NewInt(int64(len(away))))
	if err != nil {
		panic("liveness: no randomness for a challenge: " + err.Error())
	}
	return away[i.Int64()]
}

// asking shows a prompt. a is where the head points when the prompt appears.
func (s state) asking(p Prompt, a aim, f Frame) state {
	s.question = question{Prompt: p, Until: f.Own.Add(2 * promptTime), shown: f.At}
	s.held, s.way = 0, way{from: a, last: a, at: f.At, left: a.isNear()}
	return s
}

// MoreTime extends the current prompt's time, at most maxExtensions times in one
// challenge, and reports whether it did.
func (c *Challenge) MoreTime() bool {
	if c.Extensions == 0 {
		return false
	}
	c.Extensions--
	c.Until = c.Until.Add(extraTime)
	return true
}

// Prolong adds a prompt, which may be the latest one again, to a complete challenge, at most maxProlonged times, and
// reports whether it did. The head must be level.
func (c *Challenge) Prolong(f Frame) bool {
	if c.Total == Steps+maxProlonged {
		return false
	}
	c.state = c.asking(c.draw(aim{}), aim{}, f)
	c.Total, c.Hint = c.Total+1, HintAgain
	return true
}

// Over reports whether every prompt was fulfilled.
func (t tally) Over() bool { return t.Done == t.Total }

// Astray reports whether a prompt was not fulfilled, and the head went another way at
// least once.
func (t tally) Astray() bool { return !t.Over() && t.wrong+t.excused > 0 }

// Unmoved reports whether the face was in view for longer than the time of the prompt,
// and the prompt is not fulfilled.
func (s state) Unmoved() bool { return !s.Over() && s.way.at.Sub(s.shown) > promptTime }

// Complete reports whether every prompt was fulfilled and the head has come back
// to level since.
func (s state) Complete() bool { return s.Over() && s.held >= levelFrames }

// NearLevel reports whether the next frame may show a level head: the head was
// nearly level in the latest frame or, once all prompts are fulfilled, is on its
// way back.
func (s state) NearLevel() bool {
	last := s.way.last
	return last.isNear() || s.Over() && last.length() < 1
}

// Judge evaluates the next frame. A prompt is fulfilled only by a solid head of the same
// person. If the frame is too unclear to recognize the person, the prompt stays.
func (c *Challenge) Judge(ctx context.Context, f Frame) (Outcome, error) {
	outcome, err := c.watch.Follow(ctx, f)
	if outcome == Resumed {
		c.state = c.resuming(c.aim(f), f)
	}
	if outcome != Plausible {
		return outcome, err
	}
	before := c.state
	c.state, outcome = c.judged(f)
	if c.glimpse != nil {
		err = c.watch.Glance(ctx, c.glimpse)
	}
	if err != nil || outcome != Acted {
		return outcome, err
	}
	likeness, err := c.watch.Recognize(ctx, c.reached, nil)
	switch {
	case err != nil || likeness == Other || !solid(c.watch.neutral, f.Observation, before.Prompt):
		return Failed, err
	case likeness == Unclear:
		c.state = before
		c.held = 0
		return GoesOn, nil
	}
	return Acted, nil
}

// aim returns where the nose points in a frame.
func (c *Challenge) aim(f Frame) aim {
	neutral := c.watch.neutral.Pose
	return aim{side: (f.Pose.Yaw - neutral.Yaw) / turned, up: (f.Pose.Pitch - neutral.Pitch) / raised}
}

// resuming shows the same prompt again in a picture that the camera has changed. What
// the head did before still counts, except that a movement between the two pictures
// counts as not seen.
func (s state) resuming(a aim, f Frame) state {
	s.repeated, s.Hint, s.Until = false, HintAgain, f.Own.Add(2*promptTime)
	s.held = 0
	s.way.last, s.way.at, s.way.broken = a, f.At, true
	return s
}

// judged returns the state after a frame in which the head moved plausibly, and what the
// frame means.
func (c *Challenge) judged(f Frame) (state, Outcome) {
	s, a, target := c.state, c.aim(f), aims[c.Prompt] // zero for PromptHoldStill
	s.glimpse = nil
	s.way = s.way.with(f, a, target)
	if f.Own.After(s.Until) {
		return s, Missed
	}
	if !s.repeated && f.Own.After(s.Until.Add(-promptTime)) {
		s.repeated, s.Hint = true, HintAgain
	}
	if s.Over() {
		return s.resting(a)
	}
	s.Progress = math.Floor(10*min(max(a.along(target), 0), 1)) / 10
	if a.length() >= 1 && a.angle(target) <= hit {
		return c.holding(s, a, f)
	}
	s.held = 0
	// After a new prompt the head may first finish the movement that the last one
	// asked for.
	if s.way.strays(a, target) && (!s.fresh || f.At.Sub(s.shown) > grace) {
		return c.corrected(s, a, f)
	}
	if a.isLevel() {
		return s, AtLevel
	}
	return s, GoesOn
}

// resting waits, after the last prompt, until the head is level again.
func (s state) resting(a aim) (state, Outcome) {
	if !a.isLevel() {
		s.held = 0
		return s, GoesOn
	}
	if s.held++; s.held == levelFrames {
		s = s.travelled()
	}
	return s, AtLevel
}

// holding evaluates a frame that fulfils the prompt.
func (c *Challenge) holding(s state, a aim, f Frame) (state, Outcome) {
	s.way.strayed = 0
	if f.At.Sub(s.shown) < minReaction+minMotion {
		if s.fresh { // the head may have been moving already
			return s, GoesOn
		}
		return s, Failed
	}
	if s.held++; s.held < heldFrames {
		s.reached = f.Observation
		return s, GoesOn
	}
	s = s.travelled()
	s.Done++
	// The head is at the target, or will be soon.
	at := aims[s.Prompt].scaled(max(a.length(), 1))
	next := PromptHoldStill
	if !s.Over() {
		next = c.draw(at)
	}
	return s.asking(next, at, f), Acted
}

// travelled keeps the frame that showed the head during the movement that has now
// ended.
func (s state) travelled() state {
	switch {
	case s.way.seen():
		s.glimpse = s.way.glimpse
	case s.way.gap <= closeGap && !s.way.broken:
		s.Cuts++
	}
	return s
}

// corrected tells the person that the direction is wrong and asks another prompt.
func (c *Challenge) corrected(s state, a aim, f Frame) (state, Outcome) {
	next := c.draw(a)
	hint := HintOtherWay
	if a.length() < clearly { // the head came back from a direction next to the target
		hint = HintAgain
	}
	switch {
	case s.excused < maxConfused && hint == HintOtherWay && a.confused(s.Prompt):
		s.excused++
	case s.wrong == maxWrong:
		return s, Missed
	default:
		s.wrong++
	}
	s = s.asking(next, a, f)
	s.fresh, s.Hint = true, hint
	return s, GoesOn
}
