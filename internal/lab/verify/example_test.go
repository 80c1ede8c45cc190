package verify_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"agegate/internal/lab/verify"
	"agegate/internal/rules/credential"
)

// A receiver verifies the bytes it was sent, before parsing them. The secret,
// the headers and the body are those of a delivery made at the beginning of
// 2026.
func ExampleWebhook() {
	secret := "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	header := http.Header{}
	header.Set("webhook-id", "evt_0190c0de-0000-7000-8000-000000000001")
	header.Set("webhook-timestamp", "1767225600")
	header.Set("webhook-signature", "v1,HPLpc4ifH6GmEayx2xf9moVUseVcUDt5r1AiPSWht3g=")
	body := []byte(`{"type":"session.completed","timestamp":"2026-01-01T00:00:00Z",` +
		`"session_id":"3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b","status":"VERIFIED","is_adult":true,"livemode":false,"target_age":18}`)
	received := time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC)

	report := verify.Webhook(key, header, body, received)
	fmt.Println(report.Valid)

	changed := []byte(strings.Replace(string(body), "true", "false", 1))
	report = verify.Webhook(key, header, changed, received)
	fmt.Println(report.Valid)
	for _, finding := range report.Findings {
		fmt.Printf("%s %t\n", finding.Check, finding.OK)
	}

	// Output:
	// true
	// false
	// headers true
	// id true
	// timestamp true
	// signature false
}

// The signature covers every value of the redirect and its expiry, so a check
// needs no database. The secret and the token are the known answer of
// openapi.yaml.
func ExampleRedirectToken() {
	key, err := verify.Secret("rdsec_test_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		panic(err)
	}
	token := "1767225600.slfl0m62Hp6cILJ_niu6Z16vtBKHc9YORSXIuOaA8vg"
	redirect := credential.Redirect{
		Session: "3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b",
		Status:  "VERIFIED",
		IsAdult: true,
	}
	inTime := time.Unix(1767225000, 0)

	fmt.Println("as sent:", verify.RedirectToken(key, token, redirect, inTime))

	late := verify.RedirectToken(key, token, redirect, inTime.Add(time.Hour))
	fmt.Println("an hour later:", errors.Is(late, verify.ErrTokenExpired))

	redirect.IsAdult = false
	changed := verify.RedirectToken(key, token, redirect, inTime)
	fmt.Println("changed:", errors.Is(changed, verify.ErrTokenSignature))

	// Output:
	// as sent: <nil>
	// an hour later: true
	// changed: true
}
