package credential

import (
	"encoding/json"

	"github.com/go-jose/go-jose/v4"
)

// SignJWS returns a compact JWS (RFC 7515) over claims as JSON, with further fields
// in its protected header.
func SignJWS(key jose.SigningKey, header map[jose.HeaderKey]any, claims any) (string, error) {
	signer, err := jose.NewSigner(key, &jose.SignerOptions{ExtraHeaders: header})
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
