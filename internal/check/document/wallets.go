package document

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/turn"

	"github.com/google/uuid"
)

// WalletRequest is the open request of a session to a wallet. Its nonce and key
// are derived from Nonce and are not stored.
type WalletRequest struct {
	LinkHash []byte // of the session
	Nonce    []byte // 16 bytes, new for every request
	// Outcome is the result of a wallet's answer: empty until there is one,
	// OutcomeProved, or the wallet.Reason for which it was refused.
	Outcome string
	// Final says that Outcome waits for the session's own browser, and that no
	// other answer is accepted. Refusals that anyone can cause are not final.
	Final bool
}

// OutcomeProved is the outcome of an answer that proves the age. outcomeReturns is the
// outcome of such an answer from a wallet on the shopper's own device. It becomes
// OutcomeProved when the wallet returns to the session's browser with the request's
// code. Until then it is not final.
const (
	OutcomeProved  = "proved"
	outcomeReturns = "proved, returns"
)

// WalletStore stores the requests to wallets. A session has at most one. Package
// session creates and deletes it.
type WalletStore interface {
	// ActiveVerifier is VerifierStore.ActiveVerifier.
	ActiveVerifier(ctx context.Context, role string, tenantID *uuid.UUID) (VerifierKey, error)
	// RegistrationOf returns the registration certificate of a tenant, or of the
	// instance if tenantID is nil, or fault.NotFound.
	RegistrationOf(ctx context.Context, tenantID *uuid.UUID) (Registration, error)
	// Issuers returns the trust list.
	Issuers(ctx context.Context) ([]TrustedIssuer, error)
	// TenantByID returns a tenant, or fault.NotFound.
	TenantByID(ctx context.Context, id uuid.UUID) (tenant.Tenant, error)
	// WalletRequestOf returns the request of a session, or fault.NotFound.
	WalletRequestOf(ctx context.Context, linkHash []byte) (WalletRequest, error)
	// WalletRequestByNonce returns the request with a nonce, or fault.NotFound.
	WalletRequestByNonce(ctx context.Context, nonce []byte) (WalletRequest, error)
	// RecordWalletOutcome writes the outcome and whether it is final if the
	// session's request has this nonce and no final outcome. It reports whether it
	// did.
	RecordWalletOutcome(ctx context.Context, linkHash, nonce []byte, outcome string, final bool) (bool, error)
}

// How many answers are verified at the same time, and how many of one tenant may
// wait for their turn. Anyone with a session can post one.
const (
	answersAtOnce  = 2
	answersWaiting = 32
)

// Wallets is the document check by wallet.
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
func NewWallets(
	sessions *session.Service, store WalletStore, sealer *credential.Sealer, lists *StatusLists, random io.Reader,
	now func() time.Time,
) (*Wallets, error) {
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

// Available reports whether a session can pass by wallet, which needs a trusted
// issuer.
func (w *Wallets) Available(ctx context.Context, sess session.Session) (bool, error) {
	issuers, err := w.issuers(ctx, sess)
	return len(wallet.Kinds(issuers, w.now())) > 0, err
}

// Trusts reports whether live sessions of a tenant can pass by wallet.
func Trusts(ctx context.Context, store WalletStore, tenantID uuid.UUID, now time.Time) (bool, error) {
	w := Wallets{store: store, now: func() time.Time { return now }}
	return w.Available(ctx, session.Session{TenantID: tenantID, Livemode: true})
}

// issuers returns the issuers that the session's mode trusts. It leaves out issuers
// whose list has ended or whose key is not used. It also leaves out issuers of
// identification data unless the tenant wants such data, because their documents are
// then not asked for.
func (w *Wallets) issuers(ctx context.Context, sess session.Session) ([]wallet.Issuer, error) {
	listed, err := w.store.Issuers(ctx)
	if err != nil {
		return nil, err
	}
	var issuers []wallet.Issuer
	for _, entry := range listed {
		if !entry.usable(w.now()) {
			continue
		}
		issuer, err := entry.verified()
		if errors.Is(err, credential.ErrPublicKey) {
			continue
		}
		if err != nil {
			return nil, err
		}
		issuers = append(issuers, issuer)
	}
	if !sess.Livemode {
		issuers = append(issuers, w.sample.Trusted()...)
	}
	isPID := func(i wallet.Issuer) bool { return i.DocType == wallet.DocTypePID }
	if !slices.ContainsFunc(issuers, isPID) {
		return issuers, nil
	}
	if t, err := w.store.TenantByID(ctx, sess.TenantID); err != nil || t.WalletPID {
		return issuers, err
	}
	return slices.DeleteFunc(issuers, isPID), nil
}

// Begin creates a new request for the session, which ends an earlier one. It
// returns session.ErrLate when no document check is open or the tenant does not
// allow wallets, session.ErrAnswered while Finish has a final outcome to apply,
// and session.ErrDisabled.
func (w *Wallets) Begin(ctx context.Context, sess session.Session) error {
	nonce := make([]byte, 16)
	if _, err := io.ReadFull(w.random, nonce); err != nil {
		return err
	}
	_, err := w.sessions.ChooseWay(ctx, sess, session.WayWallet, nonce)
	return err
}

// Request is a request to a wallet in the form that the page shows.
type Request struct {
	ID      string // part of the address that wallets post to
	Outcome string // see WalletRequest
	Final   bool
	returns bool // the age is proved once the wallet returns with the code
	row     WalletRequest
}

// RequestOf returns the session's request, or fault.NotFound.
func (w *Wallets) RequestOf(ctx context.Context, sess session.Session) (Request, error) {
	row, err := w.store.WalletRequestOf(ctx, sess.LinkHash)
	r := Request{ID: base64.RawURLEncoding.EncodeToString(row.Nonce), Outcome: row.Outcome, Final: row.Final, row: row}
	if r.Outcome == outcomeReturns {
		r.Outcome, r.returns = "", true
	}
	return r, err
}

// SessionOf returns the session that has the request with an ID. It returns
// fault.NotFound if there is none.
func (w *Wallets) SessionOf(ctx context.Context, id string) (session.Session, error) {
	nonce, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return session.Session{}, fault.Wrap(err, fault.NotFound, "No such request")
	}
	row, err := w.store.WalletRequestByNonce(ctx, nonce)
	if err != nil {
		return session.Session{}, err
	}
	return w.sessions.ByLinkHash(ctx, row.LinkHash)
}

