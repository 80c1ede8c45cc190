package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"

	"github.com/google/uuid"
	"golang.org/x/net/html"
)

// trier is the owner of a tenant with an identity provider.
type trier struct {
	*gatewaytest.Staff
	id         uuid.UUID
	page       string // of single sign-on
	try, logIn string // begin a trial and a log-in
}

func newTrier(t *testing.T, g *gatewaytest.Gateway, idp *gatewaytest.IDP) trier {
	t.Helper()
	id, owner := g.Shop(t, "", nil).Tenant.ID, g.SignIn(t, false, account.ByPasskey)
	g.Join(t, owner, id, account.Owner)
	g.StepUp(t, owner)
	o := trier{owner, id, "/dashboard/" + id.String() + "/team/sign-on", account.SSOPath + id.String() + "?try=1",
		account.SSOPath + id.String()}
	_, before := o.Get(t, o.page)
	if !strings.Contains(before, `<p class="back"><a href="/dashboard/`+id.String()+`/team">Team</a></p>`) ||
		strings.Contains(before, "keep the present secret") || strings.Contains(before, "Client secret <span") {
		t.Error("the page has no way back to the team, or speaks of a secret that is not set")
	}
	if res, _ := o.Fill(t, o.page, url.Values{
		"name": {"Shop ID"}, "issuer": {idp.URL}, "client_id": {"gate"}, "secret": {gatewaytest.IDPSecret},
		"groups_claim": {"groups"}, "groups_developer": {"makers"}, "groups_viewer": {"people"},
	}); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("set up: %d", res.StatusCode)
	}
	if _, after := o.Get(t, o.page); !strings.Contains(after, "keep the present secret") {
		t.Error("the page does not say that the secret may be left out")
	}
	return o
}

// begin begins an attempt and returns its cookie, and the address to which the
// provider sends the browser back.
func begin(
	t *testing.T, s *gatewaytest.Staff, idp *gatewaytest.IDP, at string, claims map[string]any,
) (cookie, back string) {
	t.Helper()
	res, _ := s.Get(t, at)
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("%s: %d", at, res.StatusCode)
	}
	return res.Cookies()[0].Name + "=" + res.Cookies()[0].Value, idp.Approve(t, res.Header.Get("Location"), claims)
}

// kept counts what a trial must not change.
func kept(t *testing.T, g *gatewaytest.Gateway) (counts [5]int) {
	t.Helper()
	for i, table := range []string{"users", "logins", "memberships", "audit_entries", "providers"} {
		counts[i] = g.Count(t, table)
	}
	return counts
}

// text returns the text of a page.
func text(t *testing.T, body string) string {
	t.Helper()
	page, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for n := range page.Descendants() {
		if n.Type == html.TextNode {
			all = append(all, strings.Fields(n.Data)...)
		}
	}
	return strings.Join(all, " ")
}

