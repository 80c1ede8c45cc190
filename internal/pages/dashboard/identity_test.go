package dashboard_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"

	"github.com/google/uuid"
)

// between returns the part of a page between two texts.
func between(t *testing.T, body, before, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(body, before)
	text, _, closed := strings.Cut(rest, after)
	if !found || !closed {
		t.Fatalf("the page lacks %q", before)
	}
	return text
}

// appCode returns the code that an authenticator app shows.
func appCode(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ReplaceAll(secret, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, at.Unix()/30)
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1_000_000)
}

var codePattern = regexp.MustCompile(`<code>([0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4})</code>`)

// enrol sets up an authenticator app and returns its secret and the recovery
// codes.
func enrol(t *testing.T, g *gatewaytest.Gateway, s *gatewaytest.Staff) (secret string, codes []string) {
	t.Helper()
	res, body := s.Post(t, "/dashboard/account/totp", url.Values{})
	want(t, "begin", res, 200, "")
	secret = between(t, between(t, body, `data-testid="totp-secret">`, "</p>"), "<code>", "</code>")
	enrolment := between(t, body, `name="enrolment" value="`, `"`)
	res, picture := s.Get(t, "/dashboard/account/totp/picture?of="+enrolment)
	if res.StatusCode != 200 || res.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(picture, "\x89PNG") {
		t.Errorf("the QR code: %d %v", res.StatusCode, res.Header)
	}
	res, _ = s.Post(t, "/dashboard/account/totp", url.Values{"enrolment": {enrolment}, "code": {"000000x"}})
	want(t, "a wrong code", res, 422, "")
	res, body = s.Post(t, "/dashboard/account/totp",
		url.Values{"enrolment": {enrolment}, "code": {appCode(t, secret, g.Clock.Now())}})
	want(t, "confirm", res, 200, "")
	for _, match := range codePattern.FindAllStringSubmatch(body, -1) {
		codes = append(codes, match[1])
	}
	if all := `data-copy="` + strings.Join(codes, "\n") + `"`; len(codes) != 10 || !strings.Contains(body, all) {
		t.Fatalf("%d recovery codes, or no button that copies all", len(codes))
	}
	return secret, codes
}

// owner creates an operator who owns a tenant and is signed in by password.
func owner(t *testing.T, g *gatewaytest.Gateway, name string) (s *gatewaytest.Staff, tenant string) {
	t.Helper()
	shop := g.Shop(t, "", nil)
	s = g.Nobody()
	res, _ := s.Post(t, setupPath(t, g, &shop.Tenant.ID), person(name))
	want(t, "set up", res, 303, "/dashboard")
	return s, "/dashboard/" + shop.Tenant.ID.String()
}

func credentials(name string) url.Values {
	return url.Values{"email": {name + "@shop.example"}, "password": {passphrase}}
}

// logIn sends the password and the code of the second step.
func logIn(t *testing.T, s *gatewaytest.Staff, name, code string) (*http.Response, string) {
	t.Helper()
	res, body := s.Post(t, "/dashboard/login", credentials(name))
	want(t, "password", res, 200, "")
	return s.Post(t, "/dashboard/login/second",
		url.Values{"second": {between(t, body, `name="second" value="`, `"`)}, "code": {code}})
}

// atOnce sends n requests at the same time and counts the answers by status.
func atOnce(n int, send func(i int) *http.Response) map[int]int {
	answers, statuses := make([]int, n), map[int]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { answers[i] = send(i).StatusCode })
	}
	wg.Wait()
	for _, status := range answers {
		statuses[status]++
	}
	return statuses
}

