// redirect.go

package agegate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Errors of VerifyRedirect. With any of them there is no pass.
var (
	ErrRedirect       = errors.New("the redirect proves no pass of this session")
	ErrRedirectSecret = errors.New("a redirect secret must be rdsec_test_ or rdsec_live_ and 32 bytes in base64")
)

var redirectSecret = regexp.MustCompile(`^rdsec_(test|live)_([A-Za-z0-9+/]{43}=)$`) // 32 bytes

// VerifyRedirect returns nil if a redirect to your Success URL proves the pass of
// the session that you created for this shopper, and an error otherwise. rawQuery
// is what follows the "?" of the address, as received. While a secret is being
// replaced, give the old and the new one. An empty or damaged secret is refused:
// under it, anybody could sign.
func VerifyRedirect(rawQuery, session string, secrets ...string) error {
	return verifyRedirect(time.Now(), rawQuery, session, secrets)
}

func verifyRedirect(now time.Time, rawQuery, session string, secrets []string) error {
	if len(secrets) == 0 {
		return ErrRedirectSecret
	}
	query, once := readQuery(rawQuery), true
	for _, name := range []string{"session", "status", "is_adult", "token"} {
		once = once && len(query[name]) == 1
	}
	token := query.Get("token")
	expiresTS, _, _ := strings.Cut(token, ".")
	text := strings.Join([]string{query.Get("session"), query.Get("status"), query.Get("is_adult"), expiresTS}, "|")
	signed := false
	for _, secret := range secrets {
		parts := redirectSecret.FindStringSubmatch(secret)
		if parts == nil {
			return ErrRedirectSecret
		}
		key, _ := base64.StdEncoding.DecodeString(parts[2]) // matched
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		wanted := expiresTS + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
		signed = hmac.Equal([]byte(wanted), []byte(token)) || signed
	}
	expires, parseErr := strconv.ParseInt(expiresTS, 10, 64)
	if !once || !signed || parseErr != nil || now.Unix() > expires ||
		query.Get("session") != session || query.Get("status") != "VERIFIED" || query.Get("is_adult") != "true" {
		return ErrRedirect
	}
	return nil
}

// readQuery reads a query as browsers do. Your Success URL may contain a ";" or a "%"
// that escapes nothing, which url.ParseQuery refuses.
func readQuery(rawQuery string) url.Values {
	values := url.Values{}
	for _, pair := range strings.Split(rawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		values.Add(unescape(name), unescape(value))
	}
	return values
}

func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}
