package dashboard_test

import (
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/templates"
)

// TestChecksOfOneOrder: the page of a session names the other sessions of its order, the newest first and at
// most ten, and none of another mode, tenant or order.
func TestChecksOfOneOrder(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		var made []string
		test := shop.Test.APIKey
		for _, key := range []string{test, test, test, shop.Live.APIKey, other.Test.APIKey} {
			made = append(made, g.Create(t, key, 18).SessionID)
		}
		page := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/"
		if _, body := support.Get(t, page+made[0]); strings.Contains(body, "same-order") {
			t.Error("a session without an order has others of it")
		}
		g.Exec(t, "UPDATE sessions SET order_ref = '1042'")
		g.Exec(t, "UPDATE sessions SET order_ref = '1043' WHERE id = '"+made[1]+"'")
		if _, body := support.Get(t, page+made[1]); strings.Contains(body, "same-order") {
			t.Error("the only session of an order has others of it")
		}
		_, body := support.Get(t, page+made[0])
		if held := between(t, body, ">The shop’s addresses, with", "</tr>"); !strings.Contains(held, ">Order 1042<") {
			t.Errorf("the data held do not name the order: %s", held)
		}
		line := between(t, body, `data-testid="same-order"`, "</p>")
		if !strings.Contains(line, "This order has 2 checks") || strings.Count(line, page) != 1 ||
			!strings.Contains(line, page+made[2]) || strings.Index(line, made[2]) > strings.Index(line, "this one") {
			t.Errorf("the other session of the order is not named: %s", line)
		}
		const open = `data-testid="still-open"><a href="`
		if got := strings.Contains(body, open+page+made[2]+`"`); !got || strings.Count(body, open) != 1 {
			t.Error("the other check of the order is not said to be open")
		}
		g.Exec(t, "UPDATE sessions SET status = 'EXPIRED' WHERE id = '"+made[2]+"'")
		if _, body = support.Get(t, page+made[0]); strings.Contains(body, open) {
			t.Error("a check that has ended is said to be open")
		}
		for range 9 {
			g.Create(t, shop.Test.APIKey, 18)
		}
		g.Exec(t, "UPDATE sessions SET order_ref = '1042'")
		_, body = support.Get(t, page+made[0])
		line = between(t, body, `data-testid="same-order"`, "</p>")
		if !strings.Contains(line, "The newest 10 checks of this order") || strings.Count(line, page) != 10 {
			t.Errorf("not the newest ten: %s", line)
		}
	})
}

// TestAnotherCheckPassed: of an order of which another check passed, before or after, the page leads to that on top and
// has the reply to a shopper who passed, in its part that is read again, too, in every language. After a refusal since,
// which the shop was told of, the reply says that the shop is dealing with it. A pass for a lower age changes nothing,
// nor does one before a document of somebody too young.
func TestAnotherCheckPassed(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		first, last := g.Create(t, shop.Test.APIKey, 18).SessionID, g.Create(t, shop.Test.APIKey, 18).SessionID
		page := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/"
		g.Exec(t, "UPDATE sessions SET order_ref = '1042'")
		const passed, refused, open = "status = 'PASSED'", "status = 'FALLBACK'", "status = 'PENDING'"
		const spoof, expired, younger = "status = 'SPOOF'", "status = 'EXPIRED'", passed + ", target_age = 16"
		minor := refused + later("document_under_age")
		for _, tt := range []struct{ first, last, leads string }{
			{refused, passed, first}, {spoof, passed, first}, {expired, passed, first}, {open, passed, first},
			{passed, open, last}, {passed, expired, last}, {passed, passed, ""}, {refused, refused, ""}, {passed, refused, last},
			{passed, spoof, last}, {refused, younger, ""}, {younger, open, ""}, {passed, minor, ""}, {minor, passed, first},
		} {
			const ended = ", source = 'camera', completed_at = created_at WHERE id = '"
			g.Exec(t, "UPDATE sessions SET target_age = 18, setbacks = '[]'")
			g.Exec(t, "UPDATE sessions SET "+tt.first+ended+first+"'")
			g.Exec(t, "UPDATE sessions SET "+tt.last+ended+last+"'")
			g.Exec(t, "UPDATE sessions SET completed_at = NULL WHERE status IN ('PENDING', 'EXPIRED')")
			for id, set := range map[string]string{first: tt.first, last: tt.last} {
				_, body := support.Get(t, page+id)
				other := map[string]string{first: last, last: first}[id]
				leads := strings.Contains(body, `data-testid="later"><a href="`+page+other+`">Another check of this order passed`)
				if leads != (id == tt.leads) || leads && strings.Contains(body, `data-testid="still-open"`) {
					t.Errorf("%s, then %s: leads to the other check %t, of the first %t", tt.first, tt.last, leads, id == first)
				}
				_, part := support.Get(t, page+id+"?part=story")
				for _, body := range []string{body, part} {
					told := between(t, body, `data-testid="tell"`, "copy-reply")
					done := strings.Contains(told, "Your age check is done. ")
					since := leads && id == last && tt.last != open && tt.last != expired
					if since != strings.Contains(told, "we are dealing with it") || leads &&
						strings.Contains(between(t, body, `data-testid="tell"`, "</ul>"), shopperText(t, "de", "intro.prefer")) {
						t.Errorf("%s, then %s: the reply after the pass: %s", tt.first, tt.last, told)
					}
					if done != (leads || strings.HasPrefix(set, passed)) {
						t.Errorf("%s, then %s: the reply to the first %t: %s", tt.first, tt.last, id == first, told)
					}
				}
			}
		}
	})
}

