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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/account"
	"agegate/internal/audit"
	"agegate/internal/proof/harness"

	"github.com/google/uuid"
)

// between returns what stands between two texts of a page.
func between(t *testing.T, body, before, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(body, before)
	text, _, closed := strings.Cut(rest, after)
	if !found || !closed {
		t.Fatalf("the page lacks %q", before)
	}
	return text
}

// appCode is what an authenticator app shows.
func appCode(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
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
func enrol(t *testing.T, g *harness.Gateway, s *harness.Staff) (secret string, codes []string) {
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
	res, body = s.Post(t, "/dashboard/account/totp", url.Values{"enrolment": {enrolment}, "code": {appCode(t, secret, g.Clock.Now())}})
	want(t, "confirm", res, 200, "")
	for _, match := range codePattern.FindAllStringSubmatch(body, -1) {
		codes = append(codes, match[1])
	}
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes", len(codes))
	}
	return secret, codes
}

// owner sets up an operator who owns a tenant and is signed in by password.
func owner(t *testing.T, g *harness.Gateway, name string) (s *harness.Staff, tenant string) {
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
func logIn(t *testing.T, s *harness.Staff, name, code string) (*http.Response, string) {
	t.Helper()
	res, body := s.Post(t, "/dashboard/login", credentials(name))
	want(t, "password", res, 200, "")
	return s.Post(t, "/dashboard/login/second", url.Values{"second": {between(t, body, `name="second" value="`, `"`)}, "code": {code}})
}

func TestSecondFactor(t *testing.T) {
	harness.Each(t, func(t *testing.T, g *harness.Gateway) {
		ada, shop := owner(t, g, "ada")
		res, _ := ada.Get(t, shop+"/live")
		want(t, "live by password", res, 403, "")
		secret, codes := enrol(t, g, ada)
		res, _ = ada.Get(t, shop+"/live")
		want(t, "live with the app", res, 200, "")

		res, _ = logIn(t, g.Nobody(), "ada", appCode(t, secret, g.Clock.Now()))
		want(t, "the code that set up the app", res, 422, "")
		g.Clock.Advance(time.Minute)
		code := appCode(t, secret, g.Clock.Now())
		var in, refused atomic.Int32
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				switch res, _ := logIn(t, g.Nobody(), "ada", code); res.StatusCode {
				case 303:
					in.Add(1)
				case 422:
					refused.Add(1)
				default:
					t.Errorf("%d", res.StatusCode)
				}
			})
		}
		wg.Wait()
		if in.Load() != 1 || refused.Load() != 2 {
			t.Errorf("one code let %d in and %d out", in.Load(), refused.Load())
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
			if _, page := other.Get(t, "/dashboard/account"); strings.Contains(page, shown) || strings.Contains(g.Log.String(), shown) {
				t.Error("a secret is shown again or logged")
			}
		}
	})
}

