package gatewaytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/lab/verify"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func TestSuccessRedirect(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", func(shop *tenant.Tenant) {
			shop.SuccessURL = "https://shop.example/ok?order=1&token=old&status=x&a=b%20c#end"
		})
		s := g.Create(t, c.Test.APIKey, 18)
		browser := Browser()
		res, _ := g.Force(t, browser, s, "verified")
		for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		to := g.checkRedirect(t, res, c, s)
		if q := to.Query(); q.Get("order") != "1" || q.Get("a") != "b c" || to.Fragment != "end" || len(q) != 6 {
			t.Errorf("the merchant's own URL parts are not kept: %s", to)
		}

		again, err := browser.Get(g.Path(s.VerificationURL))
		if err != nil {
			t.Fatal(err)
		}
		read(t, again)
		g.checkRedirect(t, again, c, s)
		if stranger, err := Browser().Get(g.Path(s.VerificationURL)); err != nil || stranger.StatusCode != http.StatusOK {
			t.Errorf("another browser gets %v, %v, want the neutral page", stranger, err)
		} else if body := read(t, stranger); strings.Contains(body, "token=") {
			t.Error("another browser's page carries a token")
		}
		g.Clock.Advance(12 * time.Minute) // the first token has expired
		if again, err = browser.Get(g.Path(s.VerificationURL)); err != nil {
			t.Fatal(err)
		}
		read(t, again)
		g.checkRedirect(t, again, c, s)
		g.Clock.Advance(3 * time.Minute)
		late, err := browser.Get(g.Path(s.VerificationURL))
		if err != nil || late.StatusCode != http.StatusOK {
			t.Errorf("after 15 minutes: %v, %v, want the neutral page", late, err)
		}
		read(t, late)
	})
}

// checkRedirect verifies a success redirect like a merchant.
func (g *Gateway) checkRedirect(t *testing.T, res *http.Response, c tenant.Credentials, s Created) *url.URL {
	t.Helper()
	to, err := res.Location()
	if err != nil || res.StatusCode != http.StatusSeeOther {
		t.Fatalf("status %d, %v; want a redirect", res.StatusCode, err)
	}
	key, err := verify.Secret(c.Test.RedirectSecret)
	if err != nil {
		t.Fatal(err)
	}
	q := to.Query()
	want := credential.Redirect{Session: s.SessionID, Status: "VERIFIED", IsAdult: true}
	if q.Get("session") != s.SessionID || q.Get("status") != "VERIFIED" || q.Get("is_adult") != "true" {
		t.Errorf("redirect parameters %v", q)
	}
	if err := verify.RedirectToken(key, q.Get("token"), want, g.Clock.Now()); err != nil {
		t.Errorf("token: %v", err)
	}
	if err := verify.RedirectToken(key, q.Get("token"), want,
		g.Clock.Now().Add(601*time.Second)); !errors.Is(err, verify.ErrTokenExpired) {
		t.Errorf("token after 10 minutes: %v", err)
	}
	return to
}

// payload is the body of a webhook.
type payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Status    string    `json:"status"`
	IsAdult   bool      `json:"is_adult"`
	Livemode  bool      `json:"livemode"`
}

func readPayload(t *testing.T, secret string, d Delivery) payload {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := wh.Verify(d.Body, d.Header); err != nil {
		t.Errorf("the signature does not verify: %v", err)
	}
	var p payload
	dec := json.NewDecoder(strings.NewReader(string(d.Body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		t.Errorf("payload %s: %v", d.Body, err)
	}
	return p
}

func TestCompletionWebhook(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		receiver := NewReceiver(t)
		c := g.Shop(t, receiver.URL, nil)
		spoofed := g.Create(t, c.Test.APIKey, 18)
		g.Force(t, Browser(), spoofed, "spoof")
		for i, tt := range []struct {
			force, status string
			adult         bool
		}{{"verified", "VERIFIED", true}, {"fallback", "ROUTED_TO_FALLBACK", false}} {
			s := g.Create(t, c.Test.APIKey, 18)
			g.Force(t, Browser(), s, tt.force)
			p := readPayload(t, c.Test.WebhookSecret, receiver.Wait(t, i+1)[i])
			at := g.lookUp(t, c.Test.APIKey, s.SessionID).StatusAt
			if want := (payload{"session.completed", at, s.SessionID, tt.status, tt.adult, false}); p != want {
				t.Errorf("%s: got %+v, want %+v", tt.force, p, want)
			}
		}
		live := g.Create(t, c.Live.APIKey, 18)
		g.resolve(t, live, session.CheckResult{Result: session.ResultVerified, Source: session.SourceCamera})
		if p := readPayload(t, c.Live.WebhookSecret, receiver.Wait(t, 3)[2]); !p.Livemode || p.SessionID != live.SessionID {
			t.Errorf("live: got %+v", p)
		}
	})
}

// resolve passes a verdict to the session service, like the camera check.
func (g *Gateway) resolve(t *testing.T, c Created, v session.CheckResult) session.Session {
	t.Helper()
	s, err := g.App.Sessions.Resolve(t.Context(), g.session(t, c), v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWebhookRetriesKeepIDAndBody(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		receiver := NewReceiver(t)
		receiver.Answer(http.StatusInternalServerError)
		c := g.Shop(t, receiver.URL, nil)
		s := g.Create(t, c.Test.APIKey, 18)
		g.Force(t, Browser(), s, "verified")
		first := receiver.Wait(t, 1)[0]
		receiver.Answer(http.StatusOK)
		second := receiver.Wait(t, 2)[1]
		if first.Header.Get("webhook-id") != second.Header.Get("webhook-id") || string(first.Body) != string(second.Body) {
			t.Error("the second attempt differs from the first")
		}
		readPayload(t, c.Test.WebhookSecret, second)
	}, "AGEGATE_WEBHOOK_RETRY_TEST=1s,1s")
}

