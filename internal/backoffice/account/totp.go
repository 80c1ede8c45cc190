package account

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // G505: the algorithm that authenticator apps know, RFC 6238
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Time-based one-time passwords by RFC 6238, with the parameters that every authenticator app supports.
const (
	totpSecret = 20 // bytes
	totpPeriod = 30 // seconds
	totpDigits = 6
)

// totpSkew is the accepted difference between the clocks, in steps, before and after now.
const totpSkew = 1

func totpStep(at time.Time) int64 { return at.Unix() / totpPeriod }

// totpCode returns the code of a step.
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(step)) //nolint:gosec // G115: times after 1970
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	number := binary.BigEndian.Uint32(sum[offset:offset+4]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, number%1_000_000)
}

// matchTOTP returns the step near now to which the code belongs.
func matchTOTP(secret []byte, code string, now time.Time) (step int64, ok bool) {
	code = strings.ReplaceAll(code, " ", "")
	for s := totpStep(now) - totpSkew; s <= totpStep(now)+totpSkew; s++ {
		if subtle.ConstantTimeCompare([]byte(totpCode(secret, s)), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

var base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)

// totpURI returns the address that authenticator apps read from a QR code
// (github.com/google/google-authenticator/wiki/Key-Uri-Format).
func totpURI(secret []byte, host, email string) string {
	label := url.PathEscape("agegate " + host + ":" + email)
	return "otpauth://totp/" + label + "?secret=" + base32Text.EncodeToString(secret) +
		"&issuer=" + url.PathEscape("agegate "+host)
}
