package document

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/turn"
)

// WalletRequest is the open request of a session to a wallet. Its nonce and key
// are derived from Nonce and are not stored.
type WalletRequest struct {
	LinkHash []byte // of the session
	Nonce    []byte // 16 bytes, new for every request
	// Outcome is the result of a wallet's answer: empty until there is one,
	// OutcomeProved, or the wallet.Reason for which it was refused.
	Outcome string
	// Final says that Outcome waits for the session's own browser, and no other
	// answer is taken. Refusals that anybody can cause are not final.
	Final bool
}

// OutcomeProved is the outcome of an answer that proves the age.
const OutcomeProved = "proved"

// WalletStore keeps the requests to wallets. A session has at most one, which
// package session makes and uses up.
type WalletStore interface {
	// Issuers returns the trust list.
	Issuers(ctx context.Context) ([]TrustedIssuer, error)
	// WalletRequestOf returns the request of a session, or fault.NotFound.
	WalletRequestOf(ctx context.Context, linkHash []byte) (WalletRequest, error)
	// RecordWalletOutcome writes the outcome and whether it is final if the
	// session's request has this nonce and no final outcome. It reports whether it
	// did.
	RecordWalletOutcome(ctx context.Context, linkHash, nonce []byte, outcome string, final bool) (bool, error)
}

// How many answers are verified at the same time, and how many of a tenant wait
// for their turn. Anybody with a session can post one.
const (
	answersAtOnce  = 2
	answersWaiting = 32
)

// Wallets is the wallet way of the document check.
type Wallets struct {
	sessions *session.Service
	store    WalletStore
	sealer   *credential.Sealer
	sample   *wallet.SampleIssuer // trusted in test sessions only
	lists    *StatusLists
	turns    *turn.Queue // of answers that are decrypted and verified
	random   io.Reader
	now      func() time.Time
}

// NewWallets returns the service. The sample issuer's key is derived from the
// sealing key, so each installation has its own, the same on every replica.
func NewWallets(sessions *session.Service, store WalletStore, sealer *credential.Sealer, lists *StatusLists, random io.Reader, now func() time.Time) (*Wallets, error) {
	secret, err := sealer.Derive("sample issuer")
	if err != nil {
		return nil, err
	}
	sample, err := wallet.NewSampleIssuer(secret)
	if err != nil {
		return nil, fmt.Errorf("sample issuer: %w", err)
	}
	return &Wallets{sessions, store, sealer, sample, lists, turn.NewQueue(answersAtOnce, answersWaiting), random, now}, nil
}

// Available reports whether a wallet can pass a session: some issuer must be
// trusted.
func (w *Wallets) Available(ctx context.Context, sess session.Session) (bool, error) {
	issuers, err := w.issuers(ctx, sess)
	return len(wallet.Kinds(issuers, w.now())) > 0, err
}

// issuers returns those that the session's mode trusts.
func (w *Wallets) issuers(ctx context.Context, sess session.Session) ([]wallet.Issuer, error) {
	listed, err := w.store.Issuers(ctx)
	if err != nil {
		return nil, err
	}
	var issuers []wallet.Issuer
	for _, entry := range listed {
		issuer, err := entry.verified()
		if err != nil {
			return nil, err
		}
		issuers = append(issuers, issuer)
	}
	if !sess.Livemode {
		issuers = append(issuers, w.sample.Trusted()...)
	}
	return issuers, nil
}

// Begin makes a new request of the session, which ends an earlier one. It
// returns session.ErrLate when no document check is open or the tenant does not
// allow wallets, session.ErrAnswered while Finish has a final outcome to apply, and
// session.ErrDisabled.
func (w *Wallets) Begin(ctx context.Context, sess session.Session) error {
	nonce := make([]byte, 16)
	if _, err := io.ReadFull(w.random, nonce); err != nil {
		return err
	}
	_, err := w.sessions.ChooseWay(ctx, sess, session.WayWallet, nonce)
	return err
}

// Request is a request to a wallet as the page shows it.
type Request struct {
	ID      string // the last part of the address that wallets post to
	Outcome string // see WalletRequest
	Final   bool
	row     WalletRequest
}

// RequestOf returns the session's request, or fault.NotFound.
func (w *Wallets) RequestOf(ctx context.Context, sess session.Session) (Request, error) {
	row, err := w.store.WalletRequestOf(ctx, sess.LinkHash)
	return Request{ID: hex.EncodeToString(row.Nonce), Outcome: row.Outcome, Final: row.Final, row: row}, err
}

// Exchange returns the nonce and the key of a session's request. It asks for the
// kinds of documents that the session trusts an issuer of.
func (w *Wallets) Exchange(ctx context.Context, sess session.Session, r Request) (wallet.Exchange, error) {
	issuers, err := w.issuers(ctx, sess)
	if err != nil {
		return wallet.Exchange{}, err
	}
	return w.exchange(r, issuers)
}

