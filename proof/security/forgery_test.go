package security

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/credential"
	"agegate/proof/table"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// changed returns s with one to three bytes changed, dropped, doubled or swapped.
// The result differs from s by more than white space at its ends, which a
// header's value may have.
func changed(rng *rand.Rand, s string) string {
	for {
		b := []byte(s)
		for range 1 + rng.IntN(3) {
			if len(b) == 0 {
				break
			}
			switch i := rng.IntN(len(b)); rng.IntN(5) {
			case 0:
				b[i] ^= 1 << rng.IntN(8)
			case 1:
				b = append(b[:i], b[i+1:]...)
			case 2:
				b = append(b[:i], append([]byte{b[i]}, b[i:]...)...)
			case 3:
				j := rng.IntN(len(b))
				b[i], b[j] = b[j], b[i]
			default:
				b[i] = byte(rng.IntN(256))
			}
		}
		if !bytes.Equal(bytes.TrimSpace(b), bytes.TrimSpace([]byte(s))) {
			return string(b)
		}
	}
}

// changedKey returns another key than key to HMAC, which fills a key up with zeros
// (RFC 2104, section 2): one zero more or fewer at the end is the same key.
func changedKey(rng *rand.Rand, key []byte) []byte {
	for {
		k := []byte(changed(rng, string(key)))
		if !bytes.Equal(bytes.TrimRight(k, "\x00"), bytes.TrimRight(key, "\x00")) {
			return k
		}
	}
}

// A key that ends with a zero, as one of 256 does, is changed to another key too.
func TestChangedKeysAreOtherKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	key := append(bytes.Repeat([]byte{7}, 31), 0)
	vouched := credential.Redirect{Session: "a", Status: "VERIFIED", IsAdult: true}
	now := time.Now()
	token := vouched.Token(key, now.Add(time.Minute))
	for range 10_000 {
		if k := changedKey(rng, key); verify.RedirectToken(k, token, vouched, now) == nil {
			t.Fatalf("%x and %x sign alike", key, k)
		}
	}
}

// Real redirects and deliveries of a running gateway are refused when anything in
// them is changed.
func TestForgeriesAreRefused(t *testing.T) {
	table.Beside(t)
	rng := rand.New(rand.NewPCG(3, 3))
	onEach(t, "Changed redirect tokens and webhook deliveries", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, nil)
		session := g.Create(t, shop.Test.APIKey, 18)
		res, _ := g.Force(t, gatewaytest.Browser(), session, "verified")
		token := mustURL(t, res.Header.Get("Location")).Query().Get("token")
		key, err := verify.Secret(shop.Test.RedirectSecret)
		if err != nil {
			t.Fatal(err)
		}
		vouched := credential.Redirect{Session: session.SessionID, Status: "VERIFIED", IsAdult: true}
		now := time.Now()
		if err := verify.RedirectToken(key, token, vouched, now); err != nil {
			t.Fatal("the real token is refused:", err)
		}
		n := table.Sized(5_000, 1_000)
		r.Didf("%d changes of each", n)
		var tokens []string
		for range n {
			k, tok, v := forgedRedirect(rng, key, token, vouched)
			if verify.RedirectToken(k, tok, v, now) == nil {
				tokens = append(tokens, fmt.Sprintf("%q %+v", tok, v))
			}
		}
		r.None("changed tokens that hold", tokens)
		r.None("changed deliveries that hold", forgedDeliveries(t, rng, n, shop.Test.WebhookSecret, receiver.Wait(t, 1)[0]))
	})
}

// forgedRedirect changes the token, the values that it signs, or the key.
func forgedRedirect(
	rng *rand.Rand, key []byte, token string, v credential.Redirect,
) ([]byte, string, credential.Redirect) {
	switch rng.IntN(6) {
	case 0:
		v.Session = changed(rng, v.Session)
	case 1:
		v.Status = pick(rng, []string{"ROUTED_TO_FALLBACK", "SPOOF_DETECTED", "verified", "", "VERIFIED|true",
			changed(rng, v.Status)})
	case 2:
		v.IsAdult = false
	case 3:
		key = changedKey(rng, key)
	default:
		token = changed(rng, token)
	}
	return key, token, v
}

// forgedDeliveries returns the changed deliveries that this package's check or
// the published library accepts.
func forgedDeliveries(t *testing.T, rng *rand.Rand, n int, secret string, sent gatewaytest.Delivery) (held []string) {
	t.Helper()
	key, err := verify.Secret(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	library, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		t.Fatal(err)
	}
	if !verify.Webhook(key, sent.Header, sent.Body, now).Valid || library.Verify(sent.Body, sent.Header) != nil {
		t.Fatal("the real delivery is refused")
	}
	for range n {
		header, body := http.Header{}, string(sent.Body)
		for name, values := range sent.Header {
			header[name] = []string{values[0]}
		}
		if name := pick(rng, []string{"webhook-id", "webhook-timestamp", "webhook-signature", "body",
			"body"}); name == "body" {
			body = changed(rng, body)
			if rng.IntN(3) == 0 {
				body = strings.Replace(string(sent.Body), pick(rng, []string{"VERIFIED", "true", "false", "session"}), "true ", 1)
			}
		} else {
			header.Set(name, changed(rng, header.Get(name)))
		}
		if verify.Webhook(key, header, []byte(body), now).Valid || library.Verify([]byte(body), header) == nil {
			held = append(held, fmt.Sprintf("%q %q", header, body))
		}
	}
	return held
}
