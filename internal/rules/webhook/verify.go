package webhook

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

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Tolerance is how far a delivery's timestamp may lie from the receiver's
// clock (Standard Webhooks 1.0).
const Tolerance = 5 * time.Minute

// Finding is the result of one check of a delivery.
type Finding struct {
	Check  string `json:"check"` // headers, id, timestamp, signature or body
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // for developers; contains no secret and no signature
	Code   Code   `json:"-"`
	Values []any  `json:"-"` // the values in Detail, in order; none for CodeBodyChanged
}

// Code identifies the result of a check, for texts in other languages than
// Detail's.
type Code string

// The codes, grouped by check. Each comment names the contents of
// Finding.Values.
const (
	CodeHeadersMissing  Code = "headers_missing" // the names of the headers
	CodeHeaders         Code = "headers"
	CodeID              Code = "id"       // its length
	CodeIDOther         Code = "id_other" // its length
	CodeTimeUnreadable  Code = "time_unreadable"
	CodeTimeStale       Code = "time_stale"    // its age, Tolerance
	CodeTimeFuture      Code = "time_future"   // how far ahead, Tolerance
	CodeTime            Code = "time"          // its age, Tolerance
	CodeSecretLength    Code = "secret_length" // length of the secret and the allowed lengths, in bytes
	CodeSignatureParts  Code = "signature_parts"
	CodeSignatureBase64 Code = "signature_base64"
	CodeSignatureNone   Code = "signature_none"
	CodeSignature       Code = "signature"     // the number of signatures
	CodeBodyChanged     Code = "body_changed_" // and the Change
	CodeSignatureOther  Code = "signature_other"
	CodeBodyNotJSON     Code = "body_not_json"
	CodeBodyType        Code = "body_type"
	CodeBody            Code = "body" // status, is_adult, mode
)

// Change is a change that often happens to a body between receipt and check.
type Change string

// The changes.
const (
	ChangeSpace     Change = "space"     // white space was added at the end
	ChangeMark      Change = "mark"      // a byte order mark was added
	ChangeFormat    Change = "format"    // the JSON was formatted again
	ChangeRewritten Change = "rewritten" // the JSON was parsed and written again
)

var changes = map[Change]string{
	ChangeSpace: "white space was added at the end", ChangeMark: "a byte order mark was added",
	ChangeFormat: "the JSON was formatted again", ChangeRewritten: "the JSON was parsed and written again",
}

// Codes returns all codes.
func Codes() []Code {
	codes := []Code{
		CodeHeadersMissing, CodeHeaders, CodeID, CodeIDOther, CodeTimeUnreadable, CodeTimeStale, CodeTimeFuture, CodeTime,
		CodeSecretLength,
		CodeSignatureParts, CodeSignatureBase64, CodeSignatureNone, CodeSignature, CodeSignatureOther, CodeBodyNotJSON,
		CodeBodyType, CodeBody,
	}
	for change := range changes {
		codes = append(codes, CodeBodyChanged+Code(change))
	}
	return codes
}

// Report says whether a delivery is valid, and why.
type Report struct {
	Valid    bool      `json:"valid"`
	Findings []Finding `json:"findings"` // every check that could be made, in order
}

func (r *Report) add(check string, ok bool, code Code, format string, args ...any) bool {
	r.Findings = append(r.Findings, Finding{Check: check, OK: ok, Detail: fmt.Sprintf(format, args...), Code: code,
		Values: args})
	r.Valid = r.Valid && ok
	return ok
}

// Verify checks a received delivery against a signing key at the receiver's
// time, and reports the result of each check. The signature is checked even
// when the timestamp is stale, so that one run reports every problem.
func Verify(key []byte, header http.Header, body []byte, now time.Time) Report {
	report := Report{Valid: true}
	id := header.Get(standardwebhooks.HeaderWebhookID)
	if !report.checkHeaders(header) {
		return report
	}
	code := CodeID
	if !strings.HasPrefix(id, "evt_") {
		code = CodeIDOther
	}
	report.add("id", code == CodeID, code, "webhook-id is %d characters and should begin with evt_", len(id))
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
		return r.add("headers", false, CodeHeadersMissing, "missing %s: pass the request's headers on unchanged",
			strings.Join(missing, ", "))
	}
	return r.add("headers", true, CodeHeaders, "the three webhook headers are present")
}

