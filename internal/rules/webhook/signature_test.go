package webhook

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	header, err := Sign(keys, vectorID, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return header
}

func TestSignKnownAnswer(t *testing.T) {
	header := sign(t, time.Unix(vectorTime, 999), vectorBody, vectorKey())
	for name, want := range map[string]string{
		"webhook-id": vectorID, "webhook-timestamp": "1767225600", "webhook-signature": vectorSignature,
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestSignWhileRotating(t *testing.T) {
	now := time.Now()
	header := sign(t, now, vectorBody, otherKey(), vectorKey())
	if n := len(strings.Fields(header.Get("webhook-signature"))); n != 2 {
		t.Fatalf("%d signatures, want 2", n)
	}
	for _, key := range [][]byte{vectorKey(), otherKey()} {
		receiver, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := receiver.Verify([]byte(vectorBody), header); err != nil {
			t.Errorf("the library refuses one of the two secrets: %v", err)
		}
	}
}

func TestSignRefusesKeys(t *testing.T) {
	for name, keys := range map[string][][]byte{
		"none": nil, "empty": {{}}, "short": {make([]byte, 23)}, "long": {make([]byte, 65)},
		"one of two": {make([]byte, 32), {}},
	} {
		if header, err := Sign(keys, vectorID, time.Now(), nil); err == nil {
			t.Errorf("%s: signed as %v", name, header)
		}
	}
}

// Merchants use the npm package. One process of it checks valid deliveries and
// deliveries with one change.
func TestSignatureAgainstPublishedNPMPackage(t *testing.T) {
	modules, err := filepath.Abs("../../../node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "standardwebhooks", "package.json")); err != nil {
		t.Fatal("the npm package standardwebhooks is missing: run npm ci --ignore-scripts at the root of the repository")
	}
	type delivery struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	now := time.Now()
	secret := "whsec_" + vectorSecret
	flat := func(h http.Header) map[string]string {
		m := map[string]string{}
		for name := range h {
			m[strings.ToLower(name)] = h.Get(name)
		}
		return m
	}
	single, rotating := sign(t, now, vectorBody, vectorKey()), sign(t, now, vectorBody, otherKey(), vectorKey())
	deliveries := []delivery{
		{secret, flat(single), vectorBody},
		{secret, flat(rotating), vectorBody},
		{secret, flat(single), vectorBody + " "},
		{secret, flat(sign(t, now, vectorBody, otherKey())), vectorBody},
		{secret, flat(sign(t, now.Add(-time.Hour), vectorBody, vectorKey())), vectorBody},
	}
	input, err := json.Marshal(deliveries)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "-e", `
		const { Webhook } = require("standardwebhooks");
		const deliveries = JSON.parse(require("fs").readFileSync(0, "utf8"));
		console.log(JSON.stringify(deliveries.map(({ secret, headers, body }) => {
			try { new Webhook(secret).verify(body, headers); return true; } catch { return false; }
		})));`)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stdin = strings.NewReader(string(input))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, out)
	}
	if got := strings.TrimSpace(string(out)); got != "[true,true,false,false,false]" {
		t.Fatalf("the npm package says %s", got)
	}
}

func TestVerifySaysWhy(t *testing.T) {
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
		report := Verify(tc.key, tc.header, []byte(tc.body), tc.now)
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

// Verify recognizes a body that was parsed and printed again.
func TestVerifyRecognisesRewrittenJSON(t *testing.T) {
	event, err := NewEvent(Completion{TenantID: aTenant, SessionID: aSession, Result: ResultVerified,
		CompletedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	header, err := Sign([][]byte{vectorKey()}, event.ID, now, event.Body)
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
	report := Verify(vectorKey(), header, sorted, now)
	if last := report.Findings[len(report.Findings)-1]; report.Valid ||
		!strings.Contains(last.Detail, "parsed and written again") {
		t.Fatalf("%+v", report)
	}
}

// A delivery with any single byte changed, in any part, is refused.
func TestVerifyRefusesMutations(t *testing.T) {
	now := time.Unix(vectorTime, 0)
	rapid.Check(t, func(t *rapid.T) {
		header, err := Sign([][]byte{vectorKey()}, vectorID, now, []byte(vectorBody))
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
		if report := Verify(vectorKey(), header, []byte(parts[0]), now); report.Valid {
			t.Fatalf("accepted %q: %+v", parts, report.Findings)
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		header := http.Header{}
		header.Set("webhook-id", id)
		header.Set("webhook-timestamp", timestamp)
		header.Set("webhook-signature", signature)
		now := time.Unix(vectorTime, 0)
		report := Verify(vectorKey(), header, body, now)
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
