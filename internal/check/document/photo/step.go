package photo

import (
	"cmp"

	"agegate/internal/check/age"
	"agegate/internal/check/document/capture"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// Stage is the subject that the camera should film.
type Stage string

// The stages of a check, in order.
const (
	StageDocument Stage = "document" // before the rear camera
	StageFace     Stage = "face"     // before the front camera
)

// Outcome is how a check ended; "" while it runs.
type Outcome string

// The outcomes of a check.
const (
	Passed      Outcome = "passed"
	Expired     Outcome = "expired"      // the document was read; it has expired
	UnderAge    Outcome = "under_age"    // the document was read; its holder is too young
	Undated     Outcome = "undated"      // the document was read; the month or day of birth is missing, and decides
	AnotherFace Outcome = "another_face" // the document was read; the live face does not match the portrait
	NotLive     Outcome = "not_live"     // the face is not live
	Doubtful    Outcome = "doubtful"     // the pictures do not show one document as a camera sees it
)

// Refusals are the outcomes of a document that was read and refused.
var Refusals = []Outcome{Expired, UnderAge, Undated, AnotherFace}

// Step is the answer to one frame. Its age and faces are never set. With
// age.VerdictNoCapture, the face gave no result, and is asked for again.
type Step struct {
	age.Step
	Stage   Stage
	Outcome Outcome // set on the last step
}

// Prefix is the beginning of guidance and prompts about a document. A
// capture.Hint follows it.
const Prefix = "document."

// Hints lists the hints that may follow the prefix.
var Hints = []capture.Hint{
	capture.ShowZone, capture.OtherDocument, capture.Closer, capture.Further, capture.Dark, capture.Glare,
	capture.ZoneGlare, capture.ZoneCovered, capture.Blurred, capture.HoldStill, capture.RaiseLeft, capture.RaiseRight,
	capture.RaiseTop, capture.RaiseBottom, capture.TurnOver,
}

// stepOf converts the result for a picture of a document to the form used for faces. A
// hint about a good picture becomes a prompt, and a hint about a bad picture becomes
// guidance.
func stepOf(seen capture.Step) Step {
	hint := cmp.Or(seen.Hint, capture.HoldStill)
	step := Step{Stage: StageDocument, Step: age.Step{Phase: age.Phase(StageDocument), Full: true}}
	switch hint {
	case capture.HoldStill, capture.RaiseLeft, capture.RaiseRight, capture.RaiseTop, capture.RaiseBottom, capture.TurnOver:
		step.Guidance, step.Prompt = vision.GuidanceOK, liveness.Prompt(Prefix+hint)
	default:
		step.Guidance = vision.Guidance(Prefix + hint)
	}
	return step
}
