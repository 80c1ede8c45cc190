package session

import (
	"cmp"
	"context"
	"reflect"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

// Resolve applies the result of a check to a session and returns the updated
// session: completed, or still PENDING with the document check open. The status
// change, its event and its billing are written in one transaction, which also
// reads every value that the decision depends on. Resolve returns ErrLate if the
// session has ended, the result does not apply to it or its claim has ended, and
// ErrDisabled if the tenant is disabled; then the returned session is the stored
// one, unchanged. An estimate is stored only if the shopper consented and the
// tenant has turned on age visibility.
func (s *Service) Resolve(ctx context.Context, sess Session, v CheckResult) (Session, error) {
	return s.decide(ctx, sess, v.Claim, func(d *decision) error { return s.apply(d, v) })
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

// decide runs change in a transaction on the locked session, announces what it did, and
// returns the updated session. It returns ErrDisabled if the tenant is disabled, ErrLate if
// the session is not open or the claim has ended, and any error of change; then the session
// is the stored one, unchanged. Only the immutable fields of view are used.
func (s *Service) decide(ctx context.Context, view Session, by Claim, change func(d *decision) error) (Session, error) {
	var d decision
	err := s.store.UpdateSessions(ctx, func(tx Tx) error {
		d = decision{Tx: tx, sess: view, now: s.now()}
		if err := d.lock(by); err != nil {
			return err
		}
		return d.make(change)
	})
	if err == nil {
		s.announce(ctx, d.sess, d.events...)
		return d.sess, nil
	}
	if code := fault.CodeOf(err); code != "" && code != fault.Unavailable {
		return d.sess, err
	}
	// A failed COMMIT may have taken effect, so the row is read.
	stored, readErr := s.store.SessionByLink(ctx, view.LinkHash)
	switch {
	case readErr != nil:
		return view, err
	case stored.Status.Terminal():
		s.announce(ctx, stored)
		return stored, nil
	}
	return stored, err
}

// lock locks and reads the session, and refuses it if it may not change.
func (d *decision) lock(by Claim) error {
	row, err := d.LockSession(d.sess.ID)
	if err != nil {
		return notFoundAs(err, errNotFound)
	}
	d.sess = row
	// The tenant is read by a second statement, not by a join: a statement
	// that waited for a row lock sees the tables that it does not lock as
	// they were before the wait.
	if d.tenant, err = d.Tenant(row.TenantID); err != nil {
		return err
	}
	if d.tenant.Disabled {
		return ErrDisabled
	}
	if row.StatusAt(d.now) != StatusPending {
		return ErrLate
	}
	return lateUnless(by.holds(d.Tx, row.LinkHash))
}

// make runs change on the session and saves it once, if it has changed. With an error
// the session is as read.
func (d *decision) make(change func(d *decision) error) error {
	read := d.sess
	err := change(d)
	if err == nil && !reflect.DeepEqual(d.sess, read) {
		err = d.SaveSession(d.sess)
	}
	if err != nil {
		d.sess = read
	}
	return err
}

// lateUnless returns err, or ErrLate if a conditional update changed no row.
func lateUnless(ok bool, err error) error {
	if err == nil && !ok {
		return ErrLate
	}
	return err
}

// apply takes the step that a result requires, or returns ErrLate if it does not
// apply.
func (s *Service) apply(d *decision, v CheckResult) error {
	if !d.agreed(v.Way) || v.Preferred && d.sess.Attempts > 0 && !d.tenant.DocumentOnly {
		return ErrLate
	}
	made := Decision{Status: v.Result.Status(), At: d.now, Source: v.Source}
	if v.Estimate != nil {
		made.Basis = Basis{Cutoff: &v.Cutoff, Calibration: s.cfg.Calibration}
	}
	if d.sess.ConsentedAt != nil && d.tenant.AgeVisibility {
		made.Estimate = v.Estimate
	}
	switch next(v, d.tenant, d.sess) {
	case stepOffer:
		return s.offerDocument(d, made, v.Preferred)
	case stepComplete:
		if err := d.answer(v.Request); err != nil {
			return err
		}
		if v.Way != "" {
			if !d.sess.DocumentOpen() {
				return ErrLate
			}
			d.setBack("", ofDocuments...)
			if d.sess.DocumentWay = v.Way; v.Way == WayPhoto && v.Result == ResultFallback {
				d.setBack(WhyUnlive, "")
			}
		}
		if v.Source == SourceDocument {
			d.happened(v.Way, documentOutcome(v))
		}
		return d.complete(v.Result, made)
	}
	return ErrLate
}

// step is the effect of a check result on a pending session.
type step int

const (
	stepRefuse   step = iota // the result does not apply
	stepOffer                // offer the document check and stay PENDING
	stepComplete             // change to the result's terminal status
)

// next is the table of transitions out of PENDING by a result. Three others need no
// result: expiry, the last strike (SPOOF, see Strike) and the last refused document
// (FALLBACK, see RefuseDocument). Nothing leaves a terminal status.
//
//	result     source             document check   step
//	VERIFIED   camera             not open         PASSED
//	VERIFIED   forced, document   any              PASSED
//	SPOOF      camera             not open         SPOOF
//	SPOOF      forced             not open         SPOOF
//	FALLBACK   camera, forced     off              FALLBACK
//	FALLBACK   camera, forced     on, not open     offer
//	FALLBACK   forced, document   open             FALLBACK
//
// A FALLBACK because the shopper prefers a document only ever opens the document
// check: while that is off, it does not apply.
//
// Once the document check is open, camera results are refused: a shopper whose
// age was refused gets no second estimate. The document check itself never ends
// as SPOOF. A session of a tenant that takes documents only counts as open from
// the start; but a document is read only after the shopper has opened the check.
func next(v CheckResult, t tenant.Tenant, s Session) step {
	opened, noCamera := s.DocumentOpen(), s.WithoutCamera(t)
	switch {
	case v.Preferred && t.OffersDocument() && !opened:
		return stepOffer
	case v.Preferred, v.Source == SourceCamera && noCamera:
		return stepRefuse
	case v.Source == SourceDocument && !opened:
		return stepRefuse
	case v.Result == ResultSpoof && noCamera:
		return stepRefuse
	case v.Result == ResultFallback && t.OffersDocument() && !noCamera:
		return stepOffer
	}
	return stepComplete
}

// offerDocument opens the document check after an age refusal, or because the
// shopper prefers it.
func (s *Service) offerDocument(d *decision, made Decision, preferred bool) error {
	d.sess.DocumentOpenedAt, d.sess.DocumentPreferred = &d.now, preferred
	if made.Source == SourceForced {
		d.setBack(NoteForced, "")
		d.sess.OpenedAt = cmp.Or(d.sess.OpenedAt, &d.now)
	}
	d.happened("", DocumentOffered)
	if preferred {
		d.happened("", DocumentPreferred)
	}
	d.estimated(made)
	return d.extendTo(s.extended(d))
}

// complete ends the session with the result of a check.
func (d *decision) complete(result Result, made Decision) error {
	if d.sess.Livemode {
		if ok, err := billing.Settle(d, d.sess.ID, d.now); err != nil || !ok {
			return lateUnless(ok, err)
		}
	}
	if result != ResultSpoof {
		event, err := webhook.NewEvent(webhook.Completion{
			TenantID: d.sess.TenantID, SessionID: d.sess.ID, Result: webhook.Result(result),
			Livemode: d.sess.Livemode, CompletedAt: d.now, Destination: d.sess.WebhookURL,
		})
		if err != nil {
			return err
		}
		if err := d.InsertEvent(event); err != nil {
			return err
		}
	}
	d.sess.Status = made.Status
	d.sess.CompletedAt = &d.now
	d.sess.Source = made.Source
	d.sess.OpenedAt = cmp.Or(d.sess.OpenedAt, &d.now) // a session completed by force may not have opened its page
	d.estimated(made)
	return nil
}

// estimated copies the decision's estimate and basis to the session.
func (d *decision) estimated(made Decision) {
	if made.Estimate != nil {
		d.sess.DetectedAge = made.Estimate
	}
	if made.Basis.Cutoff != nil {
		d.sess.Basis = made.Basis
	}
}

// documentOutcome returns the outcome of a document check that has ended: passed,
// declined if no document was read, or failed.
func documentOutcome(v CheckResult) DocumentOutcome {
	switch {
	case v.Result == ResultVerified:
		return DocumentPassed
	case v.Way == "":
		return DocumentDeclined
	}
	return DocumentFailed
}

// announce tells the observers of the events of a document check and, after a session
// has ended, of that, and wakes the webhook dispatcher. It must be called after the commit.
func (s *Service) announce(ctx context.Context, sess Session, events ...DocumentEvent) {
	if s.cfg.ObserveDocument != nil {
		for _, event := range events {
			s.cfg.ObserveDocument(event, sess.Livemode)
		}
	}
	switch sess.Status {
	case StatusPending:
		return
	case StatusPassed, StatusFallback: // these statuses have an event
		s.wake()
	}
	s.observe(ctx, sess)
}