// TestSupportIsLedToItsGuide: who makes no keys reads nothing of keys on an empty first page, and a session's page
// leads to a part of the guide in the reader's language that exists.
func TestSupportIsLedToItsGuide(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support, page := member(t, g, shop.Tenant.ID, account.Support), "/dashboard/"+shop.Tenant.ID.String()
	_, body := support.Get(t, page+"/live?lang=en")
	empty := between(t, body, `<div class="empty">`, "</section>")
	if strings.Contains(empty, "API key") || !strings.Contains(empty, "/docs/support") ||
		strings.Contains(empty, "<svg") { // which would stand above the line of the words
		t.Errorf("support's first page: %s", empty)
	}
	_, owned := member(t, g, shop.Tenant.ID, account.Owner).Get(t, page+"/live?lang=en")
	for who, body := range map[bool]string{true: owned, false: body} { // one page makes no group
		nav, _, _ := strings.Cut(between(t, body, `<nav aria-label="Main navigation"`, "</nav>"), `data-testid="account-menu"`)
		if !strings.Contains(nav, `data-testid="nav-support"`) || strings.Contains(nav, "<h2>Developers</h2>") != who {
			t.Errorf("the navigation, the owner's %t: %s", who, nav)
		}
	}
	id := g.Create(t, shop.Test.APIKey, 18).SessionID
	for _, set := range []string{"status = 'PENDING'", "status = 'EXPIRED'", "status = 'PASSED'", "status = 'FALLBACK'",
		"status = 'SPOOF'", "setbacks = '[{\"At\":\"2099-01-02T03:04:05Z\",\"Why\":\"document_expired\"}]'",
		"setbacks = '[{\"At\":\"2099-01-02T03:04:05Z\",\"Why\":\"browser_refused\"}]', status = 'PENDING'",
	} {
		g.Exec(t, "UPDATE sessions SET "+set+" WHERE id = '"+id+"'")
		for _, language := range []string{"en", "de"} {
			_, body := support.Get(t, page+"/test/sessions/"+id+"?lang="+language)
			before, _, _ := strings.Cut(body, `" data-testid="guide"`)
			path, part, _ := strings.Cut(before[strings.LastIndex(before, "/docs/"):], "#")
			if res, guide := support.Get(t, path); res.StatusCode != 200 || part == "" ||
				!strings.Contains(guide, ` id="`+part+`"`) {
				t.Errorf("%s in %s: no part %s#%s", set, language, path, part)
			}
		}
	}
}

