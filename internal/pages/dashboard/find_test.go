package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// TestFindSession covers searching by what people have at hand. Viewers may
// search.
func TestFindSession(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, foreign := g.Shop(t, "", nil), g.Shop(t, "", nil)
		viewer := member(t, g, shop.Tenant.ID, account.Viewer)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		create := func(of tenant.Credentials, query, key string) string {
			target := of.Tenant.SuccessURL + query
			made, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: of.Tenant.ID}, session.CreateRequest{
				TargetAge: 18, SuccessURL: &target, IdempotencyKey: key,
			})
			if err != nil {
				t.Fatal(err)
			}
			return made.SessionID.String()
		}
		mine := create(shop, "?a=1&order=1042#top", "cart-77")
		other := create(shop, "?order=10421&note=x_y", "")
		theirs := create(foreign, "?order=1042", "cart-77")
		for _, tt := range []struct{ typed, finds, leaves string }{
			{"1042", mine, other}, {"order=1042", mine, other}, {"a=1", mine, other}, {"order=10421", other, mine},
			{"x_y", other, mine}, {"xzy", "", mine}, {"rder=1042", "", mine}, {mine[:8], mine, ""},
			{strings.ToUpper(mine[:35]), mine, other}, {mine[:9] + "--", "", mine},
		} {
			res, body := viewer.Get(t, base+"/sessions?id="+url.QueryEscape(tt.typed))
			want(t, tt.typed, res, http.StatusOK, "")
			if tt.finds != "" && !strings.Contains(body, "sessions/"+tt.finds) || tt.leaves != "" &&
				strings.Contains(body, "sessions/"+tt.leaves) || strings.Contains(body, theirs) {
				t.Errorf("%s does not find %q alone", tt.typed, tt.finds)
			}
		}
		for _, typed := range []string{"/v/" + strings.Repeat("A", 43), "a b", "%", "é"} {
			res, _ := viewer.Get(t, base+"/sessions?id="+url.QueryEscape(typed))
			want(t, typed, res, http.StatusUnprocessableEntity, "")
		}
		// No text reaches the database that it would refuse, or that is without bound.
		for _, typed := range []string{"1042\x00", "\x00", "\xff", "#\xc3", "order=\x00", strings.Repeat("9", 17_000)} {
			res, _ := viewer.Get(t, base+"/sessions?id="+url.QueryEscape(typed[:min(len(typed), 4000)]))
			want(t, "search in the list", res, http.StatusUnprocessableEntity, "")
			res, body := viewer.Post(t, base+"/paste", url.Values{"text": {typed}})
			if res.StatusCode != http.StatusUnprocessableEntity && !strings.Contains(body, "Nothing found") {
				t.Errorf("search for %.9q: %d", typed, res.StatusCode)
			}
		}
		if ofOdd := create(shop, "?order=%00&order_id=%FF&cart=%27%25", ""); ofOdd == "" {
			t.Error("a session with odd orders was not made")
		}
		if res, body := viewer.Post(t, base+"/paste", url.Values{"text": {"cart/78"}}); res.StatusCode != 200 ||
			!strings.Contains(body, "Nothing found") {
			t.Errorf("an unknown key: %d", res.StatusCode)
		}
	})
}