func TestSecondFactor(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, shop := owner(t, g, "ada")
		res, _ := ada.Get(t, shop+"/live")
		want(t, "live by password", res, 403, "")
		g.Clock.Begin(30 * time.Second) // the app has the same code below
		secret, codes := enrol(t, g, ada)
		res, _ = ada.Get(t, shop+"/live")
		want(t, "live with the app", res, 200, "")

		res, _ = logIn(t, g.Nobody(), "ada", appCode(t, secret, g.Clock.Now()))
		want(t, "the code that set up the app", res, 422, "")
		g.Clock.Advance(time.Minute)
		code := appCode(t, secret, g.Clock.Now())
		answers := atOnce(3, func(int) *http.Response {
			res, _ := logIn(t, g.Nobody(), "ada", code)
			return res
		})
		if answers[303] != 1 || answers[422] != 2 {
			t.Errorf("one code at the same time: %v", answers)
		}
		g.Clock.Advance(account.LoginIdle) // forget the failures
		other := g.Nobody()
		res, _ = logIn(t, other, "ada", strings.ToLower(strings.ReplaceAll(codes[0], "-", " ")))
		want(t, "a recovery code", res, 303, "/dashboard")
		res, _ = other.Get(t, shop+"/live")
		want(t, "live by recovery code", res, 200, "")
		res, _ = logIn(t, g.Nobody(), "ada", codes[0])
		want(t, "the recovery code again", res, 422, "")
		_, body := other.Get(t, "/dashboard/account")
		if left := between(t, body, `data-testid="codes-left">`, "<"); left != "9 unused" {
			t.Errorf("codes left: %q", left)
		}
		res, body = other.Post(t, "/dashboard/account/codes", url.Values{})
		want(t, "new codes", res, 200, "")
		res, _ = logIn(t, g.Nobody(), "ada", codes[1])
		want(t, "a replaced code", res, 422, "")
		for _, shown := range append(codes, secret, codePattern.FindStringSubmatch(body)[1]) {
			if _, page := other.Get(t, "/dashboard/account"); strings.Contains(page, shown) ||
				strings.Contains(g.Log.String(), shown) {
				t.Error("a secret is shown again or logged")
			}
		}
	})
}

// TestGuessing: guesses from unknown browsers are stopped, whether or not the
// user exists. The browser that was in before and other users are not affected.
func TestGuessing(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, _ := owner(t, g, "ada")
		guess := func(name string) (statuses string) {
			eve, began := g.Nobody(), g.Clock.Now()
			for i := range 100 {
				g.Clock.Set(began) // on a slow machine, a wait could end before the last guess
				form := credentials(name)
				form.Set("password", fmt.Sprint("guess ", i))
				res, _ := eve.Post(t, "/dashboard/login", form)
				statuses += fmt.Sprint(res.StatusCode, " ")
				if res.StatusCode == 429 && res.Header.Get("Retry-After") == "" {
					t.Error("429 without Retry-After")
				}
			}
			return statuses
		}
		for _, name := range []string{"ada", "eve"} {
			if got := guess(name); strings.Count(got, "422") > 14 || !strings.HasSuffix(got, "429 ") {
				t.Errorf("guesses for %s: %s", name, got)
			}
		}
		g.Clock.Advance(time.Second)
		guess("ada")
		res, _ := g.Nobody().Post(t, "/dashboard/login", credentials("ada"))
		want(t, "the right password from an unknown browser", res, 429, "")
		ada.Post(t, "/dashboard/logout", nil)
		g.Clock.Advance(time.Second)
		res, _ = ada.Post(t, "/dashboard/login", credentials("ada"))
		want(t, "the right password from a known browser", res, 303, "/dashboard")
		g.Clock.Advance(15 * time.Minute)
		res, _ = g.Nobody().Post(t, "/dashboard/login", credentials("ada"))
		want(t, "after the wait", res, 303, "/dashboard")
	})
}

// TestGuessingAcrossClocks: a replica whose clock is slightly behind the one that
// counted the last failure makes nobody wait.
func TestGuessingAcrossClocks(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		owner(t, g, "ada")
		wrong := credentials("ada")
		wrong.Set("password", "not the password")
		res, _ := g.Nobody().Post(t, "/dashboard/login", wrong)
		want(t, "a wrong password", res, 422, "")
		g.Clock.Advance(-time.Second)
		res, _ = g.Nobody().Post(t, "/dashboard/login", credentials("ada"))
		want(t, "the right one, a second earlier", res, 303, "/dashboard")
	})
}

// TestGuessingManyNames: attempts that the instance's limit refuses leave no row
// behind.
func TestGuessingManyNames(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	checked, start := 0, g.Clock.Now()
	for range 60 {
		g.Clock.Set(start) // all within one second
		res, _ := g.Nobody().Post(t, "/dashboard/login", credentials(uuid.NewString()))
		if res.StatusCode == 422 {
			checked++
		}
	}
	rows, err := g.App.Store.PruneAccounts(t.Context(), g.Clock.Now().Add(25*time.Hour), 1000)
	if err != nil || rows != checked+1 { // the additional row is the instance's
		t.Errorf("%d of 60 were checked, and left %d rows, %v", checked, rows, err)
	}
}

