package dashboard_test

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"agegate/internal/account"
	"agegate/internal/proof/harness"

	"github.com/google/uuid"
)

// TestPasswordAloneReplacesNothingStronger: who knows the password of a user that
// has a second factor can neither add a factor of their own nor remove or replace
// one, whether the factor was there at the log-in or came later from another
// browser.
func TestPasswordAloneReplacesNothingStronger(t *testing.T) {
	for second, add := range map[string]func(t *testing.T, g *harness.Gateway, ada *harness.Staff, id uuid.UUID){
		"passkey": func(t *testing.T, g *harness.Gateway, _ *harness.Staff, id uuid.UUID) { addPasskey(t, g, id) },
		"app":     func(t *testing.T, g *harness.Gateway, ada *harness.Staff, _ uuid.UUID) { enrol(t, g, ada) },
	} {
		t.Run(second, func(t *testing.T) {
			harness.Each(t, func(t *testing.T, g *harness.Gateway) {
				ada, shop := owner(t, g, "ada")
				eve := g.Nobody()
				res, _ := eve.Post(t, "/dashboard/login", credentials("ada"))
				want(t, "log-in", res, 303, "/dashboard")
				_, body := eve.Post(t, "/dashboard/account/totp", url.Values{})
				app := url.Values{
					"enrolment": {between(t, body, `name="enrolment" value="`, `"`)},
					"code":      {appCode(t, between(t, between(t, body, `data-testid="totp-secret">`, "</p>"), "<code>", "</code>"), g.Clock.Now())},
				}
				stored := func() (user account.User, keys []account.Passkey, codes int) {
					t.Helper()
					user, err1 := g.App.Store.UserByEmail(t.Context(), "ada@shop.example")
					keys, err2 := g.App.Store.Passkeys(t.Context(), user.ID)
					codes, err3 := g.App.Store.CodesLeft(t.Context(), user.ID)
					if err1 != nil || err2 != nil || err3 != nil {
						t.Fatal(err1, err2, err3)
					}
					return user, keys, codes
				}
				user, _, _ := stored()
				add(t, g, ada, user.ID)
				user, keys, codes := stored()
				nobodys := uuid.NewString()
				if second == "passkey" {
					nobodys = keys[0].ID.String()
				}

				for path, form := range map[string]url.Values{
					"/totp":                            app,
					"/totp/remove":                     {},
					"/password":                        {"password": {"nine wooden clocks at noon"}},
					"/passkeys/new":                    nil, // a page: its form needs an authenticator
					"/passkeys/" + nobodys + "/remove": {},
					"/codes":                           {},
				} {
					path = "/dashboard/account" + path
					res, body := eve.Get(t, path)
					if res.StatusCode != 403 || !strings.Contains(body, `action="/dashboard/step-up"`) {
						t.Errorf("GET %s: %d, and the second factor is not asked for", path, res.StatusCode)
					}
					if form == nil || path == "/dashboard/account/codes" && user.TOTP == nil {
						continue
					}
					res, body = eve.Post(t, path, form)
					if res.StatusCode != 403 || !strings.Contains(body, `action="/dashboard/step-up"`) {
						t.Errorf("POST %s: %d, and the second factor is not asked for", path, res.StatusCode)
					}
				}
				if u, k, c := stored(); !reflect.DeepEqual(u, user) || !reflect.DeepEqual(k, keys) || c != codes {
					t.Errorf("factors became %+v, %+v and %d codes", u, k, c)
				}
				res, _ = eve.Get(t, shop+"/live")
				want(t, "live", res, 403, "")
			})
		})
	}
}