// TestLookUp: one search finds what people have at hand in both modes, and names
// the mode. What the role or the log-in does not open is not found.
func TestLookUp(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, foreign := g.Shop(t, "", nil), g.Shop(t, "", nil)
		create := func(of tenant.Credentials, live bool, query, key string) string {
			target := "https://shop.example/paid" + query
			made, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: of.Tenant.ID, Livemode: live},
				session.CreateRequest{TargetAge: 18, SuccessURL: &target, IdempotencyKey: key})
			if err != nil {
				t.Fatal(err)
			}
			return made.SessionID.String()
		}
		live, test := create(shop, true, "?order=1042", "cart-77"), create(shop, false, "?lang=de&order_id=AB-7", "")
		create(foreign, true, "?order=1042", "cart-77")
		create(foreign, false, "?order=AB-7", "")
		first, second := create(shop, false, "?order=5", ""), create(shop, true, "?order=5", "")
		support := member(t, g, shop.Tenant.ID, account.Support)
		owner := member(t, g, shop.Tenant.ID, account.Owner)
		viewer := member(t, g, shop.Tenant.ID, account.Viewer)
		weak := g.SignIn(t, false, account.ByPassword)
		g.Join(t, weak, shop.Tenant.ID, account.Support)
		base := "/dashboard/" + shop.Tenant.ID.String()
		inLive, inTest := base+"/live/sessions/"+live, base+"/test/sessions/"+test
		for _, tt := range []struct {
			by          *gatewaytest.Staff
			text, leads string
			says        []string
		}{
			{support, "1042", inLive, nil},
			{support, "#1042", inLive, nil},
			{support, "order 1042", inLive, nil},
			{support, "order=1042", inLive, nil},
			{support, "cart-77", inLive, nil},
			{support, "(1042).", inLive, nil},
			{support, "ab-7, ", inTest, nil},
			{support, live, inLive, nil},
			{support, "ab-7", inTest, nil},
			{support, "5", "", []string{"2 matches", first, second, "Test", "Live"}},
			{support, "Sessions", base + "/test/sessions", nil},
			{support, "1043", "", []string{"Nothing found"}},
			{support, "user@", "", []string{"Nothing found"}}, // the team is not support's
			{weak, "1042", "", []string{"Nothing found", "only test mode was looked at"}},
			{weak, "AB-7", inTest, nil},
			{owner, "Billing", base + "/billing", nil},
			{support, "104", inLive, nil},
			{support, "ab-", inTest, nil},
			{owner, "1042 AB-7", "", []string{"2 matches", live, test}},
			{owner, "1042,\tab-7; 1042", "", []string{"2 matches", live, test}},
			{owner, "1042 and others", "", []string{"1 match", live}},
			{owner, "fallback", "", []string{"/test/sessions?status=FALLBACK", "/settings/document-check"}},
			{owner, "passed", base + "/test/sessions?status=PASSED", nil},
			{owner, "delete data", base + "/test/sessions", nil},
			{owner, "branding", base + "/settings/branding", nil},
			{viewer, "branding", base + "/settings", nil},
			{owner, "Logo", base + "/settings/branding", nil},
			{owner, "wallets", base + "/settings/document-check", nil},
			{owner, "cancel url", base + "/settings/urls", nil},
			{owner, "single sign-on", base + "/team/sign-on", nil},
			{owner, "sso", base + "/team/sign-on", nil},
			{owner, "passkey", "/dashboard/account", nil},
			{owner, "low credit", base + "/billing/alert", nil},
			{owner, "signature", base + "/test/webhooks/verify", nil},
			{owner, "roles", base + "/team", nil},
			{owner, "invite", base + "/team", nil},
			{owner, "webhook secret", base + "/test/webhooks/secret", nil},
			{owner, "ogo", "", []string{"Nothing found", `/docs/search"`}},
			{support, "roles", "", []string{"Nothing found"}}, // the team is not support's
		} {
			res, body := tt.by.Post(t, base+"/test/paste", url.Values{"text": {tt.text}})
			status := http.StatusOK
			if tt.leads != "" {
				status = http.StatusSeeOther
			}
			want(t, tt.text, res, status, tt.leads)
			for _, text := range tt.says {
				if !strings.Contains(body, text) {
					t.Errorf("%s: the page lacks %q", tt.text, text)
				}
			}
		}
		// While a user types, the list is asked for: nothing is opened, and only the list is sent.
		for text, says := range map[string]string{
			"1042": inLive, "10": inLive, live: inLive, "branding": "/settings/branding", "zzz": "Nothing found",
			"svc_test_x": "This is a secret", "": "<p></p>",
		} {
			res, body := owner.Post(t, base+"/test/paste?part=found", url.Values{"text": {text}})
			want(t, "typing "+text, res, http.StatusOK, "")
			if !strings.Contains(body, says) || strings.Contains(body, "<html") {
				t.Errorf("typing %q: %s", text, body)
			}
		}
		// Test mode's own pages are found in live mode.
		res, _ := owner.Post(t, base+"/live/paste", url.Values{"text": {"sandbox"}})
		want(t, "the playground in live mode", res, http.StatusSeeOther, base+"/test/playground")
		// A page of the other mode leads there, but not for a log-in that does not open it.
		res, _ = support.Get(t, base+"/test/sessions/"+live)
		want(t, "a live session in test mode", res, http.StatusSeeOther, inLive)
		if _, body := support.Get(t, inLive); !strings.Contains(body, "so you see live mode now") ||
			!strings.Contains(body, "Order 1042") {
			t.Error("the page names neither its mode nor its order")
		}
		res, _ = weak.Get(t, base+"/test/sessions/"+live)
		want(t, "a live session for a password alone", res, http.StatusNotFound, "")
		// The order stands in the list and in the file.
		if _, body := support.Get(t, base+"/live/sessions"); !strings.Contains(body, "<strong>1042</strong>") {
			t.Error("the list lacks the order")
		}
		if _, file := support.Get(t, base+"/live/sessions.csv"); !strings.Contains(file, ",1042\n") {
			t.Errorf("the file lacks the order:\n%s", file)
		}
		// Support begins in live mode.
		res, _ = support.Get(t, "/dashboard")
		want(t, "home of support", res, http.StatusSeeOther, base+"/live")
		res, _ = weak.Get(t, "/dashboard")
		want(t, "home of support with a password alone", res, http.StatusSeeOther, base+"/test")
	})
}