// TestTrialOfAProvider: its page says what a log-in would do and why, and nothing is
// changed, stored or logged.
func TestTrialOfAProvider(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newTrier(t, g, idp)
		if _, page := o.Get(t, o.page); !strings.Contains(page, `href="`+o.try+`"`) {
			t.Error("the page has no button")
		}
		const names = "aud email email_verified exp groups iat iss name nonce sub"
		var many []string
		for i := range 2999 {
			many = append(many, fmt.Sprint("canary-group", i))
		}
		gone := "the ID token has no claim groups that is a list of names."
		long := strings.Repeat("canary-long", 100)
		before := kept(t, g)
		for name, tt := range map[string]struct {
			claims map[string]any
			says   []string
			groups int // rows of the table
		}{
			"a role": {map[string]any{"groups": []string{"canary-a", "people", "/makers"}}, []string{
				"Would be let in as Developer.", idp.URL, "there, and verified", names,
				"/makers Developer canary-a no role", "people Viewer", "Nothing has changed"}, 3},
			"no role": {map[string]any{"groups": []string{"canary-a"}, "email_verified": false}, []string{
				"Would not be let in: no group has a role.", "there, but not verified", "canary-a no role"}, 1},
			"no groups": {map[string]any{"groups": []string{}, "email": nil},
				[]string{"no group has a role.", "E-mail not there"}, 0},
			"no claim": {map[string]any{"groups": nil, "canary-claim": "canary-value"}, []string{
				"Would not be let in: " + gone, "aud canary-claim email"}, 0},
			"numbers": {map[string]any{"groups": []int{1}}, []string{gone}, 0},
			"elsewhere": {map[string]any{"groups": nil, "hasgroups": true},
				[]string{"more groups than the provider writes into the ID token.", "hasgroups"}, 0},
			"the last of 3,000": {map[string]any{"groups": append(many, "people")},
				[]string{"as Viewer.", "people Viewer canary-group0", "50 of 3000 are shown."}, 50},
			"hidden and long": {map[string]any{"groups": []string{"peo\u202eple", long}, "cla\u200bim": 1},
				[]string{`peo\u202eple no role`, `cla\u200bim`, long[:account.MaxGroup] + "… no role"}, 2},
		} {
			_, back := begin(t, o.Staff, idp, o.try, tt.claims)
			res, body := o.Get(t, back)
			said := text(t, body)
			for _, want := range tt.says {
				if !strings.Contains(said, want) {
					t.Errorf("%s: %q is missing in %s", name, want, said)
				}
			}
			if n := strings.Count(body, `data-testid="tried-group"`); res.StatusCode != http.StatusOK || n != tt.groups {
				t.Errorf("%s: %d, %d groups", name, res.StatusCode, n)
			}
			for _, secret := range []string{"canary-value", "ann@corp", ">Ann<", "canary-access", gatewaytest.IDPSecret, long} {
				if strings.Contains(body, secret) {
					t.Errorf("%s: the page has %.20s", name, secret)
				}
			}
			for _, c := range res.Cookies() {
				if c.MaxAge >= 0 {
					t.Errorf("%s: the browser gets %s", name, c.Name)
				}
			}
			if res, _ := o.Get(t, back); gatewaytest.Notice(res) != "sso_late" {
				t.Errorf("%s: the same answer counts twice", name)
			}
		}
		_, back := begin(t, o.Staff, idp, o.try, map[string]any{"groups": payloads})
		_, body := o.Get(t, back)
		shown := map[string]bool{}
		if checkText(t, "a trial", body, shown); len(shown) != len(payloads) {
			t.Errorf("%d of %d payloads are shown as text", len(shown), len(payloads))
		}
		if after := kept(t, g); after != before {
			t.Errorf("users, log-ins, members, entries and providers: %v, before %v", after, before)
		}
		if res, _ := o.Get(t, o.page); res.StatusCode != http.StatusOK {
			t.Errorf("the owner afterwards: %d", res.StatusCode)
		}
		stored := dump(t, g)
		for _, secret := range []string{"canary-a", "canary-group", "canary-claim", "canary-value", "ann@corp", "code="} {
			if strings.Contains(stored, secret) || strings.Contains(g.Log.String(), secret) {
				t.Errorf("%s is stored or logged", secret)
			}
		}
	})
}

// TestTrialsOfOthers: a trial belongs to one owner's log-in and one tenant. Any other
// answer fails as that of a log-in does, and no trial signs anybody in.
func TestTrialsOfOthers(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o, other := newTrier(t, g, idp), newTrier(t, g, idp)
		second, boss := g.SignIn(t, false, account.ByPasskey), g.SignIn(t, true, account.ByPasskey)
		g.Join(t, second, o.id, account.Owner)
		makers := map[string]any{"groups": []string{"makers"}}
		before := kept(t, g)
		late := func(name string, s *gatewaytest.Staff, cookie, back string) {
			t.Helper()
			header := map[string]string{}
			if cookie != "" {
				header["Cookie"] = cookie
			}
			res, body := s.Send(t, http.MethodGet, back, nil, header)
			if gatewaytest.Notice(res) != "sso_late" || strings.Contains(body, "Trial") {
				t.Errorf("%s: %d, notice %q", name, res.StatusCode, gatewaytest.Notice(res))
			}
		}
		cookie, back := begin(t, o.Staff, idp, o.try, makers)
		late("another owner's browser", second, cookie, back)
		late("used up by another", o.Staff, "", back)
		cookie, back = begin(t, o.Staff, idp, o.try, makers)
		late("nobody's browser", g.Nobody(), cookie, back)
		cookie, back = begin(t, o.Staff, idp, o.try, makers)
		late("an operator's browser", boss, cookie, back)
		cookie, back = begin(t, o.Staff, idp, o.try, makers)
		late("a changed cookie", g.Nobody(), cookie[:len(cookie)-9]+"AAAAAAAAA", back)
		_, back = begin(t, o.Staff, idp, o.try, makers)
		late("another tenant", o.Staff, "", strings.Replace(back, o.id.String(), other.id.String(), 1))
		_, back = begin(t, o.Staff, idp, o.try, makers)
		_, answer := begin(t, o.Staff, idp, o.logIn, makers)
		late("the trial's answer to a log-in", o.Staff, "", back)
		_, _ = begin(t, o.Staff, idp, o.try, makers)
		late("the log-in's answer to a trial", o.Staff, "", answer)
		_, back = begin(t, o.Staff, idp, o.try, makers)
		g.Clock.Advance(account.SSOTTL)
		late("too late", o.Staff, "", back)

		g.StepUp(t, o.Staff)
		for name, edit := range map[string]func(map[string]any){
			"nonce":  func(c map[string]any) { c["nonce"] = strings.Repeat("n", 43) },
			"issuer": func(c map[string]any) { c["iss"] = "https://evil.example" },
		} {
			idp.Misbehave(edit, nil)
			_, back = begin(t, o.Staff, idp, o.try, makers)
			if res, _ := o.Get(t, back); gatewaytest.Notice(res) != "sso_failed" {
				t.Errorf("wrong %s: notice %q", name, gatewaytest.Notice(res))
			}
		}
		idp.Misbehave(nil, nil)
		if after := kept(t, g); after != before {
			t.Errorf("users, log-ins, members, entries and providers: %v, before %v", after, before)
		}

		// A role that ends while the owner is at the provider, and a log-in with the
		// query of a trial.
		_, back = begin(t, o.Staff, idp, o.try, makers)
		g.Join(t, o.Staff, o.id, account.Developer)
		late("no owner any more", o.Staff, "", back)
		_, back = begin(t, o.Staff, idp, o.logIn, makers)
		res, body := o.Get(t, back+"&try=1")
		if res.StatusCode != http.StatusSeeOther || body != "" || g.Count(t, "users WHERE subject = 'ann'") != 1 {
			t.Errorf("a log-in was a trial: %d", res.StatusCode)
		}
	})
}

