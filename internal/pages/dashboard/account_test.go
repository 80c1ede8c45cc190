package dashboard_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"

	"github.com/google/uuid"
)

const toLogIn = "/dashboard/login?next=%2Fdashboard%2Faccount"

// counted returns how many entries of an action the log of the instance has.
func counted(t *testing.T, g *gatewaytest.Gateway, action audit.Action) int {
	t.Helper()
	entries, err := g.App.Store.AuditEntries(t.Context(), audit.Filter{Scope: audit.Instance, Action: action, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestAccountNamesItsButtons: no two buttons of the account have the same name. An
// account without a password has a button that says: set a password first.
func TestAccountNamesItsButtons(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		_, page := g.SignIn(t, false, account.ByPasskey).Get(t, "/dashboard/account")
		for _, name := range []string{">Save the language<", ">Save the time zone<",
			`href="/dashboard/account/password" data-testid="totp-after">Set a password first<`} {
			if strings.Count(page, name) != 1 {
				t.Errorf("the page has not one %s", name)
			}
		}
	})
}

// TestOneWayIntoTheAccount: the account says what an account with one way in lacks: a
// passkey beside a password, and a second passkey or a password beside a passkey.
func TestOneWayIntoTheAccount(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, _ := owner(t, g, "ada")
		advice := func(s *gatewaytest.Staff, want string) {
			t.Helper()
			_, page := s.Get(t, "/dashboard/account")
			_, said, found := strings.Cut(page, `data-testid="one-way">`)
			if said, _, _ = strings.Cut(said, "</p>"); !found || !strings.Contains(said, want) {
				t.Errorf("the page advises %q, want %q", said, want)
			}
		}
		enrol(t, g, ada)
		advice(ada, "Create a passkey as a second way")
		bob := g.SignIn(t, false, account.ByPasskey)
		addPasskey(t, g, bob.User.ID)
		advice(bob, "Create a second passkey or set a password")
	})
}

// TestEndOneLogin: the button ends its own log-in, even if that has another
// cookie by then, and no other; each only once.
func TestEndOneLogin(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, _ := owner(t, g, "ada")
		lost, kept := g.Nobody(), g.Nobody()
		for _, s := range []*gatewaytest.Staff{lost, kept} {
			res, _ := s.Post(t, "/dashboard/login", credentials("ada"))
			want(t, "log-in", res, 303, "/dashboard")
		}
		_, page := ada.Get(t, "/dashboard/account")
		rows := strings.Split(page, `data-testid="login-row"`)[1:] // newest first; ada's own is the last
		if len(rows) != 3 || strings.Count(page, `data-testid="end-login"`) != 2 ||
			strings.Contains(rows[2], `name="since"`) {
			t.Fatalf("%d log-ins, with buttons for others than the two", len(rows))
		}
		since := between(t, rows[1], `name="since" value="`, `"`)
		res, _ := lost.Post(t, "/dashboard/step-up", credentials("ada"))
		want(t, "a confirmation brings another cookie", res, 303, "/dashboard")

		eve := g.SignIn(t, false)
		for _, s := range []*gatewaytest.Staff{eve, ada, ada} {
			res, _ := s.Post(t, "/dashboard/account/sessions/end", url.Values{"since": {since}})
			want(t, "end", res, 303, "/dashboard/account")
			if s == eve {
				res, _ = lost.Get(t, "/dashboard/account")
				want(t, "after another user's attempt", res, 200, "")
			}
		}
		res, _ = lost.Get(t, "/dashboard/account")
		want(t, "the ended one", res, 303, toLogIn)
		for what, s := range map[string]*gatewaytest.Staff{"this one": ada, "the third": kept, "another user's": eve} {
			res, _ = s.Get(t, "/dashboard/account")
			want(t, what, res, 200, "")
		}
		if n := counted(t, g, audit.LoginEnd); n != 1 {
			t.Errorf("%d entries", n)
		}
		for _, bad := range []url.Values{nil, {"since": {""}}, {"since": {"yesterday"}},
			{"since": {"2026-13-01T00:00:00Z"}}} {
			res, _ = ada.Post(t, "/dashboard/account/sessions/end", bad)
			want(t, "an unreadable form", res, 400, "")
		}
	})
}

// cookieOf returns the cookie that an answer leaves in the browser.
func cookieOf(t *testing.T, res *http.Response) string {
	t.Helper()
	for _, c := range res.Cookies() {
		if c.Name == "agegate-user" {
			return c.Name + "=" + c.Value
		}
	}
	t.Fatalf("no cookie in the answer %d", res.StatusCode)
	return ""
}

