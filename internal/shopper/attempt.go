package shopper

import (
	"context"
	"time"

	"agegate/internal/age"
	"agegate/internal/fault"
	"agegate/internal/session"

	"github.com/coder/websocket"
)

// attempt is what a camera check has written to its session.
type attempt struct {
	begun bool // the challenge: an attempt is counted
	open  bool // it is counted, and nothing has ended it
	last  bool // no attempt follows it

	returned bool // it was taken back
}

// record writes what a step means for the session and reports whether the
// page has to move on.
func (s *stream) record(ctx context.Context, step age.Step) (moved bool, err error) {
	if step.AttemptStarted {
		after, err := s.pages.cfg.Sessions.StartAttempt(ctx, s.visit.sess, s.visit.claim)
		if isLate(err) || isDisabled(err) || fault.CodeOf(err) == fault.TooMany {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		s.attempt = attempt{begun: true, open: true, last: after.AttemptsLeft() == 0}
	}
	if step.Verdict == "" {
		return false, nil
	}
	err = s.settle(ctx, step)
	if isLate(err) || isDisabled(err) {
		err = nil
	}
	if err == nil {
		s.attempt.open = false
	}
	return true, err
}

// settle applies a verdict.
func (s *stream) settle(ctx context.Context, step age.Step) error {
	sessions := s.pages.cfg.Sessions
	verdict := session.CheckResult{Source: session.SourceCamera, Estimate: &step.Age, Claim: s.visit.claim}
	switch step.Verdict {
	case age.VerdictMet:
		verdict.Result = session.ResultVerified
	case age.VerdictBelow:
		verdict.Result = session.ResultFallback
	case age.VerdictSpoof:
		_, err := sessions.Strike(ctx, s.visit.sess, s.visit.claim)
		return err
	default: // unless the attempt was the last, the page offers another
		return s.conclude(ctx, step.Unserved)
	}
	return persist(ctx, func() error {
		_, err := sessions.Resolve(ctx, s.visit.sess, verdict)
		return err
	})
}

// finish ends an attempt that no verdict has ended, when the stream is closed
// with the code.
func (s *stream) finish(ctx context.Context, code websocket.StatusCode) {
	unserved := code == websocket.StatusTryAgainLater || code == websocket.StatusGoingAway
	if err := s.conclude(ctx, unserved); err != nil {
		s.pages.cfg.Logger.Error("end of an attempt not written", "code", fault.CodeOf(err))
	}
}

// conclude ends an attempt without a result. One that the server did not serve
// to its end is taken back; the last one otherwise ends the camera check.
func (s *stream) conclude(ctx context.Context, unserved bool) error {
	if !s.attempt.open || !unserved && !s.attempt.last {
		return nil
	}
	s.attempt.open, s.attempt.returned = false, unserved
	err := persist(ctx, func() error {
		if unserved {
			return s.pages.cfg.Sessions.ReturnAttempt(ctx, s.visit.sess)
		}
		_, err := s.pages.cfg.Sessions.UseUp(ctx, s.visit.sess)
		return err
	})
	if isLate(err) || isDisabled(err) {
		return nil
	}
	return err
}

// persist calls write again when the database does not answer: what a camera
// check has come to must not be lost to a short failure. write decides on the
// session's row, so that a second call does no harm.
func persist(ctx context.Context, write func() error) error {
	for pause := time.Second; ; pause *= 2 {
		err := write()
		if fault.CodeOf(err) != fault.Unavailable || pause > 4*time.Second {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}
