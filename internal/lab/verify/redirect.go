package verify

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"agegate/internal/rules/credential"
)

// Errors of RedirectToken.
var (
	ErrTokenMalformed = errors.New("token is not {expires_ts}.{base64url_mac}")
	ErrTokenSignature = errors.New("token signature does not match")
	ErrTokenExpired   = errors.New("token has expired")
)

// RedirectToken checks that token signs r under key and has not expired at now. It
// returns ErrTokenMalformed, ErrTokenSignature or ErrTokenExpired; the signature is
// checked before the expiry.
func RedirectToken(key []byte, token string, r credential.Redirect, now time.Time) error {
	ts, mac, ok := strings.Cut(token, ".")
	expires, err := strconv.ParseInt(ts, 10, 64)
	if !ok || err != nil || strconv.FormatInt(expires, 10) != ts {
		return ErrTokenMalformed
	}
	if _, err := base64.RawURLEncoding.Strict().DecodeString(mac); err != nil || strings.ContainsAny(mac, "\r\n") {
		return ErrTokenMalformed
	}
	if !hmac.Equal([]byte(token), []byte(r.Token(key, time.Unix(expires, 0)))) {
		return ErrTokenSignature
	}
	if now.Unix() > expires {
		return ErrTokenExpired
	}
	return nil
}

// Secret returns the bytes of a webhook or redirect secret. The error
// never contains the secret.
func Secret(s string) ([]byte, error) {
	for _, prefix := range []string{
		credential.WebhookSecretPrefix, credential.TestRedirectSecretPrefix,
		credential.LiveRedirectSecretPrefix} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			secret, err := base64.StdEncoding.DecodeString(rest)
			if err != nil || len(secret) != credential.SecretLen {
				return nil, errors.New("secret is not 32 base64 bytes after its prefix")
			}
			return secret, nil
		}
	}
	return nil, errors.New("secret has no recognized prefix")
}
