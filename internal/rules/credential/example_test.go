package credential_test

import (
	"errors"
	"fmt"
	"time"

	"agegate/internal/rules/credential"
)

// The signature covers every value of the redirect and its expiry, so a check
// needs no database. The secret and the token are the known answer of
// openapi.yaml.
func ExampleVerifyRedirectToken() {
	key, err := credential.ParseSecret("rdsec_test_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
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

	fmt.Println("as sent:", credential.VerifyRedirectToken(key, token, redirect, inTime))

	late := credential.VerifyRedirectToken(key, token, redirect, inTime.Add(time.Hour))
	fmt.Println("an hour later:", errors.Is(late, credential.ErrTokenExpired))

	redirect.IsAdult = false
	changed := credential.VerifyRedirectToken(key, token, redirect, inTime)
	fmt.Println("changed:", errors.Is(changed, credential.ErrTokenSignature))

	// Output:
	// as sent: <nil>
	// an hour later: true
	// changed: true
}
