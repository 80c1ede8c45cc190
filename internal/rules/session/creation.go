package session

import (
	"context"
	"errors"
	"log/slog"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

// creation is a session that is ready to be written.
type creation struct {
	sess   Session
	link   string // the token in its verification URL
	terms  tenant.Terms
	charge billing.Charge
	claim  *IdempotencyClaim // nil without an idempotency key
	// the refused fields; the creation may still be the repetition of an earlier request, which is found by its claim
	refused []fault.FieldError
}

// errReplay rolls back a transaction whose idempotency key is already in use.
var errReplay = errors.New("session: idempotency key was used")

// writeWithOthers writes a creation together with those that arrive at the same
// time, if the tenant's terms are still those of the creation. It reports false if
// writeAlone has to find out why that is not possible.
func (s *Service) writeWithOthers(ctx context.Context, c creation) (bool, error) {
	written, err := s.creations.Do(ctx, line{s.cfg.Limits.Terms(c.charge), c.terms, c.claim != nil}, c)
	// Any other error may concern another creation.
	if written || err != nil && (ctx.Err() != nil || fault.CodeOf(err) == fault.Unavailable) {
		return written, err
	}
	if panicked, ok := errors.AsType[*fault.PanicError](err); ok {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "creations could not be written together",
			slog.String("error", panicked.Error()), slog.Any("stack", panicked.Frames))
	}
	return false, nil
}

// writeAlone writes a creation in its own transaction, which also finds out why
// it cannot be written.
func (s *Service) writeAlone(ctx context.Context, c creation) (earlier IdempotencyClaim, err error) {
	err = s.store.UpdateSessions(ctx, func(tx Tx) error {
		if c.claim != nil {
			used, claimed, err := tx.ClaimIdempotencyKey(*c.claim, c.sess.CreatedAt)
			if err != nil {
				return err
			}
			if !claimed {
				earlier = used
				return errReplay
			}
		}
		// This is checked after the claim: a repeated request gets its first
		// answer even if the tenant's settings have changed.
		if len(c.refused) > 0 {
			return fault.InvalidFields(c.refused...)
		}
		if err := tx.InsertSession(c.sess); err != nil {
			return err
		}
		return s.cfg.Limits.Take(tx, c.charge)
	})
	return earlier, err
}

// writeTogether writes creations in one transaction, or reports false. Otherwise
// they would wait for each other at the balance's lock.
func (s *Service) writeTogether(ctx context.Context, l line, together []creation) (bool, error) {
	var sessions []Session
	var claims []IdempotencyClaim
	var charges []billing.Charge
	for _, c := range together {
		sessions, charges = append(sessions, c.sess), append(charges, c.charge)
		if c.claim != nil {
			claims = append(claims, *c.claim)
		}
	}
	for p, err := range billing.Purchases(l.balance, charges) {
		if err != nil {
			return false, err
		}
		if written, err := s.store.CreateSessions(ctx, l.owner, sessions, claims, p); written || err != nil {
			return written, err
		}
	}
	return false, nil
}

// maxTogether is the maximum number of a tenant's creations in one transaction, and
// of its status lookups in one query, which serves at most as many tenants.
const maxTogether = 64

// line holds what creations must have in common to be written together. Each
// creation with an idempotency key has its own line, because one key that is in
// use prevents a whole transaction.
type line struct {
	balance billing.Terms
	owner   tenant.Terms // two readings with limits of the tenant's own are never equal, which only costs another line
	claimed bool
}
