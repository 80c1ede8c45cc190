package session

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
)

// HandoverTTL is how long after its creation a phone can accept a handover.
const HandoverTTL = 5 * time.Minute

// Handover lets a phone perform the camera check of a session that another
// browser has started, or photograph a document for it. The session stays bound
// to that browser, which shows the progress and receives the redirect. A session
// has at most one handover.
type Handover struct {
	LinkHash  []byte // of the session
	Nonce     []byte // 16 bytes; the token is derived from it and the browser's cookie
	TokenHash []byte // SHA-256 of the token in the phone's link
	ExpiresAt time.Time
	PhoneHash []byte // SHA-256 of the phone's cookie; nil until a phone has accepted
}

// HandoverStore reads handovers.
type HandoverStore interface {
	// HandoverOf returns the handover of a session, or fault.NotFound.
	HandoverOf(ctx context.Context, linkHash []byte) (Handover, error)
	// HandoverByToken returns a handover by its token's hash, or fault.NotFound.
	HandoverByToken(ctx context.Context, tokenHash []byte) (Handover, error)
}

// HandoverTx reads and writes handovers in a transaction. The caller locks the
// session before it changes its handover.
type HandoverTx interface {
	// HandoverOf returns the handover of a session, or fault.NotFound.
	HandoverOf(linkHash []byte) (Handover, error)
	// PutHandover stores the handover of a session and replaces an earlier one.
	PutHandover(h Handover) error
	// TakeHandover stores the phone's hash if none is stored and the handover
	// expires after now. It reports whether it did.
	TakeHandover(tokenHash, phoneHash []byte, now time.Time) (bool, error)
}

// Handovers is the service of handovers.
type Handovers struct {
	sessions *Service
	store    HandoverStore
}

// NewHandovers returns the service over a store.
func NewHandovers(sessions *Service, store HandoverStore) *Handovers {
	return &Handovers{sessions: sessions, store: store}
}

// Offer is a handover as the browser shows it.
type Offer struct {
	Token string
	Code  string // four digits that both screens show, so that the person can compare them
	Taken bool   // a phone has accepted
	Open  bool   // no phone has accepted yet, and the handover has not expired
}

// Offer creates a new handover of the session for the browser that holds cookie,
// which must be the session's own. An earlier handover ends, and so does its
// phone's claim. It returns ErrLate if the session has ended or needs no camera,
// and ErrDisabled.
func (h *Handovers) Offer(ctx context.Context, sess Session, cookie string) error {
	nonce := make([]byte, 16)
	if _, err := io.ReadFull(h.sessions.random, nonce); err != nil {
		return err
	}
	return h.change(ctx, sess, func(d *decision) error {
		return d.PutHandover(Handover{
			LinkHash: d.sess.LinkHash, Nonce: nonce, TokenHash: credential.HashToken(handoverToken(cookie, nonce)),
			ExpiresAt: d.now.Add(HandoverTTL),
		})
	})
}

// Take accepts the handover for the phone that holds cookie, unless another phone
// has accepted it or it has expired. It reports whether it did. It returns
// ErrLate and ErrDisabled like Offer.
func (h *Handovers) Take(ctx context.Context, sess Session, token, cookie string) (taken bool, err error) {
	err = h.change(ctx, sess, func(d *decision) (err error) {
		taken, err = d.TakeHandover(credential.HashToken(token), credential.HashToken(cookie), d.now)
		return err
	})
	return taken, err
}

// change changes a session that is waiting for its camera check, or that has an
// open document check in which a document may be photographed.
func (h *Handovers) change(ctx context.Context, sess Session, change func(d *decision) error) error {
	_, err := h.sessions.decide(ctx, sess, Claim{}, func(d *decision) error {
		if d.sess.DocumentOpen() && !d.agreed(WayPhoto) {
			return ErrLate
		}
		return change(d)
	})
	return err
}

// Offered returns the session's handover, with the values that depend on the
// browser's cookie, or fault.NotFound.
func (h *Handovers) Offered(ctx context.Context, sess Session, cookie string) (Offer, error) {
	row, err := h.store.HandoverOf(ctx, sess.LinkHash)
	if err != nil {
		return Offer{}, err
	}
	token := handoverToken(cookie, row.Nonce)
	taken := row.PhoneHash != nil
	return Offer{Token: token, Code: HandoverCode(token), Taken: taken, Open: !taken &&
		h.sessions.now().Before(row.ExpiresAt)}, nil
}

// Open returns the session behind a phone's link and whether the phone that holds
// cookie has accepted it. It returns fault.NotFound for an unknown link, and
// fault.Gone for a link that has expired or that another phone has accepted.
func (h *Handovers) Open(ctx context.Context, token, cookie string) (sess Session, taken bool, err error) {
	row, err := h.store.HandoverByToken(ctx, credential.HashToken(token))
	if err != nil {
		return Session{}, false, err
	}
	taken = row.PhoneHash != nil && hmac.Equal(row.PhoneHash, credential.HashToken(cookie))
	if !taken && (row.PhoneHash != nil || !h.sessions.now().Before(row.ExpiresAt)) {
		return Session{}, false, fault.New(fault.Gone, "This code was used or is too old")
	}
	sess, err = h.sessions.store.SessionByLink(ctx, row.LinkHash)
	return sess, taken, err
}

// handoverToken derives the token from the browser's cookie, so that the page can
// show the code again although only the token's hash is stored.
func handoverToken(cookie string, nonce []byte) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte("handover|"))
	mac.Write(nonce)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// HandoverCode returns the four digits that both screens show for a token.
func HandoverCode(token string) string {
	sum := sha256.Sum256([]byte("code|" + token))
	return fmt.Sprintf("%04d", binary.BigEndian.Uint32(sum[:])%10_000)
}
