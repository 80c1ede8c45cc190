package capture

import (
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/vision"
)

// Stage says how far a capture has come.
type Stage string

// The stages, in their order. Done and Refused end a capture.
const (
	Find    Stage = "find"    // no zone was read yet
	Hold    Stage = "hold"    // a zone was read; more frames must agree
	Tilt    Stage = "tilt"    // the document must be tilted as the hint says
	Turn    Stage = "turn"    // its other side, with the portrait, must be shown
	Done    Stage = "done"    // Document holds what was read
	Refused Stage = "refused" // Reason says why
)

// Hint says what the person should change or do. Only one thing is named at a time.
type Hint string

// The hints. Edges of a document are named as in its reading position.
const (
	NoHint        Hint = ""
	ShowZone      Hint = "show_zone"      // show the side with the lines of letters and <<<
	OtherDocument Hint = "other_document" // this is a visa; show a passport or an identity card
	Closer        Hint = "closer"
	Further       Hint = "further" // move away, or show the whole page
	Dark          Hint = "dark"
	Glare         Hint = "glare"
	ZoneGlare     Hint = "zone_glare"   // light hides a part of the lines
	ZoneCovered   Hint = "zone_covered" // something else does, such as a finger
	Blurred       Hint = "blurred"
	HoldStill     Hint = "hold_still"
	RaiseLeft     Hint = "raise_left" // bring the left edge closer to the camera than the right
	RaiseRight    Hint = "raise_right"
	RaiseTop      Hint = "raise_top"
	RaiseBottom   Hint = "raise_bottom"
	TurnOver      Hint = "turn_over" // show the other side
)

// Reason says why a capture was refused. It contains nothing of the document.
type Reason string

// The reasons.
const (
	Repeated      Reason = "repeated"       // earlier frames appeared again, which no camera delivers
	Frozen        Reason = "frozen"         // the camera shows the same frame for too long
	Screen        Reason = "screen"         // the raster of a screen shows
	Disagreeing   Reason = "disagreeing"    // frames show different zones
	UnknownIssuer Reason = "unknown_issuer" // the issuing state has no known code
	NoPortrait    Reason = "no_portrait"    // none found next to a zone that is read well
	OtherPortrait Reason = "other_portrait" // frames show different portraits
	Unprompted    Reason = "unprompted"     // the document moves in other ways than asked
	SidesApart    Reason = "sides_apart"    // the other side was not shown in time, or the view was interrupted
)

// Step is the result of one frame.
type Step struct {
	Stage Stage
	Hint  Hint
}

// Document is what a capture read. It describes a person: it must not be kept or logged.
type Document struct {
	Zone     mrz.Result // valid, of TD1, TD2 or TD3, with a known issuing state
	Portrait *vision.Features
}
