package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"

	"github.com/google/uuid"
)

const invitePath = "/team/invitations/new"

// TestInvitationTakesAccounts: the invitation's page takes the e-mail and password
// of an account, too, with its second factor, and refuses wrong ones without
// saying what is wrong.
func TestInvitationTakesAccounts(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, shop := owner(t, g, "ada")
		enrol(t, g, ada)
		other := g.Shop(t, "", nil).Tenant.ID
		boss := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, boss, other, account.Owner)
		g.StepUp(t, boss)
		invite := func(by *gatewaytest.Staff, at string) string {
			t.Helper()
			_, body := by.Fill(t, at+invitePath, url.Values{"role": {"viewer"}})
			return strings.TrimPrefix(between(t, between(t, body, `class="shown"`, "</section>"), "<code>",
				"</code>"), "http://localhost:8080")
		}
		bob := g.Nobody()
		res, _ := bob.Post(t, invite(ada, shop), person("bob"))
		want(t, "a new user", res, 303, "/dashboard")

		link := invite(boss, "/dashboard/"+other.String())
		wrong := person("bob")
		wrong.Set("password", "some wrong owls under a moon")
		res, body := g.Nobody().Post(t, link, wrong)
		want(t, "a wrong password", res, 422, "")
		if !strings.Contains(body, "The e-mail and the password do not match") ||
			!strings.Contains(body, `<details class="other" open data-keep>`) || strings.Contains(body, wrong.Get("password")) {
			t.Errorf("a wrong password: %s", body)
		}
		again := g.Nobody()
		res, _ = again.Post(t, link, person("bob"))
		want(t, "an account", res, 303, "/dashboard")
		res, _ = again.Get(t, "/dashboard/"+other.String()+"/test")
		want(t, "the second tenant", res, 200, "")

		link = invite(boss, "/dashboard/"+other.String())
		again = g.Nobody()
		res, body = again.Post(t, link, person("ada"))
		want(t, "an account with an app", res, 200, "")
		if !strings.Contains(body, `action="/dashboard/login/second"`) ||
			!strings.Contains(body, `name="next" value="`+link+`"`) {
			t.Errorf("the second step: %s", body)
		}
	})
}

// TestOwnMemberPage: one's own page of the team offers to leave, if the server allows
// that, and never "Remove member".
func TestOwnMemberPage(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		if _, body := o.owner.Get(t, o.at("/team")); !strings.Contains(between(t, body, `data-testid="roles"`, "</dl>"),
			"<dt>Owner</dt>") {
			t.Error("the team's page does not say what owners may do")
		}
		for at, may := range map[string]string{invitePath: "Viewer", "/team/" + o.viewer.User.ID.String(): "Owner"} {
			if _, body := o.owner.Get(t, o.at(at)); !strings.Contains(between(t, body, `data-testid="roles"`, "</dl>"),
				"<dt>"+may+"</dt><dd>") {
				t.Errorf("%s does not say under the roles what each may do", at)
			}
		}
		page, leave := o.at("/team/"+o.owner.User.ID.String()), "/dashboard/account/leave/"+o.shop.Tenant.ID.String()
		res, body := o.owner.Get(t, page)
		want(t, "the last owner's page", res, 200, "")
		if strings.Contains(body, "remove-member") || strings.Contains(body, leave) ||
			!strings.Contains(body, "Make another member an owner first, under Team.") ||
			strings.Contains(body, `data-testid="set-role"`) ||
			!strings.Contains(body, "<dt>E-mail</dt>") {
			t.Errorf("the last owner's page: %s", body)
		}
		for _, at := range []string{leave, page + "/remove"} { // says it before it asks
			if _, body := o.owner.Get(t, at); !strings.Contains(body, "another member an owner first") ||
				strings.Contains(body, `testid="confirm"`) {
				t.Errorf("%s of the last owner: %s", at, body)
			}
		}
		g.Join(t, g.SignIn(t, false, account.ByPasskey), o.shop.Tenant.ID, account.Owner)
		_, body = o.owner.Get(t, leave)
		if strings.Contains(body, "last owner") || !strings.Contains(body, `testid="confirm"`) {
			t.Errorf("one owner of two leaves: %s", body)
		}
		_, body = o.owner.Get(t, page)
		if strings.Contains(body, "remove-member") || strings.Contains(body, "last owner") ||
			!strings.Contains(body, `href="`+leave+`" data-testid="leave-tenant"`) {
			t.Errorf("the page of one owner of two: %s", body)
		}
		res, _ = o.owner.Fill(t, leave, nil)
		want(t, "leave", res, 303, "/dashboard/account")
	})
}