// TestAPageForSupport: the reply stands in its own frame with a button that says what it copies, apart from the note of
// a test. Its time is in the page's zone. What only developers use is folded away, and nothing held fills one line.
func TestAPageForSupport(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		made := g.Create(t, shop.Test.APIKey, 18)
		page := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/" + made.SessionID
		g.Exec(t, "UPDATE users SET zone = 'Europe/Berlin'")
		g.Exec(t, "UPDATE sessions SET expires_at = '2099-01-03 13:03:00+00:00'")
		_, body := support.Get(t, page)
		if reply := between(t, body, `<div class="act">`, "</div>"); !strings.Contains(reply, "Copy reply <") ||
			!strings.Contains(reply, "until 2099-01-03 14:03 (Europe/Berlin).") || strings.Contains(reply, "13:03") {
			t.Errorf("the reply: %s", reply)
		}
		now := g.Clock.Now()
		for _, zone := range []string{"Europe/Berlin", "UTC"} {
			in, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			day := now.In(in)
			at := time.Date(day.Year(), day.Month(), day.Day(), 23, 59, 59, 0, in)
			g.Exec(t, "UPDATE users SET zone = '"+zone+"'")
			g.Exec(t, "UPDATE sessions SET expires_at = '"+at.UTC().Format("2006-01-02 15:04:05")+"+00:00'")
			_, body = support.Get(t, page)
			if reply := between(t, body, `<div class="act">`, "</div>"); !strings.Contains(reply, "until 23:59 ("+zone+").") {
				t.Errorf("the reply of today: %s", reply)
			}
		}
		g.Exec(t, "UPDATE sessions SET expires_at = '2099-01-03 13:03:00+00:00'")
		g.Force(t, gatewaytest.Browser(), made, "verified")
		gatewaytest.WaitFor(t, "the attempt", func() bool {
			_, body = support.Get(t, page)
			return strings.Contains(body, `data-testid="moment-webhook"`)
		})
		tell := between(t, body, `data-testid="tell"`, `data-testid="reply"`)
		note, reply, framed := strings.Cut(tell, `<div class="act">`)
		if !framed || !strings.Contains(note, "no shopper waits") || strings.Contains(reply, "no shopper waits") {
			t.Errorf("the note of a test is not apart from the reply: %s", tell)
		}
		shown, folded, _ := strings.Cut(body, "<summary>For developers</summary>")
		for _, part := range []string{"API key", "Cancel URL", "Look it up from your backend"} {
			if strings.Contains(shown, part) || !strings.Contains(folded, part) {
				t.Errorf("%s is not among what is for developers", part)
			}
		}
		if strings.Contains(shown, ">evt_") || strings.Contains(shown, "<code>evt_") {
			t.Error("the timeline shows the ID of an event")
		}
		held := between(t, body, `data-testid="held"`, "</details>")
		table, none, _ := strings.Cut(held, "</table>")
		if strings.Contains(table, "Nothing") || strings.Contains(table, "Estimated age") ||
			strings.Contains(held, "Digest") || !strings.Contains(none, "Nothing is stored of:") || !strings.Contains(none, " · Estimated age") {
			t.Errorf("what is held: %s", held)
		}
		if of := between(t, held, `data-testid="held-of">`, "</p>"); !strings.Contains(of, shop.Tenant.Name+" · <time") {
			t.Errorf("the data held are of %s", of)
		}
	})
}

// TestHeldSaysUntilWhen: the data held of a session ends with the day on which it is deleted by itself, or says that
// an owner deletes it.
func TestHeldSaysUntilWhen(t *testing.T) {
	for settings, until := range map[string]string{
		"AGEGATE_RETENTION=": "When an owner deletes it", "AGEGATE_RETENTION=30d": "",
	} {
		g := gatewaytest.Start(t, gatewaytest.SQLite(t), settings)
		shop := g.Shop(t, "", nil)
		made := g.Create(t, shop.Test.APIKey, 18)
		if until == "" {
			until = g.Clock.Now().UTC().AddDate(0, 0, 30).Format(time.DateOnly)
		}
		_, body := member(t, g, shop.Tenant.ID, account.Support).Get(t,
			"/dashboard/"+shop.Tenant.ID.String()+"/test/sessions/"+made.SessionID)
		if held := between(t, body, ">When it is deleted<", "</tr>"); !strings.Contains(held, until) {
			t.Errorf("%s: %s", settings, held)
		}
	}
}

