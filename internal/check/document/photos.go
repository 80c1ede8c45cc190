package document

import (
	"context"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document/photo"
	"agegate/internal/rules/session"
)

// Photos is the document check by photographs.
type Photos struct {
	sessions *session.Service
	newCheck func(sess session.Session, assisted bool) PhotoCheck
}

// PhotoCheck is one check of a photographed document, for one goroutine at a
// time; see photo.Check.
type PhotoCheck interface {
	Nonce() [16]byte
	Add(ctx context.Context, f age.Frame) (photo.Step, error)
	MoreTime() bool
}

// NewPhotos returns the service. newCheck starts the check of a session.
func NewPhotos(sessions *session.Service, newCheck func(sess session.Session, assisted bool) PhotoCheck) *Photos {
	return &Photos{sessions, newCheck}
}

// cameraPart is the step in which camera time is counted. Each step is counted before
// the time is used.
const cameraPart = 10 * time.Second

// Available reports whether a session has camera time left for photographing a
// document.
func (p *Photos) Available(sess session.Session) bool { return sess.DocumentCameraLeft() >= cameraPart }

// Begin begins the check by photographs for a session; the page then asks the
// shopper for consent. It returns session.ErrLate when no document check is open
// or the tenant does not allow photographs, session.ErrAnswered while a wallet's
// final answer waits, and session.ErrDisabled.
func (p *Photos) Begin(ctx context.Context, sess session.Session) error {
	_, err := p.sessions.ChooseWay(ctx, sess, session.WayPhoto, nil)
	return err
}

// Consent records that the shopper agrees to the comparison of the faces; no
// picture is taken before that. Its errors are those of Begin.
func (p *Photos) Consent(ctx context.Context, sess session.Session) error {
	_, err := p.sessions.ConsentFaceMatch(ctx, sess)
	return err
}

// Recording is a check together with what it has written to its session.
type Recording struct {
	PhotoCheck
	photos *Photos
	sess   session.Session
	claim  session.Claim
	paid   time.Time // the time up to which camera time has been counted
}

// Record starts a check of a session. The claim owns the session's camera.
func (p *Photos) Record(sess session.Session, claim session.Claim, assisted bool) *Recording {
	return &Recording{PhotoCheck: p.newCheck(sess, assisted), photos: p, sess: sess, claim: claim}
}

// Pay counts the camera time of a frame that has arrived. It returns
// fault.TooMany when no time is left, session.ErrLate when the session has ended,
// the session waits for no document or the claim has ended, and
// session.ErrDisabled.
func (r *Recording) Pay(ctx context.Context, arrived time.Time) error {
	if arrived.Before(r.paid) {
		return nil
	}
	_, err := r.photos.sessions.TakeDocumentCamera(ctx, r.sess, r.claim, cameraPart)
	if err == nil {
		r.paid = arrived.Add(cameraPart)
	}
	return err
}

// Settle writes what an outcome means for the session: a pass, a document that
// was read and refused or was doubtful, or the end of the document check. Its errors
// are those of Pay, except fault.TooMany.
func (r *Recording) Settle(ctx context.Context, outcome photo.Outcome) error {
	var err error
	switch outcome {
	case photo.Passed, photo.NotLive:
		result := session.ResultVerified
		if outcome == photo.NotLive {
			result = session.ResultFallback
		}
		_, err = r.photos.sessions.Resolve(ctx, r.sess, session.CheckResult{
			Result: result, Source: session.SourceDocument, Way: session.WayPhoto, Claim: r.claim,
		})
	case photo.Expired, photo.UnderAge, photo.Undated, photo.AnotherFace, photo.Doubtful:
		_, err = r.photos.sessions.RefuseDocument(ctx, r.sess, session.Document{
			Way: session.WayPhoto, Claim: r.claim, Doubtful: outcome == photo.Doubtful, Why: string(outcome),
		})
	}
	return err
}
