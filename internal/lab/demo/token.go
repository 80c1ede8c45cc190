package demo

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// secretKey returns the HMAC key of a webhook or redirect secret: the base64
// after the last underscore. It must have 32 bytes, because anyone can sign with
// the empty key of a secret that was never set.
func secretKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(secret[strings.LastIndexByte(secret, '_')+1:])
	if err != nil || len(key) != 32 {
		return nil, errors.New("it is not 32 bytes in base64 after its prefix")
	}
	return key, nil
}

// verifyRedirect is the merchant's side of the redirect token: it requires each
// parameter exactly once, recomputes the token over
// session|status|is_adult|expires_ts and compares all of it, checks the expiry,
// and then requires the expected session, VERIFIED and true.
func verifyRedirect(key []byte, q url.Values, session string, now time.Time) error {
	for _, name := range []string{"token", "session", "status", "is_adult"} {
		if len(q[name]) != 1 {
			return errors.New("a parameter is missing or there twice")
		}
	}
	expires, _, _ := strings.Cut(q.Get("token"), ".")
	h := hmac.New(sha256.New, key)
	h.Write([]byte(q.Get("session") + "|" + q.Get("status") + "|" + q.Get("is_adult") + "|" + expires))
	token := expires + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	if !hmac.Equal([]byte(q.Get("token")), []byte(token)) {
		return errors.New("its signature does not match")
	}
	if ts, err := strconv.ParseInt(expires, 10, 64); err != nil || now.Unix() > ts {
		return errors.New("it has expired")
	}
	if q.Get("session") != session || q.Get("status") != "VERIFIED" || q.Get("is_adult") != "true" {
		return errors.New("it is not the pass expected")
	}
	return nil
}
