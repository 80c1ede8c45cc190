package dashboard_test

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/credential"

	"github.com/google/uuid"
)

// TestPasswordAloneReplacesNothingStronger: a person who knows the password of a
// user with a second factor can neither add a factor nor remove or replace one,
// no matter whether the user's factor existed at the log-in or was added later
// from another browser.
func TestPasswordAloneReplacesNothingStronger(t *testing.T) {
	for second, add := range map[string]func(t *testing.T, g *gatewaytest.Gateway, ada *gatewaytest.Staff, id uuid.UUID){
		"passkey": func(t *testing.T, g *gatewaytest.Gateway, _ *gatewaytest.Staff, id uuid.UUID) { addPasskey(t, g, id) },
		"app":     func(t *testing.T, g *gatewaytest.Gateway, ada *gatewaytest.Staff, _ uuid.UUID) { enrol(t, g, ada) },
	} {
		t.Run(second, func(t *testing.T) {
			gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
				ada, shop := owner(t, g, "ada")
				eve := g.Nobody()
				res, _ := eve.Post(t, "/dashboard/login", credentials("ada"))
				want(t, "log-in", res, 303, "/dashboard")
				_, body := eve.Post(t, "/dashboard/account/totp", url.Values{})
				app := url.Values{
					"enrolment": {between(t, body, `name="enrolment" value="`, `"`)},
					"code": {appCode(t, between(t, between(t, body, `data-testid="totp-secret">`, "</p>"), "<code>", "</code>"),
						g.Clock.Now())},
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

// TestRemovedFactorLeavesNothingStrong: when the last second factor is removed,
// live mode closes, the other log-ins end, and the password does not confirm live
// acts. As long as the user has another one, nothing changes.
func TestRemovedFactorLeavesNothingStrong(t *testing.T) {
	for what, tt := range map[string]struct {
		passkeys int
		app      bool
		remove   string // or a passkey
		strong   bool   // afterwards
	}{
		"the app":                 {app: true, remove: "totp"},
		"the passkey":             {passkeys: 1},
		"the app with a passkey":  {passkeys: 1, app: true, remove: "totp", strong: true},
		"the passkey with an app": {passkeys: 1, app: true, strong: true},
		"one of two passkeys":     {passkeys: 2, strong: true},
	} {
		t.Run(what, func(t *testing.T) {
			gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
				ada, shop := owner(t, g, "ada")
				user, err := g.App.Store.UserByEmail(t.Context(), "ada@shop.example")
				if err != nil {
					t.Fatal(err)
				}
				if tt.app {
					enrol(t, g, ada)
				}
				remove := tt.remove
				for range tt.passkeys {
					remove = cmp.Or(tt.remove, "passkeys/"+addPasskey(t, g, user.ID).String())
				}
				here, there := strongLogin(t, g, user.ID), strongLogin(t, g, user.ID)
				send := func(cookie, method, path string, form url.Values) *http.Response {
					res, _ := g.Nobody().Send(t, method, path, form,
						map[string]string{"Cookie": cookie, "Sec-Fetch-Site": "same-origin"})
					return res
				}
				for _, cookie := range []string{here, there} {
					want(t, "live before", send(cookie, http.MethodGet, shop+"/live", nil), 200, "")
				}
				res := send(here, http.MethodPost, "/dashboard/account/"+remove+"/remove", url.Values{})
				want(t, "remove", res, 303, "/dashboard/account")
				here = cookieOf(t, res)
				if tt.strong {
					for _, cookie := range []string{here, there} {
						want(t, "live with another factor", send(cookie, http.MethodGet, shop+"/live", nil), 200, "")
					}
					return
				}
				want(t, "the other browser", send(there, http.MethodGet, "/dashboard/account", nil), 303, toLogIn)
				res = send(here, http.MethodPost, "/dashboard/step-up", credentials("ada"))
				want(t, "confirm by password", res, 303, "/dashboard")
				here = cookieOf(t, res)
				want(t, "live", send(here, http.MethodGet, shop+"/live", nil), 403, "")
				want(t, "a live act", send(here, http.MethodPost, shop+"/live/keys/new", url.Values{}), 403, "")
				want(t, "test", send(here, http.MethodGet, shop+"/test", nil), 200, "")
			})
		})
	}
}

// strongLogin stores a recently confirmed log-in by passkey and returns its
// cookie.
func strongLogin(t *testing.T, g *gatewaytest.Gateway, userID uuid.UUID) string {
	t.Helper()
	token, now := tokenOf(uuid.New()), g.Clock.Now()
	until := now.Add(account.StepUpTTL)
	err := g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
		return tx.InsertLogin(account.Login{
			Hash: credential.HashToken(token), UserID: userID, Methods: []account.Method{account.ByPasskey},
			CreatedAt: now, SeenAt: now, EndsAt: now.Add(account.LoginTTL), SteppedUpUntil: &until,
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return "agegate-user=" + token
}