// Exchange returns the nonce and the key of a session's request. It asks for the
// kinds of documents for which the session trusts an issuer.
func (w *Wallets) Exchange(ctx context.Context, sess session.Session, r Request) (wallet.Exchange, error) {
	issuers, err := w.issuers(ctx, sess)
	if err != nil {
		return wallet.Exchange{}, err
	}
	return w.exchange(ctx, sess, r, issuers)
}

// exchange returns the request's exchange. It is signed if the tenant has a verifier's
// key with certificates that are valid now, or if not, the instance has one.
func (w *Wallets) exchange(
	ctx context.Context, sess session.Session, r Request, issuers []wallet.Issuer,
) (wallet.Exchange, error) {
	secret, err := w.derive("wallet request|", r)
	if err != nil {
		return wallet.Exchange{}, err
	}
	exchange, err := wallet.NewExchange(secret, issuers, w.now())
	if err != nil {
		return exchange, err
	}
	key, err := signerOf(ctx, w.store, &sess.TenantID, w.now())
	if fault.CodeOf(err) == fault.NotFound {
		return exchange, nil
	}
	if err != nil {
		return exchange, err
	}
	identity, err := identityOf(w.sealer, key)
	if err != nil {
		return exchange, err
	}
	identity.Registration, err = w.registrationFor(ctx, sess.TenantID, identity.Chain[0])
	return exchange.Signed(identity), err
}

func (w *Wallets) derive(purpose string, r Request) ([]byte, error) {
	return w.sealer.Derive(purpose + hex.EncodeToString(r.row.LinkHash) + "|" + hex.EncodeToString(r.row.Nonce))
}

// returnCode returns the code with which a wallet on the shopper's own device returns.
// It has 128 bits and differs between requests.
func (w *Wallets) returnCode(r Request) (string, error) {
	secret, err := w.derive("wallet return|", r)
	return hex.EncodeToString(secret[:min(len(secret), 16)]), err
}

// open returns the session's request if a wallet may answer it now, and
// session.ErrLate otherwise.
func (w *Wallets) open(ctx context.Context, sess session.Session) (Request, error) {
	request, err := w.RequestOf(ctx, sess)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return request, session.ErrLate
	case err != nil:
		return request, err
	case request.Final || !sess.DocumentOpen() || sess.StatusAt(w.now()) != session.StatusPending:
		return request, session.ErrLate
	}
	return request, nil
}

