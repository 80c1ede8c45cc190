package session

import (
	"bytes"
	"context"
	"time"

	"agegate/internal/credential"
	"agegate/internal/fault"
)

// ByLink returns the session of a verification link, or fault.NotFound.
func (s *Service) ByLink(ctx context.Context, link string) (Session, error) {
	sess, err := s.store.SessionByLink(ctx, credential.LinkHash(link))
	return sess, notFoundAs(err, errNotFound)
}

// Bind ties the session to the browser that holds cookie, unless another one
// came first. It reports whether the session is now this browser's.
func (s *Service) Bind(ctx context.Context, sess Session, cookie string) (bool, error) {
	hash := credential.LinkHash(cookie)
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

// Owns reports whether cookie is that of the browser the session is bound to.
func (s Session) Owns(cookie string) bool {
	return s.BrowserHash != nil && bytes.Equal(s.BrowserHash, credential.LinkHash(cookie))
}

// Consent records whether the shopper accepts the visibility disclosure. It
// returns fault.Conflict when the tenant does not ask for it, and ErrLate once
// a capture has begun, a document check is open or the session has ended.
func (s *Service) Consent(ctx context.Context, sess Session, accepted bool) error {
	t, err := s.tenants.Tenant(ctx, sess.TenantID)
	if err != nil {
		return err
	}
	if !t.AgeVisibility {
		return fault.New(fault.Conflict, "This site does not ask to see the estimate")
	}
	now := s.now()
	at := &now
	if !accepted {
		at = nil
	}
	ok, err := s.store.RecordConsent(ctx, sess.ID, at, now)
	if err == nil && !ok {
		return ErrLate
	}
	return err
}

// StartAttempt counts a capture whose challenge begins. It returns
// fault.TooMany when none is left and ErrLate when the session has ended.
func (s *Service) StartAttempt(ctx context.Context, sess Session) error {
	ok, err := s.store.StartAttempt(ctx, sess.ID, s.now(), MaxAttempts)
	if err != nil || ok {
		return err
	}
	after, err := s.store.SessionByLink(ctx, sess.LinkHash)
	if err != nil {
		return err
	}
	if after.StatusAt(s.now()) == StatusPending && after.Attempts >= MaxAttempts {
		return fault.New(fault.TooMany, "No attempt is left")
	}
	return ErrLate
}

// Strike counts a failed liveness check; the MaxStrikes-th one completes the
// session as SPOOF. It returns the session as it then stands, or ErrLate.
func (s *Service) Strike(ctx context.Context, sess Session) (Session, error) {
	strikes, err := s.store.RecordStrike(ctx, sess.ID, s.now())
	if err != nil {
		return sess, err
	}
	if strikes >= MaxStrikes {
		return s.Resolve(ctx, sess, Verdict{Result: ResultSpoof, Source: SourceCamera})
	}
	after, err := s.store.SessionByLink(ctx, sess.LinkHash)
	if err == nil && strikes == 0 {
		err = ErrLate
	}
	return after, err
}

// Redirect mints the signed success redirect of a PASSED session for the
// browser that holds cookie. It reports false when the session has not passed,
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
	claims := credential.Redirect{Session: sess.ID.String(), Status: string(ResultVerified), IsAdult: true}
	url, err := credential.RedirectURL(sess.SuccessURL, claims, claims.Token(key, now.Add(s.cfg.TokenTTL)))
	return url, err == nil, err
}

// Now is the service's clock, for pages that show what time is left.
func (s *Service) Now() time.Time { return s.now() }