func TestRecovery(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, _ := owner(t, g, "ada")
		enrol(t, g, ada)
		user, err := g.App.Accounts.UserByEmail(t.Context(), "ada@shop.example")
		if err != nil {
			t.Fatal(err)
		}
		link := func() string {
			t.Helper()
			link, err := g.App.Accounts.NewRecoveryLink(t.Context(), audit.System("test"), user.ID)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimPrefix(link, "http://localhost:8080")
		}
		replaced, path := link(), link()
		res, _ := g.Nobody().Get(t, replaced)
		want(t, "a replaced link", res, 410, "")
		res, body := g.Nobody().Get(t, path)
		want(t, "the link", res, 200, "")
		if !strings.Contains(body, "ada@shop.example") {
			t.Error("the page does not say whose account it is")
		}
		res, _ = g.Nobody().Post(t, path, url.Values{"password": {"ada"}})
		want(t, "a bad password", res, 422, "")
		again := g.Nobody()
		res, _ = again.Post(t, path, url.Values{"password": {"nine wooden clocks at noon"}})
		want(t, "recover", res, 303, "/dashboard")
		res, _ = ada.Get(t, "/dashboard/account")
		want(t, "the log-in before", res, 303, "/dashboard/login?next=%2Fdashboard%2Faccount")
		res, _ = g.Nobody().Post(t, path, url.Values{"password": {"nine wooden clocks at noon"}})
		want(t, "the used link", res, 410, "")
		res, _ = g.Nobody().Post(t, "/dashboard/login", credentials("ada"))
		want(t, "the old password", res, 422, "")
		form := credentials("ada")
		form.Set("password", "nine wooden clocks at noon")
		res, _ = g.Nobody().Post(t, "/dashboard/login", form)
		want(t, "the new password, without the app", res, 303, "/dashboard")

		for what, act := range map[string]func() error{
			"disable": func() error { return g.App.Accounts.Disable(t.Context(), audit.Actor{}, user.ID) },
			"recover": func() error {
				_, err := g.App.Accounts.NewRecoveryLink(t.Context(), audit.Actor{}, user.ID)
				return err
			},
		} {
			if act() == nil {
				t.Errorf("%s: nobody did it", what)
			}
		}
		res, _ = again.Get(t, "/dashboard/account")
		want(t, "after what nobody did", res, 200, "")
		if err := g.App.Accounts.Disable(t.Context(), audit.System("test"), user.ID); err != nil {
			t.Fatal(err)
		}
		res, _ = again.Get(t, "/dashboard/account")
		want(t, "a disabled user", res, 303, "/dashboard/login?next=%2Fdashboard%2Faccount")
		res, _ = g.Nobody().Post(t, "/dashboard/login", form)
		want(t, "a disabled user logs in", res, 422, "")
		if _, err := g.App.Accounts.NewRecoveryLink(t.Context(), audit.System("test"), user.ID); err == nil {
			t.Error("a recovery link for a disabled user")
		}
	})
}

func TestStepUp(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, shop := owner(t, g, "ada")
		secret, _ := enrol(t, g, ada)
		g.Clock.Advance(account.StepUpTTL)
		res, body := ada.Post(t, shop+invitePath, url.Values{"role": {"viewer"}})
		want(t, "an act long after the log-in", res, 403, "")
		if strings.Contains(body, "/dashboard/link/") || between(t, body, `name="next" value="`, `"`) != shop+invitePath {
			t.Error("the page does not lead back to the invitation")
		}
		form := credentials("ada")
		form.Set("next", shop+invitePath)
		res, _ = ada.Post(t, "/dashboard/step-up", form)
		want(t, "without a code", res, 422, "")
		before := res.Request.Header.Get("Cookie")
		form.Set("code", appCode(t, secret, g.Clock.Now()))
		res, _ = ada.Post(t, "/dashboard/step-up", form)
		want(t, "step-up", res, 303, shop+invitePath)
		res, _ = g.Nobody().Send(t, http.MethodGet, "/dashboard/account", nil, map[string]string{"Cookie": before})
		want(t, "the cookie before", res, 303, "/dashboard/login?next=%2Fdashboard%2Faccount")
		res, _ = ada.Fill(t, shop+invitePath, url.Values{"role": {"viewer"}})
		want(t, "the act", res, 200, "")

		for next, to := range map[string]string{"//evil.example": "/dashboard", "/dashboard/account": "/dashboard/account"} {
			g.Clock.Advance(time.Minute)
			form.Set("next", next)
			form.Set("code", appCode(t, secret, g.Clock.Now()))
			res, _ = ada.Post(t, "/dashboard/step-up", form)
			want(t, "step-up to "+next, res, 303, to)
		}
	})
}

