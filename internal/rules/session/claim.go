package session

import (
	"bytes"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
)

// ErrDisabled is returned for every action of a shopper if the session's tenant
// is disabled.
var ErrDisabled = fault.New(fault.TenantDisabled, "This check is not available")

// Claim identifies the device that performs a camera check. The zero value is the
// browser to which the session is bound, which cannot change. A phone's claim,
// from PhoneClaim, ends when its handover is replaced.
type Claim struct {
	tokenHash []byte // of the handover; nil means the session's own browser
	phoneHash []byte
}

// PhoneClaim returns the claim of the phone that accepted the handover with this
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
