package session

import (
	"context"
	"errors"
	"sync"

	"agegate/internal/billing"
	"agegate/internal/fault"
)

// creation is a session that is ready to be written.
type creation struct {
	sess    Session
	charge  billing.Charge
	claim   *IdempotencyClaim  // nil without an idempotency key
	refused []fault.FieldError // of a request whose first answer may be looked up by its claim all the same
}

// errReplay rolls back a transaction whose idempotency key is already in use.
var errReplay = errors.New("session: idempotency key was used")

// write writes a creation. It returns errReplay and the earlier claim for an
// idempotency key that is in use.
func (s *Service) write(ctx context.Context, c creation) (earlier IdempotencyClaim, err error) {
	if len(c.refused) == 0 {
		written, err := s.creations.write(ctx, s.cfg.Limits.Terms(c.charge), c)
		// Any other error may be about another creation.
		if written || ctx.Err() != nil || fault.CodeOf(err) == fault.Unavailable {
			return IdempotencyClaim{}, err
		}
	}
	return s.writeAlone(ctx, c)
}

// writeAlone writes a creation in a transaction of its own, which also finds out
// why it cannot be written.
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
		// Checked after the claim: a repeated request gets its first answer even if
		// the tenant's settings have changed.
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

// writeTogether writes creations on the same terms in one transaction, or reports
// false.
func (s *Service) writeTogether(ctx context.Context, terms billing.Terms, together []creation) (bool, error) {
	var sessions []Session
	var claims []IdempotencyClaim
	var charges []billing.Charge
	for _, c := range together {
		sessions, charges = append(sessions, c.sess), append(charges, c.charge)
		if c.claim != nil {
			claims = append(claims, *c.claim)
		}
	}
	purchases, err := billing.Purchases(terms, charges)
	if err != nil {
		return false, err
	}
	for _, p := range purchases {
		if written, err := s.store.CreateSessions(ctx, sessions, claims, p); written || err != nil {
			return written, err
		}
	}
	return false, nil
}

// maxTogether is the most creations that one transaction writes.
const maxTogether = 64

// gathering lets creations share transactions: those that come while one on the
// same terms is being written are written together after it. They would wait for
// each other anyway, at the balance's lock. One that is alone does not wait.
type gathering struct {
	together func(ctx context.Context, terms billing.Terms, together []creation) (bool, error)

	mu    sync.Mutex
	lines map[line][]*waiting // of the lines that are being written
}

// line is what creations must have in common to be written together. Those with
// an idempotency key have lines of their own, because one key that is in use
// keeps a whole transaction from being written.
type line struct {
	billing.Terms
	claimed bool
}

// waiting is a creation in a line.
type waiting struct {
	creation
	ctx     context.Context
	done    chan struct{} // closed when written and err are set
	written bool
	err     error
}

// write writes a creation, perhaps together with others, or reports false. The
// reason may be another creation.
func (g *gathering) write(ctx context.Context, terms billing.Terms, c creation) (bool, error) {
	l, w := line{terms, c.claim != nil}, &waiting{creation: c, ctx: ctx, done: make(chan struct{})}
	g.mu.Lock()
	if _, busy := g.lines[l]; busy {
		g.lines[l] = append(g.lines[l], w)
		g.mu.Unlock()
		select {
		case <-w.done:
			return w.written, w.err
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	g.lines[l] = nil
	g.mu.Unlock()
	defer g.next(l)
	return g.together(ctx, terms, []creation{c})
}

// next begins the next transaction of a line, if somebody waits.
func (g *gathering) next(l line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.lines[l]), maxTogether)
	if n == 0 {
		delete(g.lines, l)
		return
	}
	batch := g.lines[l][:n:n]
	g.lines[l] = g.lines[l][n:]
	go g.serve(l, batch)
}

// serve writes the creations of a batch whose callers still wait. They share the
// transaction, so none of them can cancel it.
func (g *gathering) serve(l line, batch []*waiting) {
	var present []*waiting
	var together []creation
	for _, w := range batch {
		if w.ctx.Err() == nil {
			present, together = append(present, w), append(together, w.creation)
		}
	}
	if len(present) > 0 {
		written, err := g.together(context.WithoutCancel(present[0].ctx), l.Terms, together)
		for _, w := range present {
			w.written, w.err = written, err
			close(w.done)
		}
	}
	g.next(l)
}
