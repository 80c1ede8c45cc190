package dashboard_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// TestPartsOfTheOverviewFailByThemselves: if one part cannot be read, the page
// says so in its place, the log says so once, and the other parts are shown.
func TestPartsOfTheOverviewFailByThemselves(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		path := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		dev.Fill(t, path+"/playground", map[string][]string{"target_age": {"18"}})
		shown := map[string]string{"figures": `class="tiles"`, "recent": `data-testid="session"`, "checklist": `class="todo"`}
		for _, tt := range []struct{ part, breaks, mends string }{
			// Figures that were read are cached, so they must fail first.
			{"figures", "ALTER TABLE fold_marks RENAME TO gone", "ALTER TABLE gone RENAME TO fold_marks"},
			{"recent", "ALTER TABLE sessions RENAME COLUMN strikes TO gone",
				"ALTER TABLE sessions RENAME COLUMN gone TO strikes"},
			{"checklist", "ALTER TABLE credit_balances RENAME TO gone", "ALTER TABLE gone RENAME TO credit_balances"},
		} {
			g.Exec(t, tt.breaks)
			before := strings.Count(g.Log.String(), "part of a page not read")
			res, body := dev.Get(t, path)
			want(t, "the overview without its "+tt.part, res, 200, "")
			if strings.Count(body, `data-testid="unread"`) != 1 {
				t.Errorf("%s: the page does not say once that a part is missing", tt.part)
			}
			for part, mark := range shown {
				if got := strings.Contains(body, mark); got != (part != tt.part) {
					t.Errorf("without its %s, the page shows its %s: %v", tt.part, part, got)
				}
			}
			logged := g.Log.String()
			if n := strings.Count(logged, "part of a page not read") - before; n != 1 ||
				!strings.Contains(logged, "part="+tt.part) {
				t.Errorf("%s: %d lines in the log", tt.part, n)
			}
			g.Exec(t, tt.mends)
		}
		res, body := dev.Get(t, path)
		want(t, "the overview", res, 200, "")
		if strings.Contains(body, `data-testid="unread"`) {
			t.Error("a part is still missing")
		}
		res, _ = dev.Get(t, path+"?window=1y")
		want(t, "an unknown window", res, 404, "")
	})
}

// TestFiguresAreKeptAsLongAsTheyHold: the cached part of the overview is for one
// tenant, window and language, and is renewed with the figures.
func TestFiguresAreKeptAsLongAsTheyHold(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
	ask := func(shop tenant.Credentials, query, funnel, created string) {
		t.Helper()
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		_, body := dev.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test"+query)
		_, steps, found := strings.Cut(body, "<h2>"+funnel+"</h2>")
		first, _, _ := strings.Cut(steps, "</tr>\n<tr>")
		if !found || !strings.Contains(first, `<td class="number">`+created+`</td>`) {
			t.Errorf("%s: %q is not of %s sessions: %.600s", query, funnel, created, first)
		}
	}
	g.Create(t, shop.Test.APIKey, 18)
	g.Create(t, other.Test.APIKey, 18)
	g.Create(t, other.Test.APIKey, 18)
	ask(shop, "?lang=en", "Shopper funnel", "1")
	ask(other, "?lang=en", "Shopper funnel", "2")
	ask(shop, "?lang=de", "Wie weit Kunden kommen", "1")
	g.Create(t, shop.Test.APIKey, 18)
	ask(shop, "?lang=en", "Shopper funnel", "1") // the figures are computed every 15 s
	ask(shop, "?lang=en&window=7d", "Shopper funnel", "2")
	g.Clock.Advance(16 * time.Second)
	ask(shop, "?lang=en", "Shopper funnel", "2")
	res, _ := member(t, g, shop.Tenant.ID, account.Developer).Get(t, "/dashboard/"+shop.Tenant.ID.String()+
		"/test?part=figures")
	want(t, "a part that no script asks for", res, 404, "")
}

