package session

import (
	"context"
	"time"

	"agegate/internal/rules/fault"
)

// ChooseWay begins a way of the open document check, which moves the expiry. It
// withdraws an earlier consent to the comparison of the faces, because choosing
// again asks again. An open request to a wallet ends; request is the nonce of the
// next one, nil for a way without. It returns ErrLate when no document check is
// open or the tenant does not allow the way, ErrAnswered, and ErrDisabled.
func (s *Service) ChooseWay(ctx context.Context, sess Session, way Way, request []byte) (Session, error) {
	return s.decide(ctx, sess, Claim{}, func(d *decision) error {
		if !d.allows(way) || !d.sess.DocumentOpen() {
			return ErrLate
		}
		if err := d.replaceRequest(request); err != nil {
			return err
		}
		d.sess.FaceMatchAt = nil
		return s.progress(d)
	})
}

// replaceRequest ends the open request to a wallet and makes the one with the
// nonce, unless that is nil. What a wallet has answered is not dropped, unless the
// tenant does not allow wallets any more: then it counts for nothing.
func (d *decision) replaceRequest(nonce []byte) error {
	if !d.allows(WayWallet) {
		return nil
	}
	ok, err := d.ReplaceWalletRequest(d.sess.LinkHash, nonce)
	if err == nil && !ok {
		return ErrAnswered
	}
	return err
}

// answer uses up the request to a wallet that a document answers, if it answers
// one.
func (d *decision) answer(nonce []byte) error {
	if nonce == nil {
		return nil
	}
	ok, err := d.TakeWalletRequest(d.sess.LinkHash, nonce)
	return lateUnless(ok, err)
}

// agreed reports whether a document may be judged on a way now: photographs only
// with consent to the comparison of the faces.
func (d *decision) agreed(way Way) bool {
	return d.allows(way) && (way != WayPhoto || d.sess.FaceMatchAt != nil)
}

// allows reports whether the tenant allows a way of the document check now. No
// way, which is to decline the check, is always allowed.
func (d *decision) allows(way Way) bool { return way == "" || d.tenant.Allows(string(way)) }

// progress moves the expiry because of a step in the open document check.
func (s *Service) progress(d *decision) error {
	if !d.sess.DocumentOpen() {
		return ErrLate
	}
	return d.extendTo(s.extended(d))
}

// ConsentFaceMatch records that the shopper agrees to have a document's portrait
// compared with their face, and moves the expiry. An open request to a wallet
// ends. It returns ErrLate when no document check is open or the tenant does not
// allow photographs, ErrAnswered, and ErrDisabled.
func (s *Service) ConsentFaceMatch(ctx context.Context, sess Session) (Session, error) {
	return s.decide(ctx, sess, Claim{}, func(d *decision) error {
		if !d.allows(WayPhoto) || !d.sess.DocumentOpen() {
			return ErrLate
		}
		if err := d.replaceRequest(nil); err != nil {
			return err
		}
		if d.sess.FaceMatchAt == nil {
			d.sess.FaceMatchAt = &d.now
		}
		return s.progress(d)
	})
}

// TakeDocumentCamera counts camera time for photographing a document, before it
// is used, and moves the expiry. It returns the session as it then stands. It
// returns fault.TooMany when less is left, ErrLate when no document check is
// open, the comparison of the faces was not agreed to, the tenant does not allow
// photographs or the claim has ended, and ErrDisabled.
func (s *Service) TakeDocumentCamera(ctx context.Context, sess Session, by Claim, time time.Duration) (Session, error) {
	return s.decide(ctx, sess, by, func(d *decision) error {
		if !d.allows(WayPhoto) {
			return ErrLate
		}
		if d.sess.DocumentOpen() && d.sess.DocumentCameraLeft() < time {
			return fault.New(fault.TooMany, "No camera time is left")
		}
		if !d.agreed(WayPhoto) {
			return ErrLate
		}
		d.sess.DocumentCamera += time
		return s.progress(d)
	})
}

// RefuseDocument counts a document that was read and refused; the MaxDocuments-th
// one ends the document check as not passed. A refusal counts also when the
// consent to the comparison of the faces was withdrawn meanwhile. It returns the
// session as it then stands. It returns ErrLate when no document check is open,
// the tenant does not allow the way, the wallet's request is no longer the present
// one or the claim has ended, and ErrDisabled.
func (s *Service) RefuseDocument(ctx context.Context, sess Session, read Document) (Session, error) {
	way := read.Way
	after, err := s.decide(ctx, sess, read.Claim, func(d *decision) error {
		if !d.allows(way) || !d.sess.DocumentOpen() {
			return ErrLate
		}
		if err := d.answer(read.Request); err != nil {
			return err
		}
		d.sess.DocumentWay = way
		d.happened(way, DocumentRefused)
		if d.sess.DocumentAttempts++; d.sess.DocumentAttempts < MaxDocuments {
			return nil
		}
		d.happened(way, DocumentFailed)
		return d.complete(ResultFallback, Decision{Status: StatusFallback, At: d.now, Source: SourceDocument})
	})
	if err == nil {
		s.announce(after)
	}
	return after, err
}

// DocumentOutcome is what happened in a document check, for metrics.
type DocumentOutcome string

// The outcomes. Those of a document that was read have a way.
const (
	DocumentOffered  DocumentOutcome = "offered"
	DocumentDeclined DocumentOutcome = "declined"
	DocumentRefused  DocumentOutcome = "refused" // a document was read and refused
	DocumentFailed   DocumentOutcome = "failed"  // the check ended as not passed
	DocumentPassed   DocumentOutcome = "passed"
)

// DocumentEvent is an outcome on a way; the way is empty where there is none.
type DocumentEvent struct {
	Way     Way
	Outcome DocumentOutcome
}

// DocumentEvents returns every event that there can be.
func DocumentEvents() []DocumentEvent {
	events := []DocumentEvent{{"", DocumentOffered}, {"", DocumentDeclined}}
	for _, way := range []Way{WayWallet, WayPhoto} {
		for _, outcome := range []DocumentOutcome{DocumentRefused, DocumentFailed, DocumentPassed} {
			events = append(events, DocumentEvent{way, outcome})
		}
	}
	return events
}

// documentOutcome is the outcome that ends a document check with a result.
func documentOutcome(v CheckResult) DocumentOutcome {
	switch {
	case v.Result == ResultVerified:
		return DocumentPassed
	case v.Way == "":
		return DocumentDeclined
	default:
		return DocumentFailed
	}
}

// happened notes an event, which is told once the decision is committed.
func (d *decision) happened(way Way, outcome DocumentOutcome) {
	d.events = append(d.events, DocumentEvent{way, outcome})
}

// offerDocument opens the document check after an age refusal.
func (s *Service) offerDocument(d *decision, made Decision) error {
	d.sess.DocumentOpenedAt = &d.now
	d.happened("", DocumentOffered)
	d.estimated(made)
	return d.extendTo(s.extended(d))
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
