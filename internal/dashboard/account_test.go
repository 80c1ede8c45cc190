package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"agegate/internal/audit"
	"agegate/internal/proof/harness"
)

const toLogIn = "/dashboard/login?next=%2Fdashboard%2Faccount"

// counted returns how many entries of an action the log of the instance has.
func counted(t *testing.T, g *harness.Gateway, action audit.Action) int {
	t.Helper()
	entries, err := g.App.Store.AuditEntries(t.Context(), audit.Filter{Scope: audit.Instance, Action: action, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestEndOneLogin: the one whose button is used, also when it has another cookie
// by then, and no other; each once.
func TestEndOneLogin(t *testing.T) {
	harness.Each(t, func(t *testing.T, g *harness.Gateway) {
		ada, _ := owner(t, g, "ada")
		lost, kept := g.Nobody(), g.Nobody()
		for _, s := range []*harness.Staff{lost, kept} {
			res, _ := s.Post(t, "/dashboard/login", credentials("ada"))
			want(t, "log-in", res, 303, "/dashboard")
		}
		_, page := ada.Get(t, "/dashboard/account")
		rows := strings.Split(page, `data-testid="login-row"`)[1:] // newest first; ada's own is the last
		if len(rows) != 3 || strings.Count(page, `data-testid="end-login"`) != 2 || strings.Contains(rows[2], `name="since"`) {
			t.Fatalf("%d log-ins, with buttons for others than the two", len(rows))
		}
		since := between(t, rows[1], `name="since" value="`, `"`)
		res, _ := lost.Post(t, "/dashboard/step-up", credentials("ada"))
		want(t, "a confirmation brings another cookie", res, 303, "/dashboard")

		eve := g.SignIn(t, false)
		for _, s := range []*harness.Staff{eve, ada, ada} {
			res, _ := s.Post(t, "/dashboard/account/sessions/end", url.Values{"since": {since}})
			want(t, "end", res, 303, "/dashboard/account")
			if s == eve {
				res, _ = lost.Get(t, "/dashboard/account")
				want(t, "after another user's attempt", res, 200, "")
			}
		}
		res, _ = lost.Get(t, "/dashboard/account")
		want(t, "the ended one", res, 303, toLogIn)
		for what, s := range map[string]*harness.Staff{"this one": ada, "the third": kept, "another user's": eve} {
			res, _ = s.Get(t, "/dashboard/account")
			want(t, what, res, 200, "")
		}
		if n := counted(t, g, audit.LoginEnd); n != 1 {
			t.Errorf("%d entries", n)
		}
		for _, bad := range []url.Values{nil, {"since": {""}}, {"since": {"yesterday"}}, {"since": {"2026-13-01T00:00:00Z"}}} {
			res, _ = ada.Post(t, "/dashboard/account/sessions/end", bad)
			want(t, "an unreadable form", res, 400, "")
		}
	})
}