// TestPartsAskForNothingElse: a request for one part does not read what only the
// other parts show.
func TestPartsAskForNothingElse(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "https://shop.example/hooks/age", nil)
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		res, _ := dev.Fill(t, base+"/playground", map[string][]string{"target_age": {"18"}})
		try := res.Header.Get("Location")
		dev.Fill(t, base+"/webhooks/test", map[string][]string{"outcome": {"verified"}})
		session := strings.Replace(try, "/playground/", "/sessions/", 1)
		for _, tt := range []struct{ path, part, shows, breaks, mends string }{
			{base, "recent", `data-testid="session"`, "ALTER TABLE fold_marks RENAME TO gone",
				"ALTER TABLE gone RENAME TO fold_marks"},
			{base, "recent", `data-testid="session"`, "ALTER TABLE credit_balances RENAME TO gone",
				"ALTER TABLE gone RENAME TO credit_balances"},
			{base + "/webhooks", "deliveries", `data-testid="deliveries"`, "ALTER TABLE webhook_endpoints RENAME TO gone",
				"ALTER TABLE gone RENAME TO webhook_endpoints"},
			{base + "/webhooks", "deliveries", `data-testid="deliveries"`, "ALTER TABLE tenant_secrets RENAME TO gone",
				"ALTER TABLE gone RENAME TO tenant_secrets"},
			{try, "timeline", `data-testid="moment-created"`, "ALTER TABLE idempotency_claims RENAME sealed_link TO gone",
				"ALTER TABLE idempotency_claims RENAME gone TO sealed_link"},
			{session, "timeline", `data-testid="moment-created"`, "ALTER TABLE idempotency_claims RENAME sealed_link TO gone",
				"ALTER TABLE idempotency_claims RENAME gone TO sealed_link"},
		} {
			g.Exec(t, tt.breaks)
			res, body := dev.Get(t, tt.path+"?part="+tt.part)
			if res.StatusCode != http.StatusOK || !strings.Contains(body, tt.shows) ||
				strings.Contains(g.Log.String(), "part of a page not read") {
				t.Errorf("%s of %s after %s: %d %s", tt.part, tt.path, tt.breaks, res.StatusCode, body)
			}
			g.Exec(t, tt.mends)
		}
	})
}