// factorForms fill in the forms that give a log-in another cookie, in an order in
// which each form finds what it changes.
var factorForms = []struct {
	name string
	path func(t *testing.T, g *gatewaytest.Gateway, user account.User) string
	fill func(t *testing.T, g *gatewaytest.Gateway, page string) url.Values // page is the page at path
	// where it leads; empty if it shows recovery codes
	leads  string
	action audit.Action
}{
	{"confirm", at("/dashboard/step-up"), typed(credentials("ada")), "/dashboard", ""},
	{"password", at("/dashboard/account/password"), typed(url.Values{"password": {passphrase}}), "/dashboard/account",
		audit.PasswordSet},
	{"app", at("/dashboard/account/totp"), func(t *testing.T, g *gatewaytest.Gateway, page string) url.Values {
		secret := between(t, between(t, page, `data-testid="totp-secret">`, "</p>"), "<code>", "</code>")
		return url.Values{"enrolment": {between(t, page, `name="enrolment" value="`, `"`)},
			"code": {appCode(t, secret, g.Clock.Now())}}
	}, "", audit.TOTPAdd},
	{"passkey away", func(t *testing.T, g *gatewaytest.Gateway, user account.User) string {
		return "/dashboard/account/passkeys/" + addPasskey(t, g, user.ID).String() + "/remove"
	}, typed(url.Values{}), "/dashboard/account", audit.PasskeyRemove},
	{"codes", at("/dashboard/account/codes"), typed(url.Values{}), "", audit.CodesReplace},
	{"app away", at("/dashboard/account/totp/remove"), typed(url.Values{}), "/dashboard/account", audit.TOTPRemove},
}

// addPasskey stores a passkey of a user, without a usable key, and returns its
// ID.
func addPasskey(t *testing.T, g *gatewaytest.Gateway, userID uuid.UUID) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	err := g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
		return tx.InsertPasskey(account.Passkey{
			ID: id, UserID: userID, CredentialID: id[:], PublicKey: id[:], AAGUID: id[:], CreatedAt: g.Clock.Now(),
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func at(path string) func(*testing.T, *gatewaytest.Gateway, account.User) string {
	return func(*testing.T, *gatewaytest.Gateway, account.User) string { return path }
}

func typed(form url.Values) func(*testing.T, *gatewaytest.Gateway, string) url.Values {
	return func(*testing.T, *gatewaytest.Gateway, string) url.Values { return maps.Clone(form) }
}

// TestFactorFormsSentTwice: a form that gives the log-in another cookie, sent
// twice, leads to the same page, makes its change once, and leaves the user
// signed in, whichever answer the browser keeps.
func TestFactorFormsSentTwice(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		owner(t, g, "ada")
		user, err := g.App.Accounts.UserByEmail(t.Context(), "ada@shop.example")
		if err != nil {
			t.Fatal(err)
		}
		send := func(cookie, method, path string, form url.Values) (*http.Response, string) {
			return g.Nobody().Send(t, method, path, form, map[string]string{"Cookie": cookie, "Sec-Fetch-Site": "same-origin"})
		}
		res, _ := g.Nobody().Post(t, "/dashboard/login", credentials("ada"))
		cookie := cookieOf(t, res)
		for _, way := range []string{"the first answer is lost", "the first answer came", "at once"} {
			for _, f := range factorForms {
				what := f.name + ", " + way
				path := f.path(t, g, user)
				_, page := send(cookie, http.MethodGet, path, nil)
				if f.name == "app" {
					_, page = send(cookie, http.MethodPost, path, url.Values{})
				}
				form := f.fill(t, g, page)
				form.Set("nonce", between(t, page, `name="nonce" value="`, `"`))
				entries := counted(t, g, f.action)

				var answers [2]*http.Response
				var bodies [2]string
				before := cookie
				if way == "at once" {
					var both sync.WaitGroup
					for i := range answers {
						both.Go(func() { answers[i], bodies[i] = send(before, http.MethodPost, path, form) })
					}
					both.Wait()
				} else {
					answers[0], bodies[0] = send(before, http.MethodPost, path, form)
					if way == "the first answer came" {
						cookie = cookieOf(t, answers[0])
					}
					answers[1], bodies[1] = send(cookie, http.MethodPost, path, form)
				}
				cookie = cookieOf(t, answers[1])
				for i, res := range answers {
					status := map[bool]int{true: 200, false: 303}[f.leads == ""]
					want(t, what, res, status, f.leads)
					if got, first := codePattern.FindAllString(bodies[i], -1),
						codePattern.FindAllString(bodies[0], -1); !slices.Equal(got, first) || f.leads == "" && len(got) != 10 {
						t.Errorf("%s: answer %d shows %d codes, or others", what, i, len(got))
					}
				}
				res, _ = send(cookie, http.MethodGet, "/dashboard/account", nil)
				want(t, what+": still signed in", res, 200, "")
				res, _ = send(before, http.MethodGet, "/dashboard/account", nil)
				want(t, what+": the cookie before", res, 303, toLogIn)
				form.Set("nonce", strings.Repeat("A", 43))
				res, _ = send(before, http.MethodPost, path, form)
				want(t, what+": the cookie before, with another form", res, 303, "/dashboard/login")
				if n := counted(t, g, f.action) - entries; f.action != "" && n != 1 {
					t.Errorf("%s: %d entries", what, n)
				}
			}
		}
	})
}

