package session

import (
	"context"
	"time"

	"agegate/internal/rules/fault"
)

// ChooseWay begins a way of the open document check and extends the expiry. It
// withdraws an earlier consent to the comparison of faces, because choosing again
// asks again. It ends an open request to a wallet; request is the nonce of the
// next request, or nil for a way without one. It returns ErrLate if no document
// check is open or the tenant does not allow the way, ErrAnswered, and
// ErrDisabled.
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

// replaceRequest replaces the open request to a wallet by one with the nonce, or by
// none if that is nil. If a wallet has answered, it returns ErrAnswered instead. If the
// tenant no longer allows wallets, it changes nothing, because no answer counts.
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

// answer uses up the wallet request that a document answers, if there is one.
func (d *decision) answer(nonce []byte) error {
	if nonce == nil {
		return nil
	}
	ok, err := d.TakeWalletRequest(d.sess.LinkHash, nonce)
	return lateUnless(ok, err)
}

// agreed reports whether a document may be judged on a way now. Photographs need
// consent to the comparison of faces.
func (d *decision) agreed(way Way) bool {
	return d.allows(way) && (way != WayPhoto || d.sess.FaceMatchAt != nil)
}

// allows reports whether the tenant allows a way of the document check now. The
// empty way, used to decline the check, is always allowed.
func (d *decision) allows(way Way) bool { return way == "" || d.tenant.Allows(string(way)) }

// progress extends the expiry because of a step in the open document check.
func (s *Service) progress(d *decision) error {
	if !d.sess.DocumentOpen() {
		return ErrLate
	}
	return d.extendTo(s.extended(d))
}

// ConsentFaceMatch records that the shopper agrees to the comparison of a
// document's portrait with their face, and extends the expiry. An open request to
// a wallet ends. It returns ErrLate if no document check is open or the tenant
// does not allow photographs, ErrAnswered, and ErrDisabled.
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

// TakeDocumentCamera counts camera time for photographing a document, before the
// time is used, and extends the expiry. It returns the updated session. It
// returns fault.TooMany if less time is left, ErrLate if no document check is
// open, the shopper has not agreed to the comparison of faces, the tenant does
// not allow photographs or the claim has ended, and ErrDisabled.
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

// RefuseDocument counts a document that was read and refused; refusal number
// MaxDocuments ends the document check as not passed. A refusal counts even if
// the consent to the comparison of faces was withdrawn in the meantime. It
// returns the updated session. It returns ErrLate if no document check is open,
// the tenant does not allow the way, the wallet's request is no longer the
// current one or the claim has ended, and ErrDisabled.
func (s *Service) RefuseDocument(ctx context.Context, sess Session, read Document) (Session, error) {
	way := read.Way
	return s.decide(ctx, sess, read.Claim, func(d *decision) error {
		if !d.allows(way) || !d.sess.DocumentOpen() {
			return ErrLate
		}
		if read.Doubtful {
			d.setBack(WhyDoubtful, "")
			return nil
		}
		if err := d.answer(read.Request); err != nil {
			return err
		}
		d.sess.DocumentWay = way
		d.happened(way, DocumentRefused)
		d.setBack(NoteDocument+"_"+read.Why, NoteDocument+"_")
		if d.sess.DocumentAttempts++; d.sess.DocumentsLeft() > 0 {
			return nil
		}
		d.happened(way, DocumentFailed)
		return d.complete(ResultFallback, Decision{Status: StatusFallback, At: d.now, Source: SourceDocument})
	})
}

// DocumentOutcome is an event of a document check, for metrics.
type DocumentOutcome string

// The outcomes. Those about a document that was read have a way.
const (
	DocumentOffered   DocumentOutcome = "offered"
	DocumentPreferred DocumentOutcome = "preferred" // the shopper chose it, or the tenant takes documents only
	DocumentDeclined  DocumentOutcome = "declined"
	DocumentRefused   DocumentOutcome = "refused" // a document was read and refused
	DocumentFailed    DocumentOutcome = "failed"  // the check ended as not passed
	DocumentPassed    DocumentOutcome = "passed"
)

// DocumentEvent is an outcome on a way; the way is empty if there is none.
type DocumentEvent struct {
	Way     Way
	Outcome DocumentOutcome
}

// DocumentEvents returns every possible event.
func DocumentEvents() []DocumentEvent {
	events := []DocumentEvent{{"", DocumentOffered}, {"", DocumentPreferred}, {"", DocumentDeclined}}
	for _, way := range []Way{WayWallet, WayPhoto} {
		for _, outcome := range []DocumentOutcome{DocumentRefused, DocumentFailed, DocumentPassed} {
			events = append(events, DocumentEvent{way, outcome})
		}
	}
	return events
}

// happened records an event, which is reported after the commit.
func (d *decision) happened(way Way, outcome DocumentOutcome) {
	d.events = append(d.events, DocumentEvent{way, outcome})
}

// extended returns the new expiry for progress made now. It is never earlier than
// the current expiry and never later than MaxLifetime allows.
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

// extendTo sets the session's expiry in d, and that of its hold.
func (d *decision) extendTo(expiresAt time.Time) error {
	d.sess.ExpiresAt = expiresAt
	if !d.sess.Livemode {
		return nil
	}
	ok, err := d.ExtendHold(d.sess.ID, expiresAt)
	return lateUnless(ok, err)
}
