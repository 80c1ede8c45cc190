// redirect_token.go

package shop

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// IsPass reports whether the redirect proves the pass of the session you created
// for this shopper. queryString is what follows the "?" of the redirect, secret
// is rdsec_... An empty or damaged secret confirms nothing: under it, anybody
// could sign.
func IsPass(queryString, expectedSession, secret string) bool {
	query, err := url.ParseQuery(queryString)
	if err != nil {
		return false
	}
	for _, name := range []string{"session", "status", "is_adult", "token"} {
		if len(query[name]) != 1 {
			return false
		}
	}
	session, status, isAdult, token := query.Get("session"), query.Get("status"), query.Get("is_adult"), query.Get("token")
	expiresTS, _, _ := strings.Cut(token, ".")
	_, encoded, _ := strings.Cut(strings.TrimPrefix(secret, "rdsec_"), "_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) != 32 {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join([]string{session, status, isAdult, expiresTS}, "|")))
	wanted := expiresTS + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	expires, err := strconv.ParseInt(expiresTS, 10, 64)
	return hmac.Equal([]byte(wanted), []byte(token)) && err == nil && time.Now().Unix() <= expires &&
		session == expectedSession && status == "VERIFIED" && isAdult == "true"
}
