package session

import (
	"bytes"
	"context"
	"time"

	"agegate/internal/credential"
	"agegate/internal/fault"
	"agegate/internal/tenant"
)

// ErrDisabled refuses everything a shopper does on a session whose tenant is
// disabled.
var ErrDisabled = fault.New(fault.TenantDisabled, "This check is not available")

// Claim says who makes a camera check. The zero value is the browser that the
// session is bound to, which stays bound; a phone's claim, from PhoneClaim,
// ends when its handover is replaced.
type Claim struct {
	tokenHash []byte // of the handover; nil: the session's own browser
	phoneHash []byte
}

// PhoneClaim is the claim of the phone that took the handover of a token and
// holds cookie.
func PhoneClaim(token, cookie string) Claim {
	return Claim{tokenHash: credential.HashToken(token), phoneHash: credential.HashToken(cookie)}
}

// holds reports whether the claim stands in the transaction's view.
func (c Claim) holds(tx HandoverTx, linkHash []byte) (bool, error) {
	if c.tokenHash == nil {
		return true, nil
	}
	h, err := tx.HandoverOf(linkHash)
	if fault.CodeOf(err) == fault.NotFound {
		return false, nil
	}
	return bytes.Equal(h.TokenHash, c.tokenHash) && bytes.Equal(h.PhoneHash, c.phoneHash), err
}

// decision is one transaction that changes one open session. What it decides on
// was read under the lock of the session's row, so that it holds until the
// transaction ends, whatever other requests and other replicas do.
type decision struct {
	Tx
	sess   Session // kept up to date by whoever changes the row
	tenant tenant.Tenant
	now    time.Time
}

// decide runs change in the transaction of a decision and returns the session
// as it then stands. It returns ErrDisabled when the tenant is disabled and
// ErrLate when the session is not open or the claim has ended; change may
// refuse too. With a refusal comes the session's present state, unchanged.
// Of view, only what never changes is used.
func (s *Service) decide(ctx context.Context, view Session, by Claim, change func(d *decision) error) (Session, error) {
	after := view
	err := s.store.UpdateSessions(ctx, func(tx Tx) error {
		row, err := tx.LockSession(view.ID)
		if err != nil {
			return notFoundAs(err, errNotFound)
		}
		after = row
		d := &decision{Tx: tx, sess: row, now: s.now()}
		// Read after the lock, not joined to it: of tables that it does not lock, a
		// statement that waited for a row sees the state from before it waited.
		if d.tenant, err = tx.Tenant(row.TenantID); err != nil {
			return err
		}
		if d.tenant.Disabled {
			return ErrDisabled
		}
		if row.StatusAt(d.now) != StatusPending {
			return ErrLate
		}
		if held, err := by.holds(tx, row.LinkHash); err != nil || !held {
			return lateUnless(held, err)
		}
		if err := change(d); err != nil {
			return err
		}
		after = d.sess
		return nil
	})
	if code := fault.CodeOf(err); err == nil || code != "" && code != fault.Unavailable {
		return after, err
	}
	// A COMMIT that failed has an unknown outcome: the row is the truth.
	after, readErr := s.store.SessionByLink(ctx, view.LinkHash)
	switch {
	case readErr != nil:
		return view, err
	case after.Status.Terminal():
		return after, nil
	}
	return after, err
}

// lateUnless turns a conditional update's answer into an error.
func lateUnless(ok bool, err error) error {
	if err == nil && !ok {
		return ErrLate
	}
	return err
}
