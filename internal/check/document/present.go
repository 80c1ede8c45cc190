package document

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"

	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
)

// Present processes the result of the Digital Credentials API on the page of
// origin, in the session's own browser. It returns the updated session, and a
// *wallet.RefusalError for an answer that proves nothing. A document that was
// read and refused counts; other answers do not. It returns session.ErrLate when
// the request is not open, session.ErrAnswered while Finish has a final outcome
// to apply, and session.ErrDisabled.
func (w *Wallets) Present(
	ctx context.Context, sess session.Session, origin, protocol string, data json.RawMessage,
) (session.Session, error) {
	request, err := w.RequestOf(ctx, sess)
	if fault.CodeOf(err) == fault.NotFound {
		return sess, session.ErrLate
	}
	if err != nil {
		return sess, err
	}
	if request.Final {
		return sess, session.ErrAnswered
	}
	issuers, err := w.issuers(ctx, sess)
	if err != nil {
		return sess, err
	}
	exchange, err := w.exchange(ctx, sess, request, issuers)
	if err != nil {
		return sess, err
	}
	err = w.verify(ctx, sess, issuers, func() (wallet.Presentation, error) {
		return exchange.OpenBrowser(origin, protocol, data)
	})
	switch {
	case err == nil:
		return w.pass(ctx, sess, request)
	case !wallet.ReasonOf(err).Genuine():
		w.note(ctx, sess, wallet.ReasonOf(err))
		return sess, err
	}
	after, refuseErr := w.refuse(ctx, sess, request)
	return after, cmp.Or(refuseErr, err)
}

// verify opens a presentation and checks it against the issuers that the session
// trusts. It waits for a turn of the session's tenant, and returns fault.Unavailable if
// it gets none.
func (w *Wallets) verify(
	ctx context.Context, sess session.Session, issuers []wallet.Issuer, open func() (wallet.Presentation, error),
) error {
	leave, err := w.turns.Take(ctx, sess.TenantID)
	if err != nil {
		return err
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	p, err := open()
	if err != nil {
		return err
	}
	verifier := wallet.Verifier{Issuers: issuers}
	verifier.Revoked = func(ctx context.Context, entry wallet.StatusEntry, docType string) (bool, error) {
		leave() // the rest only waits for the issuer's server and compares values
		return w.lists.revoked(ctx, entry, docType, issuers)
	}
	return verifier.Verify(ctx, p, sess.TargetAge, w.now())
}