// TestWhoMayTry: owners who have just confirmed who they are. Others go to the page with
// the button, and nothing is asked of the provider.
func TestWhoMayTry(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newTrier(t, g, idp)
		stale := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, stale, o.id, account.Owner)
		weak := g.SignIn(t, false)
		g.Join(t, weak, o.id, account.Owner)
		g.StepUp(t, weak)
		developer := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, developer, o.id, account.Developer)
		g.StepUp(t, developer)
		inside := g.SignIn(t, true, account.ByPasskey)
		g.StepUp(t, inside)
		inside.Fill(t, "/operator/tenants/"+o.id.String()+"/enter", url.Values{"reason": {"trial"}})
		for name, s := range map[string]*gatewaytest.Staff{
			"not confirmed": stale, "one factor": weak, "a developer": developer, "an operator inside": inside,
			"a foreign owner": newTrier(t, g, idp).Staff, "nobody": g.Nobody(),
		} {
			if res, _ := s.Get(t, o.try); res.Header.Get("Location") != o.page || len(res.Cookies()) != 0 {
				t.Errorf("%s: %d to %s", name, res.StatusCode, res.Header.Get("Location"))
			}
		}
		if res, _ := o.Get(t, account.SSOPath+account.SSOInstance+"?try=1"); len(res.Cookies()) != 0 {
			t.Errorf("the instance's provider: %d", res.StatusCode)
		}

		// A trial shows what a log-in would be refused for: a disabled user, and more new
		// users than the provider may make.
		trial := func(subject string) (int, string) {
			_, back := begin(t, o.Staff, idp, o.try, map[string]any{"groups": []string{"people"}, "sub": subject})
			res, body := o.Get(t, back)
			return res.StatusCode, body
		}
		g.Nobody().LogInBy(t, idp, o.logIn, map[string]any{"groups": []string{"people"}})
		ann, err := g.App.Store.UserByProvider(t.Context(), o.id, idp.URL, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if err := g.App.Accounts.Disable(t.Context(), audit.System("test"), ann.ID); err != nil {
			t.Fatal(err)
		}
		if status, body := trial("ann"); status != http.StatusOK || !strings.Contains(body, "this account is disabled") {
			t.Errorf("a disabled user: %d", status)
		}
		for i := 1; i < 60; i++ { // ann was the first
			if status, _ := trial(fmt.Sprint("user", i)); status != http.StatusOK {
				t.Fatalf("trial %d: %d", i, status)
			}
		}
		if status, _ := trial("one more"); status != http.StatusTooManyRequests {
			t.Errorf("a trial beyond the limit: %d", status)
		}
		if n := g.Count(t, "users WHERE issuer IS NOT NULL"); n != 1 {
			t.Errorf("%d users", n)
		}
	})
}
