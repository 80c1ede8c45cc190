// Package credential implements the gateway's credentials: redirect tokens, API
// keys and signing secrets, and the sealing of secrets at rest. Every function
// is pure, and its test compares it with a known answer.
package credential

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Redirect holds the values that a redirect token signs.
type Redirect struct {
	Session string // lower-case UUID
	Status  string // VERIFIED
	IsAdult bool
}

// Token returns {expires_ts}.{base64url_mac}: expires in Unix seconds, a dot,
// and the unpadded base64url HMAC-SHA256 under key of
// session|status|is_adult|expires_ts.
func (r Redirect) Token(key []byte, expires time.Time) string {
	ts := strconv.FormatInt(expires.Unix(), 10)
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s|%s|%t|%s", r.Session, r.Status, r.IsAdult, ts)
	return ts + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// RedirectURL sets the four result parameters on successURL: token, session,
// status and is_adult. They replace parameters of the same name; all other
// parameters and the fragment are kept, byte for byte and in order. The result
// is ASCII, as a Location header must be.
func RedirectURL(successURL string, r Redirect, token string) (string, error) {
	u, err := url.Parse(successURL)
	if err != nil {
		return "", errors.New("success URL does not parse")
	}
	ours := [][2]string{
		{"token", token},
		{"session", r.Session},
		{"status", r.Status},
		{"is_adult", strconv.FormatBool(r.IsAdult)},
	}
	var query []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if pair != "" && !isOneOf(pair, ours) {
			query = append(query, escapeQuery(pair))
		}
	}
	for _, p := range ours {
		query = append(query, p[0]+"="+url.QueryEscape(p[1]))
	}
	u.RawQuery = strings.Join(query, "&")
	return u.String(), nil
}

// escapeQuery escapes what browsers escape in a query: the query percent-encode
// set of the URL standard (url.spec.whatwg.org).
func escapeQuery(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		if b <= ' ' || b > '~' || strings.IndexByte(`"#<>`, b) >= 0 {
			fmt.Fprintf(&out, "%%%02X", b)
		} else {
			out.WriteByte(b)
		}
	}
	return out.String()
}

// isOneOf reports whether an encoded name=value pair has one of the names.
func isOneOf(pair string, ours [][2]string) bool {
	name, _, _ := strings.Cut(pair, "=")
	decoded, err := url.QueryUnescape(name)
	return err == nil && slices.ContainsFunc(ours, func(p [2]string) bool { return decoded == p[0] })
}
