package session

import (
	"context"
	"time"
)

// StepDocument records progress in the open document check, which moves the
// expiry. It returns ErrLate when none is open, and ErrDisabled.
func (s *Service) StepDocument(ctx context.Context, sess Session) (Session, error) {
	return s.decide(ctx, sess, Claim{}, func(d *decision) error {
		expiresAt := s.extended(d)
		ok, err := d.ExtendSession(d.sess.ID, d.now, expiresAt)
		if err != nil || !ok {
			return lateUnless(ok, err)
		}
		return d.extendTo(expiresAt)
	})
}

// RefuseDocument counts a document that was read and refused; the MaxDocuments-th
// one ends the document check as not passed. It returns the session as it then
// stands. It returns ErrLate when no document check is open, and ErrDisabled.
func (s *Service) RefuseDocument(ctx context.Context, sess Session, way Way) (Session, error) {
	after, err := s.decide(ctx, sess, Claim{}, func(d *decision) error {
		ok, err := d.RecordDocument(d.sess.ID, way, true, d.now)
		if err != nil || !ok {
			return lateUnless(ok, err)
		}
		d.sess.DocumentWay = way
		if d.sess.DocumentAttempts++; d.sess.DocumentAttempts < MaxDocuments {
			return nil
		}
		return d.complete(ResultFallback, Decision{Status: StatusFallback, At: d.now, Source: SourceDocument})
	})
	if err == nil {
		s.announce(after)
	}
	return after, err
}

// offerDocument opens the document check after an age refusal.
func (s *Service) offerDocument(d *decision, made Decision) error {
	expiresAt := s.extended(d)
	ok, err := d.OfferDocument(d.sess.ID, made, expiresAt)
	if err != nil || !ok {
		return lateUnless(ok, err)
	}
	d.sess.DocumentOpenedAt = &d.now
	d.estimated(made)
	return d.extendTo(expiresAt)
}

// extended returns the new expiry for progress made now. It is never earlier
// than the present one and never past MaxLifetime.
func (s *Service) extended(d *decision) time.Time {
	expiresAt := d.now.Add(s.cfg.TTL)
	if limit := d.sess.CreatedAt.Add(MaxLifetime); expiresAt.After(limit) {
		expiresAt = limit
	}
	if expiresAt.Before(d.sess.ExpiresAt) {
		return d.sess.ExpiresAt
	}
	return expiresAt
}

// extendTo sets the session's expiry in d and moves that of its hold to the
// same time.
func (d *decision) extendTo(expiresAt time.Time) error {
	d.sess.ExpiresAt = expiresAt
	if !d.sess.Livemode {
		return nil
	}
	ok, err := d.ExtendHold(d.sess.ID, expiresAt)
	return lateUnless(ok, err)
}