func TestInvitations(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		ada, shop := owner(t, g, "ada")
		enrol(t, g, ada)
		invite := func(role string) string {
			t.Helper()
			res, body := ada.Fill(t, shop+invitePath, url.Values{"role": {role}})
			want(t, "invite", res, 200, "")
			link := between(t, between(t, body, `class="shown"`, "</section>"), "<code>", "</code>")
			return strings.TrimPrefix(link, "http://localhost:8080")
		}
		if _, body := ada.Get(t, shop+invitePath); !strings.Contains(body,
			`<option value="viewer" selected>Viewer<`) {
			t.Error("the least role is not the first choice")
		}
		res, _ := ada.Fill(t, shop+invitePath, url.Values{"role": {"owner"}})
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
		guests := []*gatewaytest.Staff{g.SignIn(t, false), g.SignIn(t, false), g.SignIn(t, false), g.SignIn(t, false)}
		answers := atOnce(len(guests), func(i int) *http.Response {
			res, _ := guests[i].Post(t, link, url.Values{"as": {"me"}})
			return res
		})
		if answers[303] != 1 || answers[410] != 3 {
			t.Errorf("one link at the same time: %v", answers)
		}

		res, body := ada.Fill(t, shop+invitePath, url.Values{"role": {"viewer"}, "note": {"Dee\u202e"}})
		if res.StatusCode != 422 || !strings.Contains(body, `href="#f-note"`) {
			t.Errorf("a hidden character in the note: %d, %s", res.StatusCode, body)
		}
		ada.Fill(t, shop+invitePath, url.Values{"role": {"viewer"}, "note": {"<i>Dee</i>"}})
		revoked := invite("viewer")
		_, body = ada.Get(t, shop+"/team")
		if !strings.Contains(body, "<strong>&lt;i&gt;Dee&lt;/i&gt;</strong>") {
			t.Errorf("the list does not say for whom an invitation is: %s", body)
		}
		revoke := between(t, body[strings.Index(body, `"invitation"`):], `href="`+shop+`/team/invitations/`, `"`)
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
func team(t *testing.T, g *gatewaytest.Gateway) (path string, owners [2]*gatewaytest.Staff) {
	t.Helper()
	shop := g.Shop(t, "", nil)
	for i := range owners {
		owners[i] = g.SignIn(t, false, account.ByPasskey)
		g.Join(t, owners[i], shop.Tenant.ID, account.Owner)
		g.StepUp(t, owners[i])
	}
	return "/dashboard/" + shop.Tenant.ID.String() + "/team/", owners
}

// TestLastOwnerStays: if two owners demote or remove each other at the same time,
// one remains.
func TestLastOwnerStays(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
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
			{1, 1, "", url.Values{"role": {"owner"}}, 403}, {0, 0, "", url.Values{"role": {"viewer"}}, 422},
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
		entries, err := g.App.Store.AuditEntries(t.Context(),
			audit.Filter{Scope: audit.Scope(tenant), ActorID: owners[0].User.ID.String()})
		if err != nil || len(entries) != 2 || entries[0].Action != audit.MemberRemove ||
			entries[1].Action != audit.MemberUpdate {
			t.Errorf("the log has %v, %v", entries, err)
		}
	})
}

