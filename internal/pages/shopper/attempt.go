package shopper

import (
	"context"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document/photo"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"

	"github.com/coder/websocket"
)

// attempt is a camera check together with what it has written to its session.
type attempt struct {
	Capture
	pages *Pages
	visit visit

	counted bool // how it ended is counted

	filmed bool // a picture was looked at
	begun  bool // the challenge has begun: the attempt counts
	open   bool // the attempt counts and has not ended

	returned bool // the attempt was taken back
}

// take implements exam.
func (a *attempt) take(ctx context.Context, f age.Frame) (photo.Step, *onwardMessage, error) {
	step, err := a.Add(ctx, f)
	if err != nil {
		return photo.Step{}, nil, err
	}
	a.filmed = true
	moved, err := a.write(context.WithoutCancel(ctx), step)
	if err != nil || !moved {
		return photo.Step{Step: step}, nil, unwritten(err)
	}
	message := &onwardMessage{Next: "reload"}
	if step.Verdict == age.VerdictNoCapture && !a.begun {
		message.Next = "retry"
	}
	return photo.Step{}, message, nil
}

// write writes the effect of a step to the session and reports whether the page must show the session's next state.
func (a *attempt) write(ctx context.Context, step age.Step) (moved bool, err error) {
	if step.AttemptStarted {
		after, err := a.pages.cfg.Sessions.StartAttempt(ctx, a.visit.sess, a.visit.claim)
		if isLate(err) || isDisabled(err) || fault.CodeOf(err) == fault.TooMany {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		a.visit.sess, a.begun, a.open, a.returned = after, true, true, false
	}
	if step.Verdict == "" {
		return false, nil
	}
	if step.Why != age.ReasonUnserved {
		a.count(endOfCheck(step))
	}
	err = a.settle(ctx, step)
	if isLate(err) || isDisabled(err) {
		err = nil
	}
	if err == nil {
		a.open = false
	}
	return true, err
}

// settle applies a verdict.
func (a *attempt) settle(ctx context.Context, step age.Step) error {
	sessions := a.pages.cfg.Sessions
	verdict := session.CheckResult{Source: session.SourceCamera, Estimate: &step.Age, Cutoff: step.Cutoff,
		Claim: a.visit.claim}
	switch step.Verdict {
	case age.VerdictMet:
		verdict.Result = session.ResultVerified
	case age.VerdictBelow:
		verdict.Result = session.ResultFallback
	case age.VerdictSpoof:
		_, err := sessions.Strike(ctx, a.visit.sess, a.visit.claim)
		return err
	default: // the page offers another attempt, unless this was the last
		return a.conclude(ctx, whyEnded(step))
	}
	return persist(ctx, func() error {
		_, err := sessions.Resolve(ctx, a.visit.sess, verdict)
		return err
	})
}

// whyEnded returns why a check with a verdict gave no result, or "" without a verdict.
func whyEnded(step age.Step) string {
	switch {
	case step.Verdict == "":
		return ""
	case step.Why == "":
		return session.WhyAgain
	case step.Why == age.ReasonUnserved:
		return session.WhyBusy
	}
	return string(step.Why) // sessions name the others as checks do
}

// How a camera check ends.
const (
	endPassed   = "passed"
	endBelow    = "below" // the estimate is below the cutoff
	endNotLive  = "not_live"
	endDrawn    = "drawn"    // the face looked drawn or rendered
	endUnusable = "unusable" // no usable picture within its time
	endLeft     = "left"     // the shopper left before its end
)

// Ends returns the names of the ways in which a camera check ends.
func Ends() []string {
	return []string{endPassed, endBelow, endNotLive, endDrawn, endUnusable, endLeft}
}

// endOfCheck returns how a check with a verdict has ended.
func endOfCheck(step age.Step) string {
	switch {
	case step.Verdict == age.VerdictMet:
		return endPassed
	case step.Verdict == age.VerdictBelow:
		return endBelow
	case step.Verdict == age.VerdictSpoof:
		return endNotLive
	case step.Why == age.ReasonDrawn:
		return endDrawn
	default:
		return endUnusable
	}
}

// count counts a check once. It does not count a check of a test session.
func (a *attempt) count(ended string) {
	if !a.counted && a.visit.sess.Livemode {
		a.pages.cfg.Counted(ended)
	}
	a.counted = true
}

// finish implements exam: it ends an attempt that has no verdict.
func (a *attempt) finish(ctx context.Context, code websocket.StatusCode) (returned bool) {
	if !a.open && (a.begun || code != closeSpent) {
		if a.filmed && !a.begun && !a.counted && !unserved(code) && code != closeTakenOver {
			// It helps support staff only, so its errors are not reported.
			_ = a.pages.cfg.Sessions.Note(ctx, a.visit.sess, a.visit.claim, session.NoteFaceless)
		}
		return a.returned
	}
	why := session.WhyLeft
	switch {
	case unserved(code):
		why = session.WhyBusy
	case code == closeSpent:
		why = session.WhyAgain
		a.count(endUnusable)
	case code != closeTakenOver:
		a.count(endLeft)
	}
	if err := a.conclude(ctx, why); err != nil {
		a.pages.cfg.Logger.ErrorContext(ctx, "end of an attempt not written", "code", fault.CodeOf(err))
	}
	return a.returned
}

// unserved reports whether this close code means that the server did not serve the stream to its end.
func unserved(code websocket.StatusCode) bool {
	return code == websocket.StatusTryAgainLater || code == websocket.StatusGoingAway
}

// conclude ends an attempt without a result, and keeps why; see session.EndAttempt.
func (a *attempt) conclude(ctx context.Context, why string) error {
	a.open, a.returned = false, why == session.WhyBusy
	err := persist(ctx, func() error {
		_, err := a.pages.cfg.Sessions.EndAttempt(ctx, a.visit.sess, why)
		return err
	})
	if isLate(err) || isDisabled(err) {
		return nil
	}
	return err
}

// persist repeats write while the database does not answer, so that a short failure does not lose the result of a
// camera check. Repeating is harmless, because write checks the session's row before it changes it.
func persist(ctx context.Context, write func() error) error {
	for pause := time.Second; ; pause *= 2 {
		err := write()
		if fault.CodeOf(err) != fault.Unavailable || pause > 4*time.Second {
			return err
		}
		if routine.Wait(ctx, pause) != nil {
			return err
		}
	}
}
