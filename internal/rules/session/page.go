package session

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
)

// Opened records the first opening of a pending session's link. It ignores
// errors: the page is shown anyway.
func (s *Service) Opened(ctx context.Context, sess Session) {
	if now := s.now(); sess.OpenedAt == nil && sess.StatusAt(now) == StatusPending {
		ctx, cancel := context.WithTimeout(ctx, markTime)
		defer cancel()
		_ = s.store.MarkOpened(ctx, sess.ID, now)
	}
}

// markTime is the maximum time that a shopper waits while a time is recorded.
const markTime = 500 * time.Millisecond

// Bind binds the session to the browser that holds cookie, unless it is bound
// to another one. It reports whether the session is now bound to this browser.
func (s *Service) Bind(ctx context.Context, sess Session, cookie string) (bool, error) {
	hash := credential.HashToken(cookie)
	if sess.BrowserHash == nil {
		bound, err := s.store.BindBrowser(ctx, sess.ID, hash)
		if err != nil || bound {
			return bound, err
		}
		if sess, err = s.store.SessionByLink(ctx, sess.LinkHash); err != nil {
			return false, err
		}
	}
	return bytes.Equal(sess.BrowserHash, hash), nil
}

// Owns reports whether the session is bound to the browser that holds cookie.
func (s Session) Owns(cookie string) bool {
	return s.BrowserHash != nil && bytes.Equal(s.BrowserHash, credential.HashToken(cookie))
}

// Consent records whether the shopper accepts the visibility disclosure. It
// returns fault.Conflict if the tenant does not show it, ErrLate once a capture
// has begun, a document check is open or the session has ended, and ErrDisabled.
func (s *Service) Consent(ctx context.Context, sess Session, accepted bool) error {
	_, err := s.decide(ctx, sess, Claim{}, func(d *decision) error {
		if !d.tenant.AgeVisibility {
			return fault.New(fault.Conflict, "This site does not ask to see the estimate")
		}
		if d.sess.Attempts > 0 || d.sess.DocumentOpen() {
			return ErrLate
		}
		if d.sess.ConsentedAt = nil; accepted {
			d.sess.ConsentedAt = &d.now
		}
		return nil
	})
	return err
}

// StartAttempt counts a capture whose challenge begins, and returns the updated
// session. The caller must call EndAttempt when it ends without a verdict.
// StartAttempt returns fault.TooMany if no attempt is left, ErrLate if the session has
// ended or moved on or the claim has ended, and ErrDisabled.
func (s *Service) StartAttempt(ctx context.Context, sess Session, by Claim) (Session, error) {
	return s.decide(ctx, sess, by, func(d *decision) error {
		if d.sess.AttemptsLeft() == 0 {
			return fault.New(fault.TooMany, "No attempt is left")
		}
		if d.sess.WithoutCamera(d.tenant) {
			return ErrLate
		}
		if d.sess.Attempts++; d.sess.BegunAt == nil {
			d.sess.BegunAt = &d.now
		}
		return nil
	})
}

// EndAttempt ends an attempt without a verdict and keeps why, if that is not empty. If
// the server was the reason, WhyBusy, the attempt is taken back. If no attempt is left,
// neither in sess, as StartAttempt returned it, nor now, the camera check ends without an
// estimate. The caller may also give up an attempt that still runs elsewhere. EndAttempt
// returns the updated session, ErrLate if the session has moved on, and ErrDisabled.
func (s *Service) EndAttempt(ctx context.Context, sess Session, why string) (Session, error) {
	return s.decide(ctx, sess, Claim{}, func(d *decision) error {
		if d.sess.DocumentOpen() || why == WhyBusy && d.sess.Attempts == 0 {
			return ErrLate
		}
		d.setBack(why, "")
		if why == WhyBusy {
			d.sess.Attempts--
		}
		if sess.AttemptsLeft() > 0 || d.sess.AttemptsLeft() > 0 {
			return nil
		}
		return s.apply(d, NoEstimate(Claim{}))
	})
}

