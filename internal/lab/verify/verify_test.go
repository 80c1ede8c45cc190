package verify

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"
)

// The published vector: secret, id, time, body and the signature they give.
const (
	vectorSecret    = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	vectorID        = "evt_0190c0de-0000-7000-8000-000000000001"
	vectorTime      = 1767225600
	vectorBody      = `{"type":"session.completed","timestamp":"2026-01-01T00:00:00Z","session_id":"3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b","status":"VERIFIED","is_adult":true,"livemode":false,"target_age":18}`
	vectorSignature = "v1,HPLpc4ifH6GmEayx2xf9moVUseVcUDt5r1AiPSWht3g="
)

func vectorKey() []byte {
	key, err := base64.StdEncoding.DecodeString(vectorSecret)
	if err != nil {
		panic(err)
	}
	return key
}

func otherKey() []byte { return []byte("another key of thirty-two bytes!") }

func sign(t testing.TB, at time.Time, body string, keys ...[]byte) http.Header {
	t.Helper()
	header, err := webhook.Sign(keys, vectorID, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return header
}

func TestWebhookSaysWhy(t *testing.T) {
	now := time.Unix(vectorTime, 0)
	set := func(name, value string) http.Header {
		h := sign(t, now, vectorBody, vectorKey())
		h.Set(name, value)
		return h
	}
	good := sign(t, now, vectorBody, otherKey(), vectorKey())
	for name, tc := range map[string]struct {
		key    []byte
		header http.Header
		body   string
		now    time.Time
		fails  string // the check that fails; empty for a valid delivery
		says   string
	}{
		"holds": {vectorKey(), good, vectorBody, now, "", "VERIFIED, is_adult true, test mode"},
		"no headers": {vectorKey(), http.Header{}, vectorBody, now, "headers",
			"webhook-id, webhook-timestamp, webhook-signature"},
		"no signature": {vectorKey(), set("webhook-signature", ""), vectorBody, now, "headers",
			"missing webhook-signature"},
		"id changed": {vectorKey(), set("webhook-id", "evt_x"), vectorBody, now, "signature", "another secret"},
		"foreign id": {vectorKey(), set("webhook-id", "msg_x"), vectorBody, now, "id", "begin with evt_"},
		"timestamp not one": {vectorKey(), set("webhook-timestamp", "2026-01-01"), vectorBody, now, "timestamp",
			"Unix seconds"},
		"timestamp padded": {vectorKey(), set("webhook-timestamp", "+1767225600"), vectorBody, now, "timestamp",
			"Unix seconds"},
		"stale":           {vectorKey(), good, vectorBody, now.Add(6 * time.Minute), "timestamp", "stale: sent 6m0s ago"},
		"just in time":    {vectorKey(), good, vectorBody, now.Add(Tolerance), "", ""},
		"from the future": {vectorKey(), good, vectorBody, now.Add(-6 * time.Minute), "timestamp", "6m0s ahead"},
		"secret not decoded": {[]byte("whsec_" + vectorSecret + strings.Repeat("x", 20)), good, vectorBody, now, "signature",
			"decoded from base64"},
		"empty secret": {nil, good, vectorBody, now, "signature", "0 bytes"},
		"wrong secret": {[]byte("yet another key of 32 bytes ...."), good, vectorBody, now, "signature",
			"another secret"},
		"no version": {vectorKey(), set("webhook-signature", "HPLpc4ifH6Gm"), vectorBody, now, "signature",
			"version,signature"},
		"not base64": {vectorKey(), set("webhook-signature", "v1,!!"), vectorBody, now, "signature",
			"base64 of 32 bytes"},
		"other scheme only": {vectorKey(), set("webhook-signature", "v1a,AAAA"), vectorBody, now, "signature",
			"no v1 signature"},
		"other scheme beside": {vectorKey(), set("webhook-signature", "v1a,AAAA "+vectorSignature), vectorBody, now, "", ""},
		"newline added":       {vectorKey(), good, vectorBody + "\n", now, "signature", "white space was added"},
		"mark added":          {vectorKey(), good, "\xef\xbb\xbf" + vectorBody, now, "signature", "byte order mark"},
		"formatted": {vectorKey(), good, strings.ReplaceAll(vectorBody, ",", ", "), now, "signature",
			"formatted again"},
		"is_adult changed": {vectorKey(), good, strings.Replace(vectorBody, "true", "false", 1), now, "signature",
			"body was changed"},
		"body is not ours": {vectorKey(), sign(t, now, "[]", vectorKey()), "[]", now, "body", "not a JSON object"},
		"another type":     {vectorKey(), sign(t, now, "{}", vectorKey()), "{}", now, "body", "its type is not"},
	} {
		report := Webhook(tc.key, tc.header, []byte(tc.body), tc.now)
		if report.Valid != (tc.fails == "") {
			t.Errorf("%s: valid is %t: %+v", name, report.Valid, report.Findings)
		}
		matched := false
		for _, f := range report.Findings {
			matched = matched || (f.OK == (tc.fails == "") && (tc.fails == "" || f.Check == tc.fails) &&
				strings.Contains(f.Detail, tc.says))
			if strings.Contains(f.Detail, vectorSecret) || strings.Contains(f.Detail, vectorSignature) {
				t.Errorf("%s: a finding holds a secret or a signature: %s", name, f.Detail)
			}
		}
		if !matched {
			t.Errorf("%s: nothing says %q about %q: %+v", name, tc.says, tc.fails, report.Findings)
		}
	}
}

// Webhook recognizes a body that was parsed and printed again.
func TestWebhookRecognisesRewrittenJSON(t *testing.T) {
	event, err := webhook.NewEvent(webhook.Completion{
		TenantID: uuid.New(), SessionID: uuid.New(), Result: webhook.ResultVerified, CompletedAt: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	header, err := webhook.Sign([][]byte{vectorKey()}, event.ID, now, event.Body)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(event.Body, &fields); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	report := Webhook(vectorKey(), header, sorted, now)
	if last := report.Findings[len(report.Findings)-1]; report.Valid ||
		!strings.Contains(last.Detail, "parsed and written again") {
		t.Fatalf("%+v", report)
	}
}

// A delivery with any single byte changed, in any part, is refused.
func TestWebhookRefusesMutations(t *testing.T) {
	now := time.Unix(vectorTime, 0)
	rapid.Check(t, func(t *rapid.T) {
		header, err := webhook.Sign([][]byte{vectorKey()}, vectorID, now, []byte(vectorBody))
		if err != nil {
			t.Fatal(err)
		}
		parts := []string{vectorBody, header.Get("webhook-id"), header.Get("webhook-timestamp"),
			header.Get("webhook-signature")}
		which := rapid.IntRange(0, len(parts)-1).Draw(t, "part")
		mutated := []byte(parts[which])
		i := rapid.IntRange(0, len(mutated)-1).Draw(t, "byte")
		mutated[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		parts[which] = string(mutated)
		header.Set("webhook-id", parts[1])
		header.Set("webhook-timestamp", parts[2])
		header.Set("webhook-signature", parts[3])
		if report := Webhook(vectorKey(), header, []byte(parts[0]), now); report.Valid {
			t.Fatalf("accepted %q: %+v", parts, report.Findings)
		}
	})
}

func FuzzWebhook(f *testing.F) {
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		header := http.Header{}
		header.Set("webhook-id", id)
		header.Set("webhook-timestamp", timestamp)
		header.Set("webhook-signature", signature)
		now := time.Unix(vectorTime, 0)
		report := Webhook(vectorKey(), header, body, now)
		if len(report.Findings) == 0 {
			t.Fatal("a report without findings")
		}
		library, err := standardwebhooks.NewWebhookRaw(vectorKey())
		if err != nil {
			t.Fatal(err)
		}
		if report.Valid && library.VerifyIgnoringTimestamp(body, header) != nil {
			t.Fatalf("held here, refused by the library: %+v", report.Findings)
		}
	})
}