// SignedRequest returns the signed request, which a wallet may fetch several times.
// responseURI gets the request's ID and returns the address for the answer.
// SignedRequest returns session.ErrLate when no request is open or the request is not
// signed.
func (w *Wallets) SignedRequest(
	ctx context.Context, sess session.Session, walletNonce string, responseURI func(id string) string,
) (string, error) {
	request, err := w.open(ctx, sess)
	if err != nil {
		return "", err
	}
	exchange, err := w.Exchange(ctx, sess, request)
	if err != nil {
		return "", err
	}
	if !exchange.IsSigned() || len(walletNonce) > wallet.MaxWalletNonce {
		return "", session.ErrLate
	}
	return exchange.RequestObject(sess.TargetAge, responseURI(request.ID), walletNonce, w.now())
}

// Post is what a wallet posted in answer to a link.
type Post struct {
	ID          string // of the request
	Scheme      string // of the link
	ResponseURI string // where it was posted to
	Here        bool   // the link was for a wallet on the shopper's own device
	Unsigned    bool   // the sample wallet's link, which is never signed
	Form        url.Values
}

// Receive processes what a wallet posted. Anyone can post, so it changes only the
// request's outcome, which Finish applies. It returns the code with which a
// wallet on the shopper's own device returns, or "". It returns a
// *wallet.RefusalError for an answer that proves nothing, and session.ErrLate
// when the request is not open.
func (w *Wallets) Receive(ctx context.Context, sess session.Session, post Post) (code string, err error) {
	request, err := w.open(ctx, sess)
	if err != nil {
		return "", err
	}
	if request.ID != post.ID {
		return "", session.ErrLate
	}
	issuers, err := w.issuers(ctx, sess)
	if err != nil {
		return "", err
	}
	exchange, err := w.exchange(ctx, sess, request, issuers)
	if err != nil {
		return "", err
	}
	if post.Unsigned {
		exchange = exchange.Unsigned()
	}
	err = w.verify(ctx, sess, issuers, func() (wallet.Presentation, error) {
		return exchange.OpenPost(post.Scheme, post.ResponseURI, post.Form)
	})
	reason := wallet.ReasonOf(err)
	if err != nil && reason == "" {
		return "", err
	}
	outcome, final := OutcomeProved, true
	switch {
	case reason != "":
		outcome, final = string(reason), reason.Genuine()
	case post.Here:
		outcome, final = outcomeReturns, false
		if code, err = w.returnCode(request); err != nil {
			return "", err
		}
	}
	recorded, storeErr := w.store.RecordWalletOutcome(ctx, sess.LinkHash, request.row.Nonce, outcome, final)
	switch {
	case storeErr != nil:
		return "", storeErr
	case !recorded:
		return "", session.ErrLate // another answer came first
	}
	w.note(ctx, sess, reason)
	return code, err
}

// note keeps why an answer proved nothing, unless the reason is empty, also of a document whose refusal waits
// for Finish. It helps support staff only, so its errors are not reported.
func (w *Wallets) note(ctx context.Context, sess session.Session, reason wallet.Reason) {
	note := session.NoteWallet + "_" + reason.Complaint()
	if reason.Genuine() {
		note = session.NoteDocument + "_" + string(reason)
	}
	if reason != "" {
		_ = w.sessions.Note(ctx, sess, session.Claim{}, note)
	}
}

// Return finishes the check, for the session's own browser, with the code of a wallet
// on the shopper's own device. If no answer waits for this code, it reports false and
// changes nothing.
func (w *Wallets) Return(
	ctx context.Context, sess session.Session, r Request, code string,
) (session.Session, bool, error) {
	want, err := w.returnCode(r)
	if err != nil || !r.returns || subtle.ConstantTimeCompare([]byte(code), []byte(want)) != 1 {
		return sess, false, err
	}
	after, err := w.pass(ctx, sess, r)
	return after, true, err
}

// Finish applies a final outcome to the session, for the session's own browser.
// It returns the updated session, and why a document was refused. It returns
// session.ErrLate when the session has ended meanwhile or no outcome is final,
// and session.ErrDisabled.
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

// pass ends the document check as passed.
func (w *Wallets) pass(ctx context.Context, sess session.Session, r Request) (session.Session, error) {
	return w.sessions.Resolve(ctx, sess, session.CheckResult{
		Result: session.ResultVerified, Source: session.SourceDocument, Way: session.WayWallet, Request: r.row.Nonce,
	})
}

// refuse counts a refused document, once for each request.
func (w *Wallets) refuse(ctx context.Context, sess session.Session, r Request) (session.Session, error) {
	return w.sessions.RefuseDocument(ctx, sess,
		session.Document{Way: session.WayWallet, Request: r.row.Nonce, Why: r.Outcome})
}

// Now returns the time of the service's clock.
func (w *Wallets) Now() time.Time { return w.now() }
