package evidence

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"

	"github.com/go-jose/go-jose/v4"
)

// receiptType is the type in a receipt's header.
const receiptType = "agegate-receipt+jwt"

// Receipt states the result of a session. It contains no estimate and nothing about the person. It is signed as a JSON
// Web Signature (RFC 7515, EdDSA by RFC 8037).
type Receipt struct {
	Issuer    string         `json:"iss"` // the gateway's public address
	IssuedAt  int64          `json:"iat"`
	SessionID string         `json:"sub"`
	TargetAge int            `json:"target_age"`
	Status    session.Status `json:"status"`
	Way       string         `json:"way"` // camera, wallet, photo, document or forced
	At        time.Time      `json:"completed_at"`
	Livemode  bool           `json:"livemode"`
}

// ErrReceipt is returned for a receipt that the key did not sign in this form.
var ErrReceipt = errors.New("the receipt is not as it was signed")

// wayOf names how a session got its result. A document check that was declined or not passed has no name here.
func wayOf(s session.Session) string {
	if s.Source == session.SourceDocument && s.DocumentWay != "" && s.Status == session.StatusPassed {
		return string(s.DocumentWay)
	}
	return string(s.Source)
}

// receipt returns the receipt of a session, or ErrNoResult.
func (k Key) receipt(issuer string, s session.Session, now time.Time) (string, error) {
	if s.CompletedAt == nil || s.Source == "" {
		return "", ErrNoResult
	}
	header := map[jose.HeaderKey]any{jose.HeaderType: jose.ContentType(receiptType), "kid": k.Public().ID()}
	return credential.SignJWS(jose.SigningKey{Algorithm: jose.EdDSA, Key: k.private}, header, Receipt{
		Issuer: issuer, IssuedAt: now.Unix(), SessionID: s.ID.String(), TargetAge: s.TargetAge,
		Status: s.Status, Way: wayOf(s), At: s.CompletedAt.UTC(), Livemode: s.Livemode,
	})
}

// VerifyReceipt checks a receipt against the published key of the installation. A line break at its end is accepted.
func VerifyReceipt(text string, key PublicKey) (Receipt, error) {
	text = strings.TrimSuffix(text, "\n")
	signed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil || signed.Signatures[0].Header.ExtraHeaders[jose.HeaderType] != receiptType {
		return Receipt{}, ErrReceipt
	}
	payload, err := signed.Verify(key.key)
	if err != nil {
		return Receipt{}, ErrReceipt
	}
	// The same bytes can be written in base64 in several ways. Only the signed text is accepted.
	if same, err := signed.CompactSerialize(); err != nil || same != text {
		return Receipt{}, ErrReceipt
	}
	var r Receipt
	if json.Unmarshal(payload, &r) != nil {
		return Receipt{}, ErrReceipt
	}
	return r, nil
}
