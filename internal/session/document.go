package session

import (
	"context"
	"time"
)

// StepDocument records that the shopper took a step of the open document
// check, which moves the expiry. It returns ErrLate when none is open.
func (s *Service) StepDocument(ctx context.Context, sess Session) (Session, error) {
	err := s.extend(ctx, sess, func(tx Tx, now, expiresAt time.Time) (bool, error) {
		return tx.ExtendSession(ctx, sess.ID, now, expiresAt)
	})
	return s.settled(ctx, sess, err)
}

// offerDocument opens the document check after an age refusal. The estimate
// that refused is kept if the shopper agreed to that.
func (s *Service) offerDocument(ctx context.Context, sess Session, estimate *float64) error {
	return s.extend(ctx, sess, func(tx Tx, now, expiresAt time.Time) (bool, error) {
		return tx.OfferDocument(ctx, sess.ID, now, expiresAt, estimate)
	})
}

// extend moves the expiry of a session and of the unit it holds together:
// later, never earlier, and never past MaxLifetime.
func (s *Service) extend(ctx context.Context, sess Session, update func(tx Tx, now, expiresAt time.Time) (bool, error)) error {
	now := s.now()
	expiresAt := now.Add(s.cfg.TTL)
	if limit := sess.CreatedAt.Add(MaxLifetime); expiresAt.After(limit) {
		expiresAt = limit
	}
	if expiresAt.Before(sess.ExpiresAt) {
		expiresAt = sess.ExpiresAt
	}
	return s.store.UpdateSessions(ctx, func(tx Tx) error {
		ok, err := update(tx, now, expiresAt)
		if err != nil || !ok {
			return lostUnless(ok, err)
		}
		if !sess.Livemode {
			return nil
		}
		ok, err = tx.ExtendHold(ctx, sess.ID, expiresAt)
		return lostUnless(ok, err)
	})
}
