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