// TestChecklistShowsWhatIsLeft: what is open comes first, what is done is folded,
// and live mode has no checklist but, while it is empty, a link to the test sessions.
func TestChecklistShowsWhatIsLeft(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil) // with a Success and a Cancel URL, and without a Webhook URL
	dev := member(t, g, shop.Tenant.ID, account.Developer)
	_, body := dev.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test?lang=en")
	open, done, folded := strings.Cut(between(t, body, `data-testid="checklist"`, "</section>"), "<details")
	first, _, _ := strings.Cut(open, "</li>")
	if !folded || !strings.Contains(first, `data-testid="todo-passed">See a test session pass</a>`) ||
		!strings.Contains(open, `data-testid="make-session"`) ||
		!strings.Contains(open, "Optional</h3><ul") || strings.Contains(open, "Set the Success URL") {
		t.Errorf("what is open is not first: %s", open)
	}
	if !strings.Contains(open, `/docs/go-live" data-testid="settle">`) || !strings.Contains(open, "for research only") {
		t.Error("the list does not name the licence of the estimate")
	}
	for set, says := range map[string]string{"''": "comparison of faces", "'wallet'": ""} {
		g.Exec(t, "UPDATE tenants SET document_only = TRUE, document_ways = "+set)
		_, body := dev.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test?lang=en")
		list := between(t, body, `data-testid="checklist"`, "</section>")
		if strings.Contains(list, "for research only") !=
			(says != "") || !strings.Contains(list, says) || strings.Contains(list, "end as a spoof") {
			t.Errorf("of documents alone, ways %s: %s", set, list)
		}
		sum := fmt.Sprintf("%d of %d done", strings.Count(list, ">Done<"), strings.Count(list, "<li>")-2) // two are optional
		if !strings.Contains(list, sum) {
			t.Errorf("of documents alone, ways %s: no %q in %s", set, sum, list)
		}
	}
	sum := fmt.Sprintf("%d of %d done", strings.Count(done, "<li>"), strings.Count(open+done, "<li>")-2)
	if !strings.Contains(done, sum) {
		t.Errorf("the sum of the list is not %q: %s", sum, done)
	}
	if !strings.Contains(done, "Set the Success URL") || strings.Contains(done, "Webhook URL") {
		t.Errorf("what is folded is not done: %s", done)
	}
	weak := g.SignIn(t, false) // whose settings are read-only
	g.Join(t, weak, shop.Tenant.ID, account.Owner)
	_, body = weak.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test")
	_, first, _ = strings.Cut(body, `data-testid="checklist"`)
	at := func(todo string) int { return strings.Index(first, "todo-"+todo) }
	if at("second_factor") < 0 || at("second_factor") > at("webhook_url") {
		t.Error("a second factor, which the settings need, comes after the settings")
	}
	_, body = dev.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/live")
	if strings.Contains(body, "checklist") || strings.Contains(body, "in-test") {
		t.Error("live mode has a checklist, or leads to test sessions that there are not")
	}
	g.Create(t, shop.Test.APIKey, 18)
	g.Create(t, shop.Test.APIKey, 18)
	g.Clock.Advance(16 * time.Second) // the number may be 15 s old
	_, body = dev.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/live")
	if !strings.Contains(body, `/test" data-testid="in-test">2 sessions in test mode`) {
		t.Error("an empty live mode does not lead to the sessions in test mode")
	}
	support := member(t, g, shop.Tenant.ID, account.Support)
	if _, body = support.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test"); strings.Contains(body, "checklist") {
		t.Error("support, who cannot do what is left, has a checklist")
	}
}

// TestEmptyLiveModeLeadsToItsKey: without a live key, the empty overview leads those who may create one to its page,
// and tells others nothing of keys. With a key there is nothing of it.
func TestEmptyLiveModeLeadsToItsKey(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		live := "/dashboard/" + shop.Tenant.ID.String() + "/live"
		button := `href="` + live + `/keys/new" data-testid="live-key">Create a live API key</a>`
		for _, revoked := range []bool{false, true} {
			if revoked {
				keys, err := g.App.Insight.Keys(t.Context(), insight.Scope{TenantID: shop.Tenant.ID, Livemode: true})
				if err != nil || len(keys) != 1 {
					t.Fatalf("%d live keys, %v", len(keys), err)
				}
				by := audit.System("test")
				if err := g.App.Tenants.RevokeKey(t.Context(), by, shop.Tenant.ID, keys[0].ID); err != nil {
					t.Fatal(err)
				}
			}
			for role, may := range map[account.Role]bool{
				account.Owner: true, account.Developer: true, account.Support: false, account.Viewer: false,
			} {
				_, body := member(t, g, shop.Tenant.ID, role).Get(t, live+"?lang=en")
				if strings.Contains(body, button) != (revoked && may) || strings.Contains(body, "API key") != may {
					t.Errorf("%s, without a key: %t: not the way on", role, revoked)
				}
			}
		}
	})
}

// TestChecklistEndsWithTheNextStep: once all is done, one line leads on to live mode. A
// URL that is not encrypted, or that shoppers' browsers cannot reach, is not done; nor is
// a gateway without https.
func TestChecklistEndsWithTheNextStep(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "https://shop.example/hooks/age", nil)
	dev := member(t, g, shop.Tenant.ID, account.Developer)
	path := "/dashboard/" + shop.Tenant.ID.String() + "/test"
	dev.Fill(t, path+"/webhooks/test", map[string][]string{"outcome": {"verified"}})
	gatewaytest.WaitFor(t, "the first attempt ends", func() bool { return g.Count(t, "webhook_attempts") > 0 })
	g.Exec(t, "UPDATE webhook_events SET status = 'delivered', next_attempt_at = NULL")
	for _, status := range []string{"PASSED", "FALLBACK", "SPOOF"} {
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Exec(t, "UPDATE sessions SET status = '"+status+"', source = 'forced', completed_at = created_at WHERE id = '"+
			made.SessionID+"'")
	}
	endsWithTheNextStep(t, g, shop.Tenant.ID, false)
	g = g.Restart(t, "AGEGATE_VERIFY_URL=https://verify.gateway.example", "AGEGATE_DASHBOARD_URL=https://staff.example")
	endsWithTheNextStep(t, g, shop.Tenant.ID, true)
}

