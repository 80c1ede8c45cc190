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

// ErrDisabled is returned for every action of a shopper on a session whose
// tenant is disabled.
var ErrDisabled = fault.New(fault.TenantDisabled, "This check is not available")

// Claim identifies the device that makes a camera check. The zero value is the
// browser that the session is bound to, which cannot change; a phone's claim,
// from PhoneClaim, ends when its handover is replaced.
type Claim struct {
	tokenHash []byte // of the handover; nil means the session's own browser
	phoneHash []byte
}

// PhoneClaim is the claim of the phone that accepted the handover with this
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

// decision is one transaction that changes one open session. Everything it
// depends on was read while the session's row was locked, so no other request
// or replica can change it before the transaction ends.
type decision struct {
	Tx
	sess   Session // as read; decide saves what the decision changes
	tenant tenant.Tenant
	now    time.Time
	events []DocumentEvent
}

// decide runs change in the transaction of a decision and returns the updated
// session. It returns ErrDisabled when the tenant is disabled, ErrLate when the
// session is not open or the claim has ended, and any error of change; the
// returned session is then the stored one, unchanged. Only the immutable fields
// of view are used.
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
		// Read by a second statement, not by a join: a statement that waited for a
		// row lock reads the tables it does not lock as they were before it waited.
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
	// It is unknown whether a failed COMMIT took effect: read the row.
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

// lateUnless returns ErrLate for a conditional update that changed no row.
func lateUnless(ok bool, err error) error {
	if err == nil && !ok {
		return ErrLate
	}
	return err
}