func TestDocumentCheck(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		receiver := NewReceiver(t)
		c := g.Shop(t, receiver.URL, func(shop *tenant.Tenant) { shop.DocumentCheck = true })
		delivered := 0
		for _, tt := range []struct{ force, status, result string }{
			{"verified", "PASSED", "VERIFIED"}, {"fallback", "FALLBACK", "ROUTED_TO_FALLBACK"},
		} {
			s := g.Create(t, c.Test.APIKey, 18)
			g.Clock.Advance(time.Minute)
			if res, _ := g.Force(t, Browser(), s, "fallback"); res.StatusCode != http.StatusOK {
				t.Errorf("the offer's status is %d", res.StatusCode)
			}
			sess := g.session(t, s)
			if got := g.StatusOf(t, c.Test.APIKey, s); got != "PENDING" || !sess.DocumentOpen() {
				t.Errorf("after the offer: %s, open %t", got, sess.DocumentOpen())
			}
			if moved := sess.ExpiresAt.Sub(sess.CreatedAt); moved < 31*time.Minute {
				t.Errorf("the offer moved the expiry to %s after creation", moved)
			}
			g.Force(t, Browser(), s, tt.force)
			if got := g.StatusOf(t, c.Test.APIKey, s); got != tt.status {
				t.Errorf("check ended by force=%s: %s", tt.force, got)
			}
			delivered++
			got := receiver.Wait(t, delivered)
			if p := readPayload(t, c.Test.WebhookSecret, got[delivered-1]); len(got) != delivered || p.Status != tt.result {
				t.Errorf("%d webhooks, the last %+v", len(got), p)
			}
		}
		abandoned := g.Create(t, c.Test.APIKey, 18)
		g.Force(t, Browser(), abandoned, "fallback")
		g.Clock.Advance(31 * time.Minute)
		if got := g.StatusOf(t, c.Test.APIKey, abandoned); got != "EXPIRED" {
			t.Errorf("abandoned: %s", got)
		}
		if got := receiver.Wait(t, delivered); len(got) != delivered {
			t.Errorf("an abandoned check has a webhook")
		}
	})
}

func TestEstimateIsStoredOnlyWithConsent(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", func(shop *tenant.Tenant) { shop.AgeVisibility = true })
		years := 34.2
		verdict := session.CheckResult{Result: session.ResultVerified, Source: session.SourceCamera, Estimate: &years}
		lookUp := func(s Created, detected, availability string) {
			t.Helper()
			g.Do(t, Row{Name: availability, Path: "/api/v1/sessions/" + s.SessionID + "/detected-age", Key: c.Test.APIKey,
				Status: 200,
				JSON:   fmt.Sprintf(`{"session_id":%q,"detected_age":%s,"availability":%q}`, s.SessionID, detected, availability)})
		}
		silent, agreed, later := g.Create(t, c.Test.APIKey, 18), g.Create(t, c.Test.APIKey, 18),
			g.Create(t, c.Test.APIKey, 18)
		for _, s := range []Created{agreed, later} {
			if err := g.App.Sessions.Consent(t.Context(), g.session(t, s), true); err != nil {
				t.Fatal(err)
			}
		}
		g.resolve(t, silent, verdict)
		g.resolve(t, agreed, verdict)
		lookUp(silent, "null", "not_consented")
		lookUp(agreed, "34.2", "available")
		off := false
		if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), c.Tenant.ID,
			tenant.Changes{AgeVisibility: &off}); err != nil {
			t.Fatal(err)
		}
		g.resolve(t, later, verdict)
		lookUp(later, "null", "not_estimated")
		lookUp(agreed, "34.2", "available")
	})
}

func TestADisabledTenantsEventsAreStillDelivered(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		receiver := NewReceiver(t)
		receiver.Answer(http.StatusInternalServerError)
		c := g.Shop(t, receiver.URL, nil)
		s, open := g.Create(t, c.Test.APIKey, 18), g.Create(t, c.Test.APIKey, 18)
		browser := Browser()
		g.Force(t, browser, s, "verified")
		receiver.Wait(t, 1)
		if err := g.App.Tenants.SetDisabled(t.Context(), audit.System("test"), c.Tenant.ID, true, ""); err != nil {
			t.Fatal(err)
		}
		tried := len(receiver.Wait(t, 1))
		receiver.Answer(http.StatusNoContent)
		deliveries := receiver.Wait(t, tried+1)
		if p := readPayload(t, c.Test.WebhookSecret, deliveries[tried]); p.SessionID != s.SessionID ||
			p.Status != "VERIFIED" {
			t.Errorf("delivered %+v", p)
		}
		for path, want := range map[string]int{
			s.VerificationURL: http.StatusForbidden, open.VerificationURL: http.StatusForbidden,
			open.VerificationURL + "?force=verified":                http.StatusForbidden,
			open.VerificationURL + "?force=verified&force=verified": http.StatusBadRequest,
		} {
			res, err := browser.Get(g.Path(path))
			if err != nil {
				t.Fatal(err)
			}
			if body := read(t, res); res.StatusCode != want || res.Header.Get("Location") != "" ||
				strings.Contains(body, "token=") {
				t.Errorf("a page of a disabled tenant: %d, want %d", res.StatusCode, want)
			}
		}
	}, "AGEGATE_WEBHOOK_RETRY_TEST=1s,2s,4s,8s,16s")
}