func endsWithTheNextStep(t *testing.T, g *gatewaytest.Gateway, id uuid.UUID, secure bool) {
	t.Helper()
	dev := member(t, g, id, account.Developer)
	for _, tt := range []struct{ name, url, flaw string }{
		{"Success", "http://shop.example/ok", "not encrypted"},
		{"Success", "http://localhost:3000/ok", "leads to this computer only"}, {"Success", "https://shop.example/ok", ""},
		{"Webhook", "https://10.1.2.3/hook", "not a public address"},
		{"Webhook", "https://127.0.0.1/hook", "leads to this computer only"}, {"Webhook", "https://shop.example/hook", ""},
	} {
		g.Exec(t, "UPDATE tenants SET "+strings.ToLower(tt.name)+"_url = '"+tt.url+"'")
		_, body := dev.Get(t, "/dashboard/"+id.String()+"/test")
		ready := strings.Contains(body, "Everything is ready. Switch to Live") && strings.Contains(body, `/docs/go-live">`)
		_, open, _ := strings.Cut(body, "<main")
		open, _, _ = strings.Cut(open, "<details")
		if want := secure && tt.flaw == ""; ready != want || strings.Contains(body, "checklist") == want {
			t.Errorf("https %t, with %s: ready %t", secure, tt.url, ready)
		}
		todo := "Replace the " + tt.name + " URL</a>"
		if tt.flaw == "" && strings.Contains(open, todo) ||
			tt.flaw != "" && !strings.Contains(open, todo+` <span class="badge warn">`+tt.flaw+"<") {
			t.Errorf("%s lacks %q: %s", tt.url, tt.flaw, open)
		}
		if strings.Contains(open, "Get the gateway served over https (its operator does)</span>") == secure {
			t.Errorf("https %t, and the list has it, for the operator to do: %t", secure, !secure)
		}
	}
}

// TestChartHasAScale: round numbers stand at the grid lines, and hours below.
func TestChartHasAScale(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	g.Clock.Set(g.Clock.Now().Truncate(time.Hour).Add(time.Hour)) // all sessions are of one hour
	shop := g.Shop(t, "", nil)
	dev := member(t, g, shop.Tenant.ID, account.Developer)
	made := 0
	for _, tt := range []struct {
		sessions int
		scale    string
	}{{1, "1 0"}, {3, "3 2 1 0"}, {5, "6 4 2 0"}, {12, "15 10 5 0"}, {21, "30 20 10 0"}} {
		for ; made < tt.sessions; made++ {
			g.Create(t, shop.Test.APIKey, 18)
		}
		g.Clock.Advance(16 * time.Second) // the figures are computed every 15 s
		_, body := dev.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test")
		list := between(t, body, `class="scale" aria-hidden="true">`, "</ol>")
		scale := strings.NewReplacer("<li>", "", "</li>", " ").Replace(list)
		if strings.TrimSpace(scale) != tt.scale {
			t.Errorf("%d sessions have the scale %q, want %q", tt.sessions, scale, tt.scale)
		}
		marks := between(t, body, `class="marks"`, "</ol>")
		if strings.Count(marks, ":00") != 6 || !strings.Contains(marks, ">08:00<") {
			t.Errorf("the hours are %s", marks)
		}
	}
}
