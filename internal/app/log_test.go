package app_test

import (
	"strings"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
)

// TestTheLogTellsASessionsLife checks what the log shows an operator about one session.
func TestTheLogTellsASessionsLife(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	receiver := gatewaytest.NewReceiver(t)
	shop := g.Shop(t, receiver.URL, nil)
	s := g.Create(t, shop.Test.APIKey, 18)
	g.Force(t, gatewaytest.Browser(), s, "verified")
	event := receiver.Wait(t, 1)[0].Header.Get("webhook-id")

	for _, line := range []string{ // beginnings of lines
		"msg=session session_id=" + s.SessionID + " status=PENDING livemode=false tenant_id=" + shop.Tenant.ID.String() +
			" request_id=",
		"route=/api/v1/sessions/create status=201 ",
		"route=/v/:token status=303 ",
	} {
		_, after, found := strings.Cut(g.Log.String(), line)
		rest, _, _ := strings.Cut(after, "\n")
		if !found || strings.HasPrefix(line, "route") && (!strings.Contains(rest, "request_id=") ||
			!strings.Contains(rest, "tenant_id="+shop.Tenant.ID.String()) ||
			!strings.Contains(rest, "session_id="+s.SessionID)) {
			t.Errorf("no identifiers after %q: %s", line, rest)
		}
	}
	steps := []string{
		"msg=session session_id=" + s.SessionID + " status=PENDING livemode=false",
		"msg=session session_id=" + s.SessionID + " status=PASSED livemode=false",
		`msg="webhook: attempted" event=` + event,
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		told := ""
		for line := range strings.Lines(g.Log.String()) {
			if len(steps) > 0 && strings.Contains(line, "level=INFO "+steps[0]) {
				steps = steps[1:]
			}
			told += line
		}
		if len(steps) == 0 {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("no line %q in the log:\n%s", steps[0], told)
		}
	}
	_, link, _ := strings.Cut(s.VerificationURL, "/v/")
	for _, secret := range []string{link, shop.Test.APIKey, shop.Test.RedirectSecret, shop.Test.WebhookSecret,
		receiver.URL} {
		if strings.Contains(g.Log.String(), secret) {
			t.Error("the log holds a secret, a link or a callback URL")
		}
	}
}