// TestLastWayStays: if two browsers remove the last two passkeys at the same
// time, one is refused.
func TestLastWayStays(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		for range 5 {
			user := g.SignIn(t, false, account.ByPasskey).User
			keys := []uuid.UUID{uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())}
			now := g.Clock.Now()
			until := now.Add(account.StepUpTTL)
			err := g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
				for _, id := range keys {
					err := errors.Join(tx.InsertPasskey(account.Passkey{
						ID: id, UserID: user.ID, CredentialID: id[:], PublicKey: id[:], AAGUID: id[:], CreatedAt: now,
					}), tx.InsertLogin(account.Login{
						Hash: credential.HashToken(tokenOf(id)), UserID: user.ID, Methods: []account.Method{account.ByPasskey},
						CreatedAt: now, SeenAt: now, EndsAt: now.Add(account.LoginTTL), SteppedUpUntil: &until,
					}))
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			answers := atOnce(len(keys), func(i int) *http.Response {
				cookie := map[string]string{"Cookie": "agegate-user=" + tokenOf(keys[i]), "Sec-Fetch-Site": "same-origin"}
				res, _ := g.Nobody().Send(t, http.MethodPost, "/dashboard/account/passkeys/"+keys[i].String()+"/remove",
					url.Values{}, cookie)
				return res
			})
			if answers[303] != 1 || answers[409] != 1 {
				t.Fatalf("the last two ways, removed at the same time: %v", answers)
			}
		}
	})
}

// tokenOf returns a token of a log-in for tests.
func tokenOf(id uuid.UUID) string { return strings.Repeat("x", 7) + id.String() }

// TestZoneOfTheBrowser: times and days are those of the browser's zone until the user chooses one, and of UTC if the
// browser names none that exists.
func TestZoneOfTheBrowser(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	ada := member(t, g, shop.Tenant.ID, account.Owner)
	shows := func(own, zone string) {
		t.Helper()
		_, body := ada.Send(t, http.MethodGet, "/dashboard/"+shop.Tenant.ID.String()+"/test/sessions?lang=en", nil,
			map[string]string{"Cookie": "agegate-zone=" + own})
		if !strings.Contains(body, ">From ("+zone+")<") || !strings.Contains(body, `data-zone="`+zone+`"`) {
			t.Errorf("%s: the page is not in %s", own, zone)
		}
	}
	shows("Asia/Tokyo", "Asia/Tokyo")
	for _, own := range []string{"", "Local", "../etc/passwd", strings.Repeat("A", 300)} {
		shows(own, "UTC")
	}
	res, _ := ada.Post(t, "/dashboard/account/zone", url.Values{"zone": {"Europe/Berlin"}})
	want(t, "choosing a zone", res, http.StatusSeeOther, "/dashboard/account")
	shows("Asia/Tokyo", "Europe/Berlin")
}

// TestOwnName: people change their own name, with an entry in the log, and read how to get another address. The
// page of an account that a provider manages says that name and address come from that provider.
func TestOwnName(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		ada := member(t, g, shop.Tenant.ID, account.Support)
		const path = "/dashboard/account/name"
		for _, wrong := range []string{"", " ", strings.Repeat("a", account.MaxName+1), "a\x00b"} {
			res, body := ada.Post(t, path, url.Values{"name": {wrong}})
			if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, `id="p-name"`) {
				t.Errorf("%q: %d", wrong, res.StatusCode)
			}
		}
		res, _ := ada.Post(t, path, url.Values{"name": {" Ada Lovelace "}})
		want(t, "a name", res, http.StatusSeeOther, "/dashboard/account")
		_, body := ada.Get(t, "/dashboard/account?lang=en")
		if !strings.Contains(body, `value="Ada Lovelace"`) || !strings.Contains(body, "let an owner invite it") {
			t.Errorf("%s", body)
		}
		if e := newest(t, g, audit.Instance); e.Action != audit.UserRename || len(e.Detail) > 2 {
			t.Errorf("%+v", e)
		}
		g.Exec(t, "UPDATE users SET issuer = 'https://idp.example', subject = 'ada'")
		if res, _ := ada.Post(t, path, url.Values{"name": {"Eve"}}); res.StatusCode != http.StatusConflict {
			t.Errorf("of a provider: %d", res.StatusCode)
		}
		if _, body := ada.Get(t, "/dashboard/account?lang=en"); strings.Contains(body, "set-name") ||
			!strings.Contains(body, "with its name and e-mail address") {
			t.Errorf("of a provider: %s", body)
		}
	})
}