// TestReasonsAreNamed: owners read why the operator disabled their tenant, and why a session is not deleted yet.
// The replies in the shop's own languages come first.
func TestReasonsAreNamed(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		owner, support := member(t, g, shop.Tenant.ID, account.Owner), member(t, g, shop.Tenant.ID, account.Support)
		g.Exec(t, `UPDATE tenants SET languages = 'fr pl'`)
		made := g.Create(t, shop.Live.APIKey, 18)
		page := "/dashboard/" + shop.Tenant.ID.String() + "/live/sessions/" + made.SessionID
		_, body := owner.Get(t, page)
		if !strings.Contains(body, "can be deleted once it has ended") || strings.Contains(body, `data-testid="delete"`) {
			t.Error("the page of an open session does not say that it is not deleted yet")
		}
		at := func(tag string) int { return strings.Index(body, `<p lang="`+tag+`"`) }
		french, polish, german := at("fr"), at("pl"), at("de")
		if french < 0 || polish < french || german < polish {
			t.Errorf("replies in French at %d, Polish at %d, German at %d", french, polish, german)
		}
		err := g.App.Tenants.SetDisabled(t.Context(), audit.System("test"), shop.Tenant.ID, true, "unpaid <7>")
		if err != nil {
			t.Fatal(err)
		}
		const reason = "The operator’s reason: unpaid &lt;7&gt;"
		_, owned := owner.Get(t, page)
		_, seen := support.Get(t, page)
		if !strings.Contains(owned, reason) || strings.Contains(seen, "unpaid") ||
			!strings.Contains(seen, "in the audit log") {
			t.Error("the reason is not named to those who read the audit log, or to others too")
		}
	})
}

// TestCellsAreOneItem: a cell with a line break has one element, because on a phone a cell is a grid with a label,
// and would put each line into a row of its own.
func TestCellsAreOneItem(t *testing.T) {
	cells := regexp.MustCompile(`<td data-label=".*?}}"[^>]*>(.*?)</td>`)
	files, err := fs.Glob(templates.Dashboard(), "*.html")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := fs.ReadFile(templates.Dashboard(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range cells.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(cell[1], "<br>") && !strings.HasPrefix(cell[1], "<div>") &&
				!strings.HasPrefix(cell[1], "<span>") {
				t.Errorf("%s: a cell with lines is no element of its own: %s", name, cell[1])
			}
		}
	}
}

// TestFindDeletedSession: the search says that a session was deleted, and to those who read the audit log by whom.
func TestFindDeletedSession(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		owner, support := member(t, g, shop.Tenant.ID, account.Owner), member(t, g, shop.Tenant.ID, account.Support)
		foreign := member(t, g, other.Tenant.ID, account.Owner)
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), made, "verified")
		g.Exec(t, "UPDATE webhook_events SET status = 'delivered', next_attempt_at = NULL, lease_token = NULL")
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		g.StepUp(t, owner)
		owner.Fill(t, base+"/sessions/"+made.SessionID+"/delete", nil)
		at := g.Clock.Now().Format("2006-01-02 15:04 MST")
		deleted := "The session with this ID was deleted on " + at
		searched(t, owner, base+"/paste", made.SessionID, "", deleted+" by "+owner.User.Name+".")
		searched(t, support, base+"/paste", made.SessionID, "", deleted+".")
		searched(t, foreign, "/dashboard/"+other.Tenant.ID.String()+"/test/paste", made.SessionID, "",
			"No session of yours has this ID.")
	})
}

// TestOperatorFindsSession: the operator's search leads to a session itself if the operator may open it, in its mode.
func TestOperatorFindsSession(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		op, made := operating(t, g), g.Create(t, shop.Live.APIKey, 18)
		tenantAt := "/operator/tenants/" + shop.Tenant.ID.String()
		session := "/dashboard/" + shop.Tenant.ID.String() + "/live/sessions/" + made.SessionID
		searched(t, op, "/operator/find", made.SessionID, tenantAt)
		op.Fill(t, tenantAt+"/enter", url.Values{"reason": {"support case"}})
		for _, text := range []string{made.SessionID, made.VerificationURL} {
			searched(t, op, "/operator/find", text, "", "2 matches", `href="`+session+`"`, `href="`+tenantAt+`"`)
		}
		g.Exec(t, "UPDATE logins SET entered_until = '2001-01-01'")
		searched(t, op, "/operator/find", made.SessionID, tenantAt)
		g.Join(t, op, shop.Tenant.ID, account.Compliance)
		searched(t, op, "/operator/find", made.SessionID, tenantAt)
	})
}