// TestGuessing: guesses from unknown browsers end, whether the user exists or
// not, and neither the browser that was in before nor anybody else is kept out.
func TestGuessing(t *testing.T) {
	harness.Each(t, func(t *testing.T, g *harness.Gateway) {
		ada, _ := owner(t, g, "ada")
		guess := func(name string) (statuses string) {
			eve := g.Nobody()
			for i := range 100 {
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

func TestInvitations(t *testing.T) {
	harness.Each(t, func(t *testing.T, g *harness.Gateway) {
		ada, shop := owner(t, g, "ada")
		enrol(t, g, ada)
		invite := func(role string) string {
			t.Helper()
			res, body := ada.Fill(t, shop+"/team", url.Values{"role": {role}})
			want(t, "invite", res, 200, "")
			link := between(t, between(t, body, `data-testid="invitation-link"`, "</section>"), "<code>", "</code>")
			return strings.TrimPrefix(link, "http://localhost:8080")
		}
		res, _ := ada.Fill(t, shop+"/team", url.Values{"role": {"owner"}})
		want(t, "an owner's invitation", res, 422, "")

		link := invite("viewer")
		for range 2 {
			res, _ = g.Nobody().Get(t, link)
			want(t, "a preview", res, 200, "")
		}
		bob := g.Nobody()
		form := person("bob")
		form.Set("role", "owner") // must be ignored
		res, _ = bob.Post(t, link, form)
		want(t, "accept", res, 303, "/dashboard")
		res, _ = bob.Get(t, shop+"/test")
		want(t, "the viewer looks", res, 200, "")
		res, _ = bob.Get(t, shop+"/team")
		want(t, "the viewer at the team", res, 403, "")
		res, _ = g.Nobody().Post(t, link, person("cyd"))
		want(t, "the used link", res, 410, "")

		link = invite("developer")
		res, _ = bob.Post(t, link, url.Values{"as": {"me"}})
		want(t, "a member accepts", res, 409, "")
		var in, gone atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			cyd := g.SignIn(t, false)
			wg.Go(func() {
				switch res, _ := cyd.Post(t, link, url.Values{"as": {"me"}}); res.StatusCode {
				case 303:
					in.Add(1)
				case 410:
					gone.Add(1)
				default:
					t.Errorf("%d", res.StatusCode)
				}
			})
		}
		wg.Wait()
		if in.Load() != 1 || gone.Load() != 3 {
			t.Errorf("%d joined by one link, %d were too late", in.Load(), gone.Load())
		}

		revoked := invite("viewer")
		_, body := ada.Get(t, shop+"/team")
		revoke := between(t, body, `href="`+shop+`/team/invitations/`, `"`)
		res, _ = ada.Post(t, shop+"/team/invitations/"+revoke, nil)
		want(t, "revoke", res, 303, shop+"/team")
		res, _ = g.Nobody().Get(t, revoked)
		want(t, "a revoked link", res, 410, "")
		res, _ = g.Nobody().Post(t, revoked, person("dee"))
		want(t, "a revoked link", res, 410, "")
		old := invite("viewer")
		g.Clock.Advance(account.InvitationTTL)
		res, _ = g.Nobody().Post(t, old, person("dee"))
		want(t, "an expired link", res, 410, "")
		if strings.Contains(g.Log.String(), strings.TrimPrefix(link, account.LinkPath)) {
			t.Error("a link is in the log")
		}
	})
}

// team returns a tenant with two owners, who may change the team.
func team(t *testing.T, g *harness.Gateway) (path string, owners [2]*harness.Staff) {
	t.Helper()
	shop := g.Shop(t, "", nil)
	for i := range owners {
		owners[i] = g.SignIn(t, false, account.ByPasskey)
		g.Join(t, owners[i], shop.Tenant.ID, account.Owner)
		g.StepUp(t, owners[i])
	}
	return "/dashboard/" + shop.Tenant.ID.String() + "/team/", owners
}

// TestLastOwnerStays: of two owners who demote or remove each other at the same
// time, one stays.
func TestLastOwnerStays(t *testing.T) {
	harness.Each(t, func(t *testing.T, g *harness.Gateway) {
		for round := range 4 {
			path, owners := team(t, g)
			acts := []struct {
				path string
				form url.Values
			}{{"", url.Values{"role": {"viewer"}}}, {"/remove", url.Values{}}}
			var wg sync.WaitGroup
			for i, s := range owners {
				act := acts[(round+i*round)%2]
				wg.Go(func() { s.Post(t, path+owners[1-i].User.ID.String()+act.path, act.form) })
			}
			wg.Wait()
			id := uuid.MustParse(strings.Split(path, "/")[2])
			members, err := g.App.Store.Members(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			left := 0
			for _, m := range members {
				if m.Role == account.Owner {
					left++
				}
			}
			if left != 1 {
				t.Errorf("round %d: %d owners", round, left)
			}
		}
		path, owners := team(t, g)
		for _, act := range []struct {
			by, of int
			path   string
			form   url.Values
			status int
		}{
			{0, 1, "", url.Values{"role": {"king"}}, 422}, {0, 1, "", url.Values{"role": {"developer"}}, 303},
			{1, 1, "", url.Values{"role": {"owner"}}, 403}, {0, 0, "", url.Values{"role": {"viewer"}}, 409},
			{0, 0, "/remove", nil, 409}, {0, 1, "/remove", nil, 303}, {0, 1, "/remove", nil, 404},
		} {
			res, _ := owners[act.by].Post(t, path+owners[act.of].User.ID.String()+act.path, act.form)
			if res.StatusCode != act.status {
				t.Errorf("%+v: %d", act, res.StatusCode)
			}
		}
		tenant := strings.Split(path, "/")[2]
		res, _ := owners[0].Post(t, "/dashboard/account/leave/"+tenant, nil)
		want(t, "the last owner leaves", res, 409, "")
		entries, err := g.App.Store.AuditEntries(t.Context(), audit.Filter{Scope: audit.Scope(tenant), ActorID: owners[0].User.ID.String()})
		if err != nil || len(entries) != 2 || entries[0].Action != audit.MemberRemove || entries[1].Action != audit.MemberUpdate {
			t.Errorf("the log has %v, %v", entries, err)
		}
	})
}

func TestRecovery(t *testing.T) {
	harness.Each(t, func(t *testing.T, g *harness.Gateway) {
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
	harness.Each(t, func(t *testing.T, g *harness.Gateway) {
		ada, shop := owner(t, g, "ada")
		secret, _ := enrol(t, g, ada)
		g.Clock.Advance(account.StepUpTTL)
		res, body := ada.Post(t, shop+"/team", url.Values{"role": {"viewer"}})
		want(t, "an act long after the log-in", res, 403, "")
		if strings.Contains(body, "/dashboard/link/") || between(t, body, `name="next" value="`, `"`) != shop+"/team" {
			t.Error("the page does not lead back to the team")
		}
		form := credentials("ada")
		form.Set("next", shop+"/team")
		res, _ = ada.Post(t, "/dashboard/step-up", form)
		want(t, "without a code", res, 422, "")
		before := res.Request.Header.Get("Cookie")
		form.Set("code", appCode(t, secret, g.Clock.Now()))
		res, _ = ada.Post(t, "/dashboard/step-up", form)
		want(t, "step-up", res, 303, shop+"/team")
		res, _ = g.Nobody().Send(t, http.MethodGet, "/dashboard/account", nil, map[string]string{"Cookie": before})
		want(t, "the cookie before", res, 303, "/dashboard/login?next=%2Fdashboard%2Faccount")
		res, _ = ada.Fill(t, shop+"/team", url.Values{"role": {"viewer"}})
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

// TestPasswordAloneStaysWeak: who has no second factor may add one after giving
// the password, and nothing more.
func TestPasswordAloneStaysWeak(t *testing.T) {
	g := harness.Start(t, harness.SQLite(t))
	ada, shop := owner(t, g, "ada")
	g.Clock.Advance(account.StepUpTTL)
	res, _ := ada.Get(t, "/dashboard/account/totp")
	want(t, "an old log-in", res, 403, "")
	res, _ = ada.Post(t, "/dashboard/step-up", credentials("ada"))
	want(t, "by password", res, 303, "/dashboard")
	res, _ = ada.Get(t, "/dashboard/account/totp")
	want(t, "a fresh password", res, 200, "")
	res, _ = ada.Post(t, shop+"/team", url.Values{"role": {"viewer"}})
	want(t, "a dangerous act", res, 403, "")
}

func TestPasswordChangeEndsOtherLogins(t *testing.T) {
	harness.Each(t, func(t *testing.T, g *harness.Gateway) {
		ada, _ := owner(t, g, "ada")
		other, third := g.Nobody(), g.Nobody()
		for _, s := range []*harness.Staff{other, third} {
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
		"http://localhost:8080": "", "https://gate.example": "", "http://127.0.0.1:8080": "for an IP address", "https://[2001:db8::1]": "for an IP address",
	} {
		g := harness.Start(t, harness.SQLite(t), "AGEGATE_DASHBOARD_URL="+address)
		_, body := g.Nobody().Get(t, "/dashboard/login")
		if offered := strings.Contains(body, "data-passkey"); offered != (told == "") || !strings.Contains(body, told) {
			t.Errorf("%s: passkeys are offered: %v", address, offered)
		}
		for _, response := range []string{"", "{}", "null", `{"rawId":"AAAA","response":{"clientDataJSON":"e30"}}`, strings.Repeat("[", 1000)} {
			res, _ := g.Nobody().Post(t, "/dashboard/login/passkey", url.Values{"passkey": {response}})
			want(t, "a forged passkey", res, 422, "")
		}
	}
}

func TestLanguageIsTheUsers(t *testing.T) {
	g := harness.Start(t, harness.SQLite(t))
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
}