// Note keeps a note, each once, and of ofDocuments one of a kind. It returns ErrLate if the session or the claim has
// ended, and ErrDisabled.
func (s *Service) Note(ctx context.Context, sess Session, by Claim, note string) error {
	_, err := s.decide(ctx, sess, by, func(d *decision) error {
		instead := note
		if kind, _, _ := (Setback{Why: note}).Note(); slices.Contains(ofDocuments, kind+"_") {
			instead = kind + "_"
		}
		d.setBack(note, instead)
		return nil
	})
	return err
}

// ofDocuments are how notes about documents begin, of which none is kept with a pass.
var ofDocuments = []string{NoteDocument + "_", NoteWallet + "_", NotePhoto + "_"}

// maxSetbacks is how many setbacks are kept, the newest; a server may end any number of streams.
const maxSetbacks = 20

// setBack keeps why, unless that is empty, in place of what begins with one of instead that is not empty.
func (d *decision) setBack(why string, instead ...string) {
	old := func(b Setback) bool {
		return slices.ContainsFunc(instead, func(of string) bool { return of != "" && strings.HasPrefix(b.Why, of) })
	}
	kept := slices.DeleteFunc(slices.Clone(d.sess.Setbacks), old)
	if why != "" {
		kept = append(kept[max(0, len(kept)-maxSetbacks+1):], Setback{d.now, why})
	}
	d.sess.Setbacks = kept
}

// Strike counts a failed liveness check. Strike number MaxStrikes completes the session
// as SPOOF. After an earlier strike, if no attempt is left, the camera check ends like
// with EndAttempt. Strike returns the updated session, ErrLate if the session has ended, a
// document check is open or the claim has ended, and ErrDisabled.
func (s *Service) Strike(ctx context.Context, sess Session, by Claim) (Session, error) {
	return s.decide(ctx, sess, by, func(d *decision) error {
		if d.sess.WithoutCamera(d.tenant) {
			return ErrLate
		}
		d.sess.Strikes++
		d.setBack(WhyUnsure, "")
		switch {
		case d.sess.Strikes >= MaxStrikes:
			return d.complete(ResultSpoof, Decision{Status: StatusSpoof, At: d.now, Source: SourceCamera})
		case d.sess.AttemptsLeft() == 0:
			return s.apply(d, NoEstimate(Claim{}))
		}
		return nil
	})
}

// Redirect returns the signed success redirect of a PASSED session for the
// browser that holds cookie. It reports false if the session has not passed,
// belongs to another browser, or passed more than RedirectGrace ago.
func (s *Service) Redirect(ctx context.Context, sess Session, cookie string) (string, bool, error) {
	now := s.now()
	if sess.Status != StatusPassed || sess.CompletedAt == nil || !sess.Owns(cookie) ||
		now.After(sess.CompletedAt.Add(RedirectGrace)) {
		return "", false, nil
	}
	key, err := s.tenants.RedirectKey(ctx, sess.TenantID, sess.Livemode)
	if err != nil {
		return "", false, err
	}
	expires, err := s.tokenExpiry(ctx, sess, now)
	if err != nil {
		return "", false, err
	}
	claims := credential.Redirect{Session: sess.ID.String(), Status: string(ResultVerified), IsAdult: true}
	url, err := credential.RedirectURL(sess.SuccessURL, claims, claims.Token(key, expires))
	if err == nil && sess.RedirectedAt == nil {
		// Errors are ignored, so that a shopper who passed always reaches the
		// shop.
		ctx, cancel := context.WithTimeout(ctx, markTime)
		defer cancel()
		_ = s.store.MarkRedirected(ctx, sess.ID, now)
	}
	return url, err == nil, err
}

// tokenExpiry returns the expiry of a redirect token created now.
func (s *Service) tokenExpiry(ctx context.Context, sess Session, now time.Time) (time.Time, error) {
	if sess.NextRedirectExpired && !sess.Livemode {
		taken, err := s.store.TakeExpiredRedirect(ctx, sess.ID)
		if err != nil {
			return time.Time{}, err
		}
		if taken {
			return now.Add(-expiredFor), nil
		}
	}
	return now.Add(s.cfg.TokenTTL), nil
}

// Now returns the time of the service's clock, for pages that show the remaining
// time.
func (s *Service) Now() time.Time { return s.now() }