// checkTimestamp reports ok when the timestamp can be parsed, stale or not.
func (r *Report) checkTimestamp(value string, now time.Time) (at time.Time, ok bool) {
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != value {
		return time.Time{}, r.add("timestamp", false, CodeTimeUnreadable, "webhook-timestamp is not a number of Unix seconds")
	}
	at = time.Unix(seconds, 0)
	age := now.Sub(at).Truncate(time.Second)
	switch {
	case age > Tolerance:
		r.add("timestamp", false, CodeTimeStale,
			"stale: sent %s ago, %s are allowed; a replay, or the receiver's clock is ahead", age, Tolerance)
	case age < -Tolerance:
		r.add("timestamp", false, CodeTimeFuture, "from the future: %s ahead, %s are allowed; the receiver's clock is behind",
			-age, Tolerance)
	default:
		r.add("timestamp", true, CodeTime, "sent %s ago, within %s", age, Tolerance)
	}
	return at, true
}

func (r *Report) checkSignature(key []byte, id string, at time.Time, value string, body []byte) bool {
	if len(key) < minKeyBytes || len(key) > maxKeyBytes {
		return r.add("signature", false, CodeSecretLength,
			"the secret has %d bytes, %d to %d are allowed: use the whole secret, without the prefix whsec_ and decoded from "+
				"base64", len(key), minKeyBytes, maxKeyBytes)
	}
	signatures, code, problem := parseSignatures(value)
	if problem != "" {
		return r.add("signature", false, code, "webhook-signature is malformed: %s", problem)
	}
	matches := func(candidate []byte) bool {
		want, err := signOnce(key, id, at, candidate)
		return err == nil && slices.ContainsFunc(signatures, func(got string) bool {
			return hmac.Equal([]byte(got), []byte(want))
		})
	}
	if matches(body) {
		return r.add("signature", true, CodeSignature, "one of %d signatures matches this secret and these exact bytes",
			len(signatures))
	}
	if change := explainChange(body, matches); change != "" {
		return r.add("signature", false, CodeBodyChanged+Code(change),
			"the secret is right but the body was changed: %s; verify the raw bytes before any parser touches them",
			changes[change])
	}
	return r.add("signature", false, CodeSignatureOther,
		"no signature matches: the delivery was signed with another secret (of the other mode, or before or after a "+
			"rotation), or the id, the timestamp or the body was changed")
}

// parseSignatures returns the v1 signatures of the header, each as "v1,base64".
func parseSignatures(value string) (v1 []string, code Code, problem string) {
	for part := range strings.FieldsSeq(value) {
		version, encoded, found := strings.Cut(part, ",")
		if !found {
			return nil, CodeSignatureParts, `each part is "version,signature", parts are separated by spaces`
		}
		if version != "v1" {
			continue // another scheme, which is ignored
		}
		if raw, err := base64.StdEncoding.DecodeString(encoded); err != nil || len(raw) != 32 {
			return nil, CodeSignatureBase64, "a v1 signature is the base64 of 32 bytes"
		}
		v1 = append(v1, part)
	}
	if len(v1) == 0 {
		return nil, CodeSignatureNone, "no v1 signature in it"
	}
	return v1, "", ""
}

// explainChange tries the changes that happen most often to a body between
// receipt and check. It returns "" if none of them explains the mismatch.
func explainChange(body []byte, matches func([]byte) bool) Change {
	trimmed := bytes.TrimRight(body, " \t\r\n")
	if !bytes.Equal(trimmed, body) && matches(trimmed) {
		return ChangeSpace
	}
	if unmarked, found := bytes.CutPrefix(trimmed, []byte("\xef\xbb\xbf")); found && matches(unmarked) {
		return ChangeMark
	}
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil && matches(compact.Bytes()) {
		return ChangeFormat
	}
	var fields payload
	if json.Unmarshal(body, &fields) == nil {
		if ordered, err := json.Marshal(fields); err == nil && matches(ordered) {
			return ChangeRewritten
		}
	}
	return ""
}

// checkBody checks a body whose signature is valid.
func (r *Report) checkBody(body []byte) {
	var fields payload
	if err := json.Unmarshal(body, &fields); err != nil {
		r.add("body", false, CodeBodyNotJSON, "signed, but not a JSON object of the expected fields")
		return
	}
	if fields.Type != EventType {
		r.add("body", false, CodeBodyType, "signed, but its type is not %s", EventType)
		return
	}
	mode := "test"
	if fields.Livemode {
		mode = "live"
	}
	r.add("body", true, CodeBody, "%s, is_adult %t, %s mode; compare session_id with the session you expect",
		fields.Status, fields.IsAdult, mode)
}
