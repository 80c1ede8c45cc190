// Package age decides from camera frames whether a person reaches an age
// cutoff. A Capture analyzes each frame (vision.Analyzer), guides the person to
// a usable picture, checks that the person is live (package liveness), and
// turns the good frames into a verdict. Frames are kept in memory only; nothing
// here writes to disk or logs.
package age

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"time"

	"agegate/internal/check/liveness"
	"agegate/internal/check/photographic"
	"agegate/internal/check/vision"
)

// Engine starts captures over one set of models and one head.
type Engine struct {
	analyzer vision.Analyzer
	head     Head
	observer Observer
	gate     *photographic.Gate
}

// Observer receives how long each frame of every capture took, from Add's call
// to its return. Many captures call it at once.
type Observer interface {
	Frame(took time.Duration)
}

// NewEngine returns an engine. head turns the models' outputs into years, see NewHead.
// observer may be nil.
func NewEngine(analyzer vision.Analyzer, head Head, observer Observer) *Engine {
	return &Engine{analyzer: analyzer, head: head, observer: observer}
}

// Refusing returns an engine with a gate against drawn faces. If a face looks drawn,
// the capture ends without a result. With nil, no face is refused.
func (e *Engine) Refusing(gate *photographic.Gate) *Engine {
	refusing := *e
	refusing.gate = gate
	return &refusing
}

// Options are the settings of one capture.
type Options struct {
	TargetAge int     // years, from the session
	Margin    float64 // years; the estimate must reach TargetAge + Margin
	Assisted  bool    // the person cannot move their head: more frames, stricter scores
	// Turn waits, before each frame, until the capture may use the models. done ends
	// the turn. If Turn is nil, frames do not wait.
	Turn func(ctx context.Context) (done func(), err error)
	Now  func() time.Time
	Rand io.Reader // for the nonce and the challenge; crypto/rand when nil
}

// setting is what a capture is given.
type setting struct {
	engine  *Engine
	options Options
}

func (s setting) demand() liveness.Demand {
	if s.options.Assisted {
		return liveness.Assisted
	}
	return liveness.Usual
}

// NewCapture starts a capture; its time runs from now.
func (e *Engine) NewCapture(o Options) *Capture {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Turn == nil {
		o.Turn = func(context.Context) (func(), error) { return func() {}, nil }
	}
	o.Rand = cmp.Or(o.Rand, rand.Reader)
	c := &Capture{setting: setting{e, o}}
	if _, err := io.ReadFull(o.Rand, c.nonce[:]); err != nil {
		panic("age: no randomness for a nonce: " + err.Error())
	}
	c.phase = &framing{setting: c.setting, until: o.Now().Add(framingTime)}
	return c
}