// TestLookUpInGerman: pages are found by words of the page's language.
func TestLookUpInGerman(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	owner := member(t, g, shop.Tenant.ID, account.Owner)
	base := "/dashboard/" + shop.Tenant.ID.String()
	for text, leads := range map[string]string{
		"Farben": "/settings/branding", "einladen": "/team", "Rollen": "/team",
		"Webhook-Geheimnis": "/test/webhooks/secret", "bestanden": "/test/sessions?status=PASSED",
	} {
		res, _ := owner.Post(t, base+"/test/paste?lang=de", url.Values{"text": {text}})
		want(t, text, res, http.StatusSeeOther, base+leads)
	}
}

// TestOperatorFinds: the operator's pages have a search of their own, and ways back to
// the operator's tenants.
func TestOperatorFinds(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		g.Exec(t, "UPDATE tenants SET name = 'Wein & Mehr' WHERE id = '"+shop.Tenant.ID.String()+"'")
		op, ada := operating(t, g), member(t, g, shop.Tenant.ID, account.Owner)
		g.Exec(t, "UPDATE users SET name = 'Ada 100%', email = 'ada@wein.example' WHERE id = '"+ada.User.ID.String()+"'")
		tenantAt, userAt := "/operator/tenants/"+shop.Tenant.ID.String(), "/operator/users?user="+ada.User.ID.String()
		for _, tt := range []struct {
			text, leads string
			says        []string
		}{
			{"wein & MEHR", tenantAt, nil},
			{shop.Tenant.ID.String(), tenantAt, nil},
			{"ADA@wein", userAt, nil},
			{"100%", userAt, nil},
			{"wein", "", []string{"2 matches", tenantAt, userAt}},
			{"backup", "/operator/system", nil},
			{"merchant", "", []string{"/operator/tenants/new"}},
			{"zzz", "", []string{"Nothing found"}},
			{"z", "", []string{"Nothing found"}},
		} {
			res, body := op.Post(t, "/operator/find", url.Values{"text": {tt.text}})
			status := http.StatusOK
			if tt.leads != "" {
				status = http.StatusSeeOther
			}
			want(t, tt.text, res, status, tt.leads)
			for _, text := range tt.says {
				if !strings.Contains(body, text) {
					t.Errorf("%s: the page lacks %q", tt.text, text)
				}
			}
		}
		if _, body := op.Get(t, userAt); !strings.Contains(body, "ada@wein.example") || strings.Count(body, `data-testid="user"`) != 1 {
			t.Error("the users' page does not show the one that was found")
		}
		if _, body := op.Get(t, "/operator"); strings.Contains(body, "nav-shop") || !strings.Contains(body, `action="/operator/find"`) {
			t.Error("an operator without a tenant has a way back, or no search")
		}
		g.Join(t, op, shop.Tenant.ID, account.Owner)
		for _, path := range []string{"/operator", "/operator/system", "/operator/find"} {
			_, body := op.Get(t, path)
			if !strings.Contains(body, `href="/dashboard/`+shop.Tenant.ID.String()+`/test" data-testid="nav-shop"`) ||
				strings.Contains(body, other.Tenant.ID.String()+"/test") {
				t.Errorf("%s has no way back to the operator's tenant alone", path)
			}
		}
	})
}
