package session

import (
	"bytes"
	"context"
	"reflect"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

// ErrDisabled is returned for every action of a shopper if the session's tenant
// is disabled.
var ErrDisabled = fault.New(fault.TenantDisabled, "This check is not available")

// Claim identifies the device that performs a camera check. The zero value is the
// browser to which the session is bound, which cannot change. A phone's claim,
// from PhoneClaim, ends when its handover is replaced.
type Claim struct {
	tokenHash []byte // of the handover; nil means the session's own browser
	phoneHash []byte
}

// PhoneClaim returns the claim of the phone that accepted the handover with this
// token and holds cookie.
func PhoneClaim(token, cookie string) Claim {
	return Claim{tokenHash: credential.HashToken(token), phoneHash: credential.HashToken(cookie)}
}

// holds reports whether the claim is still valid, as read by the transaction.
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

// decision is one transaction that changes one open session. All data that it
// depends on was read while the session's row was locked, so no other request or
// replica can change the session before the transaction ends.
type decision struct {
	Tx
	sess   Session // as read; decide saves the changes to it
	tenant tenant.Tenant
	now    time.Time
	events []DocumentEvent
}

// decide runs change in a transaction on the locked session and returns the
// updated session. It returns ErrDisabled if the tenant is disabled, ErrLate if
// the session is not open or the claim has ended, and any error of change; then
// the returned session is the stored one, unchanged. Only the immutable fields of
// view are used.
func (s *Service) decide(ctx context.Context, view Session, by Claim, change func(d *decision) error) (Session, error) {
	after := view
	var events []DocumentEvent
	err := s.store.UpdateSessions(ctx, func(tx Tx) error {
		row, err := tx.LockSession(view.ID)
		if err != nil {
			return notFoundAs(err, errNotFound)
		}
		after = row
		d := &decision{Tx: tx, sess: row, now: s.now()}
		// The tenant is read by a second statement, not by a join: a statement
		// that waited for a row lock sees the tables that it does not lock as
		// they were before the wait.
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
		if err := d.make(change); err != nil {
			return err
		}
		after, events = d.sess, d.events
		return nil
	})
	if err == nil && s.cfg.ObserveDocument != nil {
		for _, event := range events {
			s.cfg.ObserveDocument(event, after.Livemode)
		}
	}
	if code := fault.CodeOf(err); err == nil || code != "" && code != fault.Unavailable {
		return after, err
	}
	// A failed COMMIT may have taken effect, so the row is read.
	after, readErr := s.store.SessionByLink(ctx, view.LinkHash)
	switch {
	case readErr != nil:
		return view, err
	case after.Status.Terminal():
		return after, nil
	}
	return after, err
}

// make runs change on the session and saves it once, if it has changed.
func (d *decision) make(change func(d *decision) error) error {
	read := d.sess
	if err := change(d); err != nil || reflect.DeepEqual(d.sess, read) {
		return err
	}
	return d.SaveSession(d.sess)
}

// lateUnless returns err, or ErrLate if a conditional update changed no row.
func lateUnless(ok bool, err error) error {
	if err == nil && !ok {
		return ErrLate
	}
	return err
}