// TestSearchSaysWhatTheRoleOpens: the page of the search names only what the reader's role finds.
func TestSearchSaysWhatTheRoleOpens(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	said := []string{"its beginning or the number at its end", "the ID of a rejected request", "an API key’s name",
		"a member of the team"}
	for role, finds := range map[account.Role][]bool{
		account.Support: {true, false, false, false}, account.Viewer: {true, true, false, false},
		account.Developer: {true, true, true, false}, account.Owner: {true, true, true, true},
	} {
		_, body := member(t, g, shop.Tenant.ID, role).Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test/paste")
		for i, text := range said {
			if strings.Contains(body, text) != finds[i] {
				t.Errorf("%s: %q is said %t, want %t", role, text, !finds[i], finds[i])
			}
		}
		if strings.Contains(body, "agegate-dev verify") != finds[2] {
			t.Errorf("%s: the command of developers", role)
		}
	}
	by := member(t, g, shop.Tenant.ID, account.Support)
	for path, roles := range map[string]string{"/settings": "Owner, Developer, Viewer", "/keys": "Owner, Developer",
		"/team": "Owner"} {
		at := "/dashboard/" + shop.Tenant.ID.String() + path
		if path == "/keys" {
			at = "/dashboard/" + shop.Tenant.ID.String() + "/test" + path
		}
		if _, body := by.Get(t, at); !strings.Contains(body, "may do it: "+roles+"</p>") {
			t.Errorf("the refusal of %s does not name %s: %s", path, roles, body)
		}
	}
}

// TestSupportReadsWhatTheCheckOffers: the page of a session says what the tenant's check offers at its target age,
// because support does not open the settings.
func TestSupportReadsWhatTheCheckOffers(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	at := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/" + g.Create(t, shop.Test.APIKey, 18).SessionID
	for _, tt := range []struct {
		set, says string
	}{
		{"document_check = FALSE", "Camera: an estimate of 25 or more passes. No document check."},
		{"document_check = TRUE, margins = '18=9'",
			"Camera: an estimate of 27 or more passes. Document check: by a photograph or a wallet."},
		{"document_ways = 'photo'", "passes. Document check: by a photograph only."},
		{"document_only = TRUE, document_ways = 'wallet'", "No camera check. Document check: by a wallet only."},
	} {
		g.Exec(t, "UPDATE tenants SET "+tt.set+" WHERE id = '"+shop.Tenant.ID.String()+"'")
		if _, body := support.Get(t, at); !strings.Contains(between(t, body, `data-testid="offers"`, "</dd>"), tt.says) {
			t.Errorf("%s: the page lacks %q: %s", tt.set, tt.says, between(t, body, `data-testid="offers"`, "</dd>"))
		}
	}
	g.Exec(t, "UPDATE tenants SET document_check = TRUE, document_only = FALSE, document_ways = ''")
	live := "/dashboard/" + shop.Tenant.ID.String() + "/live/sessions/" + g.Create(t, shop.Live.APIKey, 18).SessionID
	_, body := support.Get(t, live)
	if says := between(t, body, `data-testid="offers"`, "</dd>"); strings.Contains(says, "wallet") {
		t.Errorf("no issuer is trusted, and the page of a live session says %s", says)
	}
	op := operating(t, g)
	_, body = op.Get(t, operatedAt(shop.Tenant.ID)+"?lang=en")
	if says := between(t, body, `data-testid="offers"`, "</dd>"); !strings.Contains(says, " of 27 or more passes.") ||
		!strings.Contains(says, "Languages: all") || strings.Contains(says, "wallet") {
		t.Errorf("the operator's page of the tenant says of its check: %s", says)
	}
	op.Fill(t, operatedAt(shop.Tenant.ID)+"/disable", url.Values{"reason": {"The bill is unpaid"}})
	_, body = op.Get(t, operatedAt(shop.Tenant.ID)+"?lang=en")
	says := between(t, body, `data-testid="disabling"`, "</span>")
	if !strings.Contains(says, "(operator): The bill is unpaid") {
		t.Errorf("the operator's page of the disabled tenant says %q", says)
	}
}
