package liveness

import (
	"math"
	"time"

	"agegate/internal/check/vision"
)

// state is the progress of a challenge. Its methods return the next state and do not
// change the receiver.
type state struct {
	tally
	question
	answer
	glimpse *vision.Observation // a frame of the moving head, when the latest frame ended a movement that was seen
	reached *vision.Observation // the first of the latest frames that fulfilled a prompt
}

// tally counts over the whole challenge.
type tally struct {
	done    int // prompts fulfilled
	added   int // prompts that Prolong added
	wrong   int // wrong directions, not counting the confused ones
	excused int // confused directions
	extra   int // extensions of a prompt's time
	resumed int // changes of the picture by the camera
	cuts    int // times that the head jumped to a pose, although frames came fast enough to show it moving
}

// question is the current prompt.
type question struct {
	prompt   Prompt // PromptHoldStill once all are fulfilled
	hint     Hint
	shown    time.Time
	deadline time.Time
	fresh    bool // it replaced a prompt that was not followed
	repeated bool // it was repeated
}

// answer is what the head has done since the prompt appeared.
type answer struct {
	progress float64
	held     int  // frames in a row that fulfil the prompt
	strayed  int  // frames in a row that show another direction
	missed   int  // frames that point next to the target
	left     bool // the head has left the place where it was when the prompt appeared
	path     path
}

// frame is a frame in which the face was found.
type frame struct {
	o    *vision.Observation
	aim  aim
	at   time.Time     // when it arrived
	trip time.Duration // round-trip time of its connection
}

func (t tally) total() int { return Steps + t.added }

func (t tally) over() bool { return t.done == t.total() }

// asking shows a prompt. a is where the head points when the prompt appears.
func (s state) asking(p Prompt, a aim, now time.Time) state {
	s.question = question{prompt: p, shown: now, deadline: now.Add(promptTime)}
	s.answer = answer{left: a.isNear(), path: newPath(a, now)}
	return s
}

// repeating shows the prompt again when its time is over.
func (s state) repeating() state {
	s.repeated, s.hint = true, HintAgain
	s.deadline = s.deadline.Add(promptTime)
	return s
}

// resuming shows the same prompt again in a picture that the camera has changed.
func (s state) resuming(a aim, now time.Time) state {
	s.resumed++
	s.repeated, s.hint = false, HintAgain
	s.deadline = now.Add(promptTime)
	s.held, s.glimpse = 0, nil
	s.path = s.path.resumed(a, now)
	return s
}

// seeing adds a frame to the path and to the progress.
func (s state) seeing(f frame) state {
	target := aims[s.prompt] // zero for PromptHoldStill
	s.glimpse = nil
	s.path = s.path.with(f, target)
	if !s.over() {
		s.progress = math.Floor(10*min(max(f.aim.along(target), 0), 1)) / 10
	}
	return s
}

// resting waits, after the last prompt, until the head is level again.
func (s state) resting(f frame) (state, Outcome) {
	if !f.aim.isLevel() {
		s.held = 0
		return s, GoesOn
	}
	if s.held++; s.held == levelFrames {
		s = s.travelled()
	}
	return s, AtLevel
}

// watching reports whether the head clearly made another movement than the prompt asks
// for: consecutive frames point elsewhere, or next to the target and then back. A head
// that has not left its place since the prompt appeared does not stray.
func (s state) watching(a aim) (next state, strays bool) {
	off := a.angle(aims[s.prompt])
	s.left = s.left || a.isNear() || a.angle(s.path.from) > gone
	switch {
	case a.isNear() || off > astray:
		if s.missed >= heldFrames {
			s.missed = 0
			return s, true
		}
	case s.left && a.length() >= clearly:
		s.missed++
	}
	if !s.left || a.length() < clearly || off <= astray {
		s.strayed = 0
		return s, false
	}
	s.strayed++
	return s, s.strayed == heldFrames // true once, until the head leaves that direction
}

// travelled keeps the frame that showed the head during the movement that has now
// ended.
func (s state) travelled() state {
	switch {
	case s.path.seen():
		s.glimpse = s.path.glimpse
	case s.path.gap <= closeGap && !s.path.broken:
		s.cuts++
	}
	return s
}
