package dashboard_test

import (
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
		line, _, _ = strings.Cut(line, "</p>")
		if said != (who != "owner") || said && (!strings.Contains(line, `href="`+page+`/live"`) ||
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