// TestPasswordAloneStaysWeak: a user without a second factor may add one after
// giving the password, and nothing more.
func TestPasswordAloneStaysWeak(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	ada, shop := owner(t, g, "ada")
	g.Clock.Advance(account.StepUpTTL)
	res, _ := ada.Get(t, "/dashboard/account/totp")
	want(t, "an old log-in", res, 403, "")
	res, _ = ada.Post(t, "/dashboard/step-up", credentials("ada"))
	want(t, "by password", res, 303, "/dashboard")
	res, _ = ada.Get(t, "/dashboard/account/totp")
	want(t, "a fresh password", res, 200, "")
	res, _ = ada.Post(t, shop+invitePath, url.Values{"role": {"viewer"}})
	want(t, "a dangerous act", res, 403, "")
}

func TestPasswordChangeEndsOtherLogins(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, _ := owner(t, g, "ada")
		other, third := g.Nobody(), g.Nobody()
		for _, s := range []*gatewaytest.Staff{other, third} {
			res, _ := s.Post(t, "/dashboard/login", credentials("ada"))
			want(t, "log-in", res, 303, "/dashboard")
		}
		res, _ := other.Post(t, "/dashboard/account/sessions", nil)
		want(t, "end others", res, 303, "/dashboard/account")
		res, _ = ada.Get(t, "/dashboard/account")
		want(t, "ended", res, 303, "/dashboard/login?next=%2Fdashboard%2Faccount")
		res, _ = third.Post(t, "/dashboard/login", credentials("ada"))
		want(t, "log-in", res, 303, "/dashboard")
		res, _ = other.Post(t, "/dashboard/account/password", url.Values{"password": {"Password1234"}})
		want(t, "a bad password", res, 422, "")
		res, _ = other.Post(t, "/dashboard/account/password", url.Values{"password": {"nine wooden clocks at noon"}})
		want(t, "a new password", res, 303, "/dashboard/account")
		res, _ = third.Get(t, "/dashboard/account")
		want(t, "another browser", res, 303, "/dashboard/login?next=%2Fdashboard%2Faccount")
		res, _ = other.Get(t, "/dashboard/account")
		want(t, "this browser", res, 200, "")
	})
}

func TestPasskeysAreOfferedWhereTheyWork(t *testing.T) {
	for address, told := range map[string]string{
		"http://localhost:8080": "", "https://gate.example": "", "http://127.0.0.1:8080": "for an IP address",
		"https://[2001:db8::1]": "for an IP address",
	} {
		g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_DASHBOARD_URL="+address)
		_, body := g.Nobody().Get(t, "/dashboard/login")
		if offered := strings.Contains(body, "data-passkey"); offered != (told == "") || !strings.Contains(body, told) {
			t.Errorf("%s: passkeys are offered: %v", address, offered)
		}
		for _, response := range []string{"", "{}", "null", `{"rawId":"AAAA","response":{"clientDataJSON":"e30"}}`,
			strings.Repeat("[", 1000)} {
			res, _ := g.Nobody().Post(t, "/dashboard/login/passkey", url.Values{"passkey": {response}})
			want(t, "a forged passkey", res, 422, "")
		}
	}
}

func TestLanguageIsTheUsers(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	ada, _ := owner(t, g, "ada")
	res, _ := ada.Post(t, "/dashboard/account/language", url.Values{"locale": {"xx"}})
	want(t, "an unknown language", res, 400, "")
	res, _ = ada.Post(t, "/dashboard/account/language", url.Values{"locale": {"de"}})
	want(t, "German", res, 303, "/dashboard/account")
	other := g.Nobody()
	other.Post(t, "/dashboard/login", credentials("ada"))
	if _, body := other.Get(t, "/dashboard/account"); !strings.Contains(body, "Ihr Konto") {
		t.Error("the page is not in the user's language")
	}
	res, _ = ada.Post(t, "/dashboard/account/language", url.Values{"locale": {""}})
	if cookies := res.Cookies(); !slices.ContainsFunc(cookies, func(c *http.Cookie) bool { return c.MaxAge < 0 }) {
		t.Errorf("the browser's language again, and the browser keeps the other one: %v", cookies)
	}
}
