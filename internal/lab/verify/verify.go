// Package verify explains a received webhook to the developer of a receiver.
package verify

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/rules/webhook"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Tolerance is how far a delivery's timestamp may lie from the receiver's
// clock (Standard Webhooks 1.0).
const Tolerance = 5 * time.Minute

// Finding is the result of one check of a delivery.
type Finding struct {
	Check  string `json:"check"` // headers, id, timestamp, signature or body
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // contains no secret and no signature
}

// Report says whether a delivery is valid, and why.
type Report struct {
	Valid    bool      `json:"valid"`
	Findings []Finding `json:"findings"` // every check that could be made, in order
}

// Add appends the result of a check, and returns ok.
func (r *Report) Add(check string, ok bool, format string, args ...any) bool {
	r.Findings = append(r.Findings, Finding{check, ok, fmt.Sprintf(format, args...)})
	r.Valid = r.Valid && ok
	return ok
}

// Webhook checks a received delivery against a signing key at the receiver's
// time, and reports the result of each check. The signature is checked even
// when the timestamp is stale, so that one run reports every problem.
func Webhook(key []byte, header http.Header, body []byte, now time.Time) Report {
	report := Report{Valid: true}
	id := header.Get(standardwebhooks.HeaderWebhookID)
	if !report.checkHeaders(header) {
		return report
	}
	report.Add("id", strings.HasPrefix(id, "evt_"), "webhook-id is %d characters and should begin with evt_", len(id))
	at, ok := report.checkTimestamp(header.Get(standardwebhooks.HeaderWebhookTimestamp), now)
	if !ok {
		return report
	}
	if report.checkSignature(key, id, at, header.Get(standardwebhooks.HeaderWebhookSignature), body) {
		report.checkBody(body)
	}
	return report
}

func (r *Report) checkHeaders(header http.Header) bool {
	var missing []string
	for _, name := range []string{
		standardwebhooks.HeaderWebhookID,
		standardwebhooks.HeaderWebhookTimestamp,
		standardwebhooks.HeaderWebhookSignature,
	} {
		if header.Get(name) == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return r.Add("headers", false, "missing %s: pass the request's headers on unchanged",
			strings.Join(missing, ", "))
	}
	return r.Add("headers", true, "the three webhook headers are present")
}

// checkTimestamp reports ok when the timestamp can be parsed, stale or not.
func (r *Report) checkTimestamp(value string, now time.Time) (at time.Time, ok bool) {
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != value {
		return time.Time{}, r.Add("timestamp", false, "webhook-timestamp is not a number of Unix seconds")
	}
	at = time.Unix(seconds, 0)
	age := now.Sub(at).Truncate(time.Second)
	switch {
	case age > Tolerance:
		r.Add("timestamp", false,
			"stale: sent %s ago, %s are allowed; a replay, or the receiver's clock is ahead", age, Tolerance)
	case age < -Tolerance:
		r.Add("timestamp", false, "from the future: %s ahead, %s are allowed; the receiver's clock is behind",
			-age, Tolerance)
	default:
		r.Add("timestamp", true, "sent %s ago, within %s", age, Tolerance)
	}
	return at, true
}

func (r *Report) checkSignature(key []byte, id string, at time.Time, value string, body []byte) bool {
	if len(key) < webhook.MinKeyBytes || len(key) > webhook.MaxKeyBytes {
		return r.Add("signature", false,
			"the secret has %d bytes, %d to %d are allowed: use the whole secret, without the prefix whsec_ and decoded from "+
				"base64", len(key), webhook.MinKeyBytes, webhook.MaxKeyBytes)
	}
	signatures, problem := parseSignatures(value)
	if problem != "" {
		return r.Add("signature", false, "webhook-signature is malformed: %s", problem)
	}
	matches := func(candidate []byte) bool {
		want, err := webhook.Sign([][]byte{key}, id, at, candidate)
		return err == nil && slices.ContainsFunc(signatures, func(got string) bool {
			return hmac.Equal([]byte(got), []byte(want.Get(standardwebhooks.HeaderWebhookSignature)))
		})
	}
	if matches(body) {
		return r.Add("signature", true, "one of %d signatures matches this secret and these exact bytes",
			len(signatures))
	}
	if change := explainChange(body, matches); change != "" {
		return r.Add("signature", false,
			"the secret is right but the body was changed: %s; verify the raw bytes before any parser touches them",
			change)
	}
	return r.Add("signature", false,
		"no signature matches: the delivery was signed with another secret (of the other mode, or before or after a "+
			"rotation), or the id, the timestamp or the body was changed")
}

// parseSignatures returns the v1 signatures of the header, each as "v1,base64".
func parseSignatures(value string) (v1 []string, problem string) {
	for part := range strings.FieldsSeq(value) {
		version, encoded, found := strings.Cut(part, ",")
		if !found {
			return nil, `each part is "version,signature", parts are separated by spaces`
		}
		if version != "v1" {
			continue // another scheme, which is ignored
		}
		if raw, err := base64.StdEncoding.DecodeString(encoded); err != nil || len(raw) != 32 {
			return nil, "a v1 signature is the base64 of 32 bytes"
		}
		v1 = append(v1, part)
	}
	if len(v1) == 0 {
		return nil, "no v1 signature in it"
	}
	return v1, ""
}

// explainChange tries the changes that happen most often to a body between
// receipt and check. It returns "" if none of them explains the mismatch.
func explainChange(body []byte, matches func([]byte) bool) string {
	trimmed := bytes.TrimRight(body, " \t\r\n")
	if !bytes.Equal(trimmed, body) && matches(trimmed) {
		return "white space was added at the end"
	}
	if unmarked, found := bytes.CutPrefix(trimmed, []byte("\xef\xbb\xbf")); found && matches(unmarked) {
		return "a byte order mark was added"
	}
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil && matches(compact.Bytes()) {
		return "the JSON was formatted again"
	}
	var fields webhook.Payload
	if json.Unmarshal(body, &fields) == nil {
		if ordered, err := json.Marshal(fields); err == nil && matches(ordered) {
			return "the JSON was parsed and written again"
		}
	}
	return ""
}

// checkBody checks a body whose signature is valid.
func (r *Report) checkBody(body []byte) {
	var fields webhook.Payload
	if err := json.Unmarshal(body, &fields); err != nil {
		r.Add("body", false, "signed, but not a JSON object of the expected fields")
		return
	}
	if fields.Type != webhook.EventType {
		r.Add("body", false, "signed, but its type is not %s", webhook.EventType)
		return
	}
	mode := "test"
	if fields.Livemode {
		mode = "live"
	}
	r.Add("body", true, "%s, is_adult %t, %s mode; compare session_id with the session you expect",
		fields.Status, fields.IsAdult, mode)
}
