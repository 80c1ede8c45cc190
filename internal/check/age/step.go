package age

import (
	"time"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// Phase is how far a capture has come.
type Phase string

// The phases of a capture, in order.
const (
	PhaseFraming   Phase = "framing"   // until the first good frame
	PhaseChallenge Phase = "challenge" // collecting the frames that count; the attempt counts as well
	PhaseDone      Phase = "done"      // Step.Verdict is set
)

// Verdict is how a capture ended; "" while it runs.
type Verdict string

// The verdicts of a capture.
const (
	VerdictMet       Verdict = "met"        // the estimate reaches the cutoff
	VerdictBelow     Verdict = "below"      // it does not
	VerdictSpoof     Verdict = "spoof"      // not a live face
	VerdictNoCapture Verdict = "no_capture" // time or frames ran out
)

// Reason is why a capture ended without a result; "" if too little was seen of the face.
type Reason string

// The reasons.
const (
	ReasonUnserved Reason = "unserved" // the server was too slow to see enough
	ReasonDrawn    Reason = "drawn"    // the face looks drawn or rendered
	ReasonAstray   Reason = "astray"   // the head went other ways than the prompts
	ReasonUnmoved  Reason = "unmoved"  // the face was in view, but the head did not follow a prompt in its time
	ReasonHasty    Reason = "hasty"    // the prompts were fulfilled, but too few frames showed the head on its way
)

// Step is the server's answer to one frame.
type Step struct {
	Guidance       vision.Guidance
	Phase          Phase
	Prompt         liveness.Prompt
	Hint           liveness.Hint      // shown with the prompt, while it lasts
	Done, Total    int                // prompts of the challenge; in the assisted mode, frames that count and a blink
	Progress       float64            // of the present prompt, 0 to 1 in tenths
	Remaining      time.Duration      // until the prompt lapses; 0 if the person need not do anything
	Extensible     bool               // MoreTime would succeed
	Full           bool               // the next frame may count, so it should have the full size
	AttemptStarted bool               // true once, at the step that starts the challenge
	Verdict        Verdict            // set on the last step
	Age            float64            // years, one decimal; with VerdictMet and VerdictBelow only
	Cutoff         float64            // years that Age had to reach; with Age only
	Faces          []*vision.Features // of the frames that counted; with VerdictMet and VerdictBelow only
	Why            Reason             // with VerdictNoCapture only
}

// last returns the step as the last of a capture.
func (s Step) last() Step {
	s.Guidance, s.Phase = vision.GuidanceOK, PhaseDone
	return s
}
