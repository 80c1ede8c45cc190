package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
)

// TestRowsSayWhyASessionExpired: the lists say in a word why a session has no result, as its page does.
func TestRowsSayWhyASessionExpired(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	g.Create(t, shop.Test.APIKey, 18)
	const expired, note = "status = 'EXPIRED', opened_at = created_at, setbacks = ",
		`[{"At":"2099-01-02T03:04:05Z","Why":"`
	for _, tt := range []struct{ set, says string }{
		{"status = 'PENDING'", "No result<"},
		{"status = 'EXPIRED'", "Link never opened"},
		{"opened_at = created_at", "Opened, no check begun"},
		{expired + "'" + note + "browser_refused\"}]'", "The camera is blocked for the page"},
		{"begun_at = created_at, setbacks = NULL", "Camera check not finished"},
		{expired + "'" + note + "document_expired\"}]'", "Camera check not finished"},
		{"document_opened_at = created_at, setbacks = NULL", "Document check not finished"},
		{"status = 'PASSED', source = 'camera', completed_at = created_at", "Camera"},
	} {
		g.Exec(t, "UPDATE sessions SET "+tt.set)
		for _, list := range []string{"/test", "/test/sessions"} {
			_, body := support.Get(t, "/dashboard/"+shop.Tenant.ID.String()+list+"?lang=en")
			row := between(t, body, `<td data-label="Decided by">`, "</td>")
			if !strings.Contains(row, tt.says) {
				t.Errorf("%s: %s says %s", tt.set, list, row)
			}
		}
	}
}

// TestSupportIsLedToLive: support's page of test mode says that shoppers' checks are live, and to a log-in by a
// password alone what it lacks. It shows no empty list in their place.
func TestSupportIsLedToLive(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	weak := g.SignIn(t, false, account.ByPassword)
	g.Join(t, weak, shop.Tenant.ID, account.Support)
	page := "/dashboard/" + shop.Tenant.ID.String()
	for who, by := range map[string]*gatewaytest.Staff{"weak": weak,
		"support": member(t, g, shop.Tenant.ID, account.Support), "owner": member(t, g, shop.Tenant.ID, account.Owner)} {
		_, body := by.Get(t, page+"/test?lang=en")
		_, line, said := strings.Cut(body, `data-testid="tests-only">`)
		line, _, _ = strings.Cut(line, "</div>")
		if said != (who != "owner") || said && (!strings.Contains(line, `href="`+page+`/live" data-testid="open-live"`) ||
			strings.Contains(body, "No sessions yet")) {
			t.Errorf("%s reads in test mode: %s", who, line)
		}
		if strings.Contains(line, "a code besides the password") != (who == "weak") {
			t.Errorf("%s reads of a second factor: %s", who, line)
		}
	}
	_, live := member(t, g, shop.Tenant.ID, account.Support).Get(t, page+"/live")
	if strings.Contains(live, "tests-only") {
		t.Error("live mode says that it is test mode")
	}
}

// TestReplyAboutABlockedCameraOfThePast: the reply of a check that has expired says what happened, then that the shop
// gives a new link, and then what helps there, each once.
func TestReplyAboutABlockedCameraOfThePast(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	body := told(t, g, shop, member(t, g, shop.Tenant.ID, account.Support), "opened_at = created_at, status = 'EXPIRED', "+
		`setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"browser_refused"}]'`)
	if says := "was up. Your camera gave the page no picture.\n\nPlease start a new check in our shop: you get a new " +
		"link " +
		"there. Allow the camera for this page"; !strings.Contains(body, says) {
		t.Errorf("the reply: %s", between(t, body, `data-testid="tell"`, "</div>"))
	}
}

// TestJoinedByAPasswordComesToLive: who joins by a password reads in one notice what is closed, and its button leads
// over the second factor to the live page that was asked for. A later factor leads back to the account.
func TestJoinedByAPasswordComesToLive(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		page, boss := "/dashboard/"+shop.Tenant.ID.String(), member(t, g, shop.Tenant.ID, account.Owner)
		g.StepUp(t, boss)
		for i, role := range []account.Role{account.Viewer, account.Developer, account.Support} {
			_, body := boss.Fill(t, page+invitePath, url.Values{"role": {string(role)}})
			link := between(t, between(t, body, `class="shown"`, "</section>"), account.LinkPath, "<")
			weak := g.Nobody()
			res, _ := weak.Post(t, account.LinkPath+link, person("weak"+string(role)))
			want(t, "join", res, http.StatusSeeOther, "/dashboard")
			_, body = weak.Get(t, page+"/test?lang=en")
			notice := between(t, body, `data-testid="notice"`, "</div>")
			if !strings.Contains(notice, `href="`+page+`/live" data-testid="open-live"`) ||
				strings.Contains(body, `data-testid="tests-only"`) || !strings.Contains(notice, "a code besides the password") {
				t.Errorf("%s: %s", role, notice)
			}
			if n := strings.Count(body, "No sessions yet"); n != 1 && role != account.Developer { // who has a checklist
				t.Errorf("%s: beneath the notice, the page of a tenant without sessions says so %d times", role, n)
			}
			asked := page + "/live" + []string{"", "/sessions", ""}[i]
			res, body = weak.Get(t, asked)
			want(t, "live", res, http.StatusForbidden, "")
			if !strings.Contains(body, `href="/dashboard/account#factors"`) {
				t.Errorf("%s: nothing leads to a second factor", role)
			}
			for _, leads := range []string{asked, "/dashboard/account"} {
				_, body = weak.Post(t, "/dashboard/account/totp", url.Values{})
				secret := between(t, between(t, body, `data-testid="totp-secret">`, "</p>"), "<code>", "</code>")
				_, body = weak.Post(t, "/dashboard/account/totp", url.Values{
					"enrolment": {between(t, body, `name="enrolment" value="`, `"`)}, "code": {appCode(t, secret, g.Clock.Now())}})
				if !strings.Contains(body, `href="`+leads+`" data-testid="kept"`) {
					t.Errorf("%s: the codes do not lead to %s", role, leads)
				}
			}
			res, _ = weak.Get(t, asked)
			want(t, "live after the factor", res, http.StatusOK, "")
		}
	})
}
