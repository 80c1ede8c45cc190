package security

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"
)

// guesses is the number of wrong passwords after which a bucket has to wait for
// minutes.
const guesses = 17

// An attacker with a user's device cookie guesses the password until that device
// has to wait, and then continues with the same cookie in other spellings.
func TestSpellingsOfADeviceCookie(t *testing.T) {
	table.Beside(t)
	onEach(t, "A device cookie in several spellings", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		person, signed := newcomer(t, g)
		second, err := g.App.Accounts.LogIn(t.Context(), person.Email, person.Password, account.Browser{})
		if err != nil {
			t.Fatal(err)
		}
		logIn := func(device, password string) int {
			header := map[string]string{"Sec-Fetch-Site": "same-origin"}
			if device != "" {
				header["Cookie"] = "agegate-device=" + device
			}
			// A busy machine turns log-ins away before it looks at the password.
			return unlessBusy(func() (*http.Response, int) {
				res, _ := g.Nobody().Send(t, http.MethodPost, "/dashboard/login",
					url.Values{"email": {person.Email}, "password": {password}}, header)
				return res, res.StatusCode
			}).StatusCode
		}
		var early []string
		for range guesses {
			g.Clock.Advance(16 * time.Minute)
			for _, device := range []string{signed.Device, ""} { // the device's bucket, and the account's
				if status := logIn(device, "wrong"); status != http.StatusUnprocessableEntity {
					early = append(early, http.StatusText(status))
				}
			}
		}
		var other []string
		spellings := spellingsOf(signed.Device)
		for _, device := range spellings {
			if status := logIn(device, "wrong"); status != http.StatusTooManyRequests {
				other = append(other, http.StatusText(status))
			}
		}
		r.Didf("%d wrong passwords with the cookie and as many without, then %d spellings", guesses, len(spellings))
		r.None("guesses refused before their time", early)
		r.None("spellings that had a guess of their own", other)
		status := logIn(second.Device, person.Password)
		r.Mark("the user in another known browser", "303", fmt.Sprint(status), status == http.StatusSeeOther)
	})
}

// spellingsOf returns texts that careless decoders decode to the same bytes as a
// base64 cookie, including the cookie itself.
func spellingsOf(cookie string) []string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(cookie) - 1
	all := []string{cookie + "=", cookie + "==", `"` + cookie + `"`,
		strings.NewReplacer("-", "+", "_", "/").Replace(cookie)}
	for _, end := range alphabet { // the unused bits can have any value
		all = append(all, cookie[:last]+string(end))
	}
	return all
}