// TestRefusedMembersKeepTheirWay: a member who may not open a page sees links to
// the pages that they may open, and starts on one of them.
func TestRefusedMembersKeepTheirWay(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		made := g.Shop(t, "", nil)
		shop, record := "/dashboard/"+made.Tenant.ID.String(), g.Create(t, made.Test.APIKey, 18).SessionID
		ada := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, ada, made.Tenant.ID, account.Owner)
		g.StepUp(t, ada)
		for _, tt := range []struct {
			role          account.Role
			start         string
			has, hasNot   []string // of the navigation
			opens, closed []string
		}{
			{
				account.Support, shop + "/test", []string{"overview", "sessions", "webhooks", "find"},
				[]string{"keys", "settings", "team", "audit", "refusals", "playground", "billing"},
				[]string{"/test/sessions", "/test/sessions/" + record, "/test/webhooks", "/test/paste", "/test/webhooks/resend"},
				[]string{"/test/keys", "/settings", "/audit", "/billing"},
			},
			{
				account.Compliance, shop + "/audit", []string{"audit", "evidence", "refusals"},
				[]string{"overview", "sessions", "keys", "settings", "team", "find", "webhooks"},
				[]string{"/audit", "/test/refusals"}, []string{"/test", "/test/sessions", "/test/sessions/" + record, "/settings"},
			},
			{account.Viewer, shop + "/test", []string{"overview", "settings", "billing"}, []string{"keys", "team", "audit"},
				[]string{"/settings"}, []string{"/team", "/test/keys"}},
		} {
			res, body := ada.Fill(t, shop+invitePath, url.Values{"role": {string(tt.role)}})
			want(t, "invite", res, 200, "")
			link := between(t, between(t, body, `class="shown"`, "</section>"), "<code>", "</code>")
			who := g.Nobody()
			res, _ = who.Post(t, strings.TrimPrefix(link, "http://localhost:8080"), person(string(tt.role)))
			want(t, "accept", res, 303, "/dashboard")
			res, _ = who.Get(t, "/dashboard")
			want(t, string(tt.role)+" begins", res, 303, tt.start)
			for _, path := range tt.opens {
				if res, _ := who.Get(t, shop+path); res.StatusCode != 200 {
					t.Errorf("%s at %s: %d", tt.role, path, res.StatusCode)
				}
			}
			for _, path := range tt.closed {
				res, body := who.Get(t, shop+path)
				want(t, string(tt.role)+" at "+path, res, 403, "")
				for _, name := range tt.has {
					if !strings.Contains(body, `data-testid="nav-`+name+`"`) {
						t.Errorf("%s at %s: no way to %s", tt.role, path, name)
					}
				}
				for _, name := range tt.hasNot {
					if strings.Contains(body, `data-testid="nav-`+name+`"`) {
						t.Errorf("%s at %s: a way to %s, which is closed", tt.role, path, name)
					}
				}
			}
		}
	})
}

// TestInvitationWhoseMailWaits: the list of open invitations says for whom each is, and which mail was not sent.
func TestInvitationWhoseMailWaits(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		boss, id := g.SignIn(t, false, account.ByPasskey), g.Shop(t, "", nil).Tenant.ID
		g.Join(t, boss, id, account.Owner)
		g.StepUp(t, boss)
		team := "/dashboard/" + id.String()
		for _, form := range []url.Values{
			{"role": {"viewer"}, "email": {"new@guest.example"}},
			{"role": {"viewer"}, "email": {"new@guest.example"}, "note": {"Bob"}}, {"role": {"viewer"}, "note": {"Eve"}},
		} {
			res, _ := boss.Fill(t, team+invitePath, form)
			want(t, "invited", res, 200, "")
		}
		_, body := boss.Get(t, team+"/team")
		for _, name := range []string{"new@guest.example", "Bob", "Eve"} {
			cell := between(t, body, "<strong>"+name+"</strong>", "</td>")
			if waits := strings.Contains(cell, "The mail waits to be sent"); waits != (name != "Eve") {
				t.Errorf("%s: %s", name, cell)
			}
		}
	}, "AGEGATE_SMTP_URL=smtp://127.0.0.1:1", "AGEGATE_MAIL_FROM=gate@gateway.example")
}