func (w *Wallets) exchange(r Request, issuers []wallet.Issuer) (wallet.Exchange, error) {
	secret, err := w.sealer.Derive("wallet request|" + hex.EncodeToString(r.row.LinkHash) + "|" + r.ID)
	if err != nil {
		return wallet.Exchange{}, err
	}
	return wallet.NewExchange(secret, issuers, w.now())
}

// Receive takes what a wallet posted to responseURI in answer to the link with a
// scheme, of the request with an ID. Anybody can post, so nothing changes but the request's outcome,
// which Finish applies. It returns a *wallet.RefusalError for an answer that
// proves nothing, and session.ErrLate when the request is not open.
func (w *Wallets) Receive(ctx context.Context, sess session.Session, id, scheme, responseURI string, form url.Values) error {
	request, err := w.RequestOf(ctx, sess)
	if fault.CodeOf(err) == fault.NotFound {
		return session.ErrLate
	}
	if err != nil {
		return err
	}
	if request.ID != id || request.Final || !sess.DocumentOpen() || sess.StatusAt(w.now()) != session.StatusPending {
		return session.ErrLate
	}
	issuers, err := w.issuers(ctx, sess)
	if err != nil {
		return err
	}
	exchange, err := w.exchange(request, issuers)
	if err != nil {
		return err
	}
	err = w.verify(ctx, sess, issuers, func() (wallet.Presentation, error) { return exchange.OpenPost(scheme, responseURI, form) })
	reason := wallet.ReasonOf(err)
	if err != nil && reason == "" {
		return err
	}
	outcome, final := OutcomeProved, true
	if reason != "" {
		outcome, final = string(reason), reason.Genuine()
	}
	recorded, storeErr := w.store.RecordWalletOutcome(ctx, sess.LinkHash, request.row.Nonce, outcome, final)
	switch {
	case storeErr != nil:
		return storeErr
	case !recorded:
		return session.ErrLate // another answer came first
	}
	return err
}

// Finish applies a final outcome to the session, for the session's own browser.
// It returns the session as it then stands, and why a document was refused. It
// returns session.ErrLate when the session has ended meanwhile or nothing is
// final, and session.ErrDisabled.
func (w *Wallets) Finish(ctx context.Context, sess session.Session, r Request) (session.Session, wallet.Reason, error) {
	switch {
	case !r.Final:
		return sess, "", session.ErrLate
	case r.Outcome == OutcomeProved:
		after, err := w.pass(ctx, sess, r)
		return after, "", err
	}
	after, err := w.refuse(ctx, sess, r)
	return after, wallet.Reason(r.Outcome), err
}

// Present takes what the Digital Credentials API returned to the page of
// origin, in the session's own browser. It returns the session as it then
// stands, and a *wallet.RefusalError for an answer that proves nothing. A
// document that was read and refused counts, other answers do not. It returns
// session.ErrLate when the request is not open, session.ErrAnswered while Finish
// has a final outcome to apply, and session.ErrDisabled.
func (w *Wallets) Present(ctx context.Context, sess session.Session, origin, protocol string, data json.RawMessage) (session.Session, error) {
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
	exchange, err := w.exchange(request, issuers)
	if err != nil {
		return sess, err
	}
	err = w.verify(ctx, sess, issuers, func() (wallet.Presentation, error) { return exchange.OpenBrowser(origin, protocol, data) })
	switch {
	case err == nil:
		return w.pass(ctx, sess, request)
	case !wallet.ReasonOf(err).Genuine():
		return sess, err
	}
	after, refuseErr := w.refuse(ctx, sess, request)
	if refuseErr != nil {
		err = refuseErr
	}
	return after, err
}

// verify opens a presentation and checks it with the issuers that the session
// trusts, in a turn of the session's tenant. It returns fault.Unavailable when
// none comes.
func (w *Wallets) verify(ctx context.Context, sess session.Session, issuers []wallet.Issuer, open func() (wallet.Presentation, error)) error {
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
		leave() // what is left is to wait for the issuer's server, and to compare
		return w.lists.revoked(ctx, entry, docType, issuers)
	}
	return verifier.Verify(ctx, p, sess.TargetAge, w.now())
}

// pass ends the document check as passed.
func (w *Wallets) pass(ctx context.Context, sess session.Session, r Request) (session.Session, error) {
	return w.sessions.Resolve(ctx, sess, session.CheckResult{
		Result: session.ResultVerified, Source: session.SourceDocument, Way: session.WayWallet, Request: r.row.Nonce,
	})
}

// refuse counts a refused document, once for each request.
func (w *Wallets) refuse(ctx context.Context, sess session.Session, r Request) (session.Session, error) {
	return w.sessions.RefuseDocument(ctx, sess, session.Document{Way: session.WayWallet, Request: r.row.Nonce})
}

// Now is the time by the service's clock.
func (w *Wallets) Now() time.Time { return w.now() }
