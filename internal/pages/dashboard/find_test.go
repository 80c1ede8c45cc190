package dashboard_test

import (
	"fmt"
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
			made, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: of.Tenant.ID},
				session.CreateRequest{TargetAge: 18, SuccessURL: &target, IdempotencyKey: key})
			if err != nil {
				t.Fatal(err)
			}
			return made.SessionID.String()
		}
		mine := create(shop, "?a=1&order=1042#top", "cart-77")
		other := create(shop, "?order=10421&note=x_y&code=c72dd4cf", "")
		theirs := create(foreign, "?order=1042", "cart-77")
		for _, tt := range []struct{ typed, finds, leaves string }{
			{"1042", mine, other}, {"order=1042", mine, other}, {"a=1", mine, other}, {"order=10421", other, mine},
			{"x_y", other, mine}, {"=c72dd4cf", other, mine}, {"c72dd4cf", "", other},
			{"xzy", "", mine}, {"rder=1042", "", mine}, {mine[:8], mine, ""},
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

// searched searches for a text. It fails the test unless that leads to an address, or to
// none and to a page that says some texts.
func searched(t *testing.T, by *gatewaytest.Staff, at, text, leads string, says ...string) {
	t.Helper()
	res, body := by.Post(t, at, url.Values{"text": {text}})
	status := http.StatusOK
	if leads != "" {
		status = http.StatusSeeOther
	}
	want(t, text, res, status, leads)
	for _, said := range says {
		if !strings.Contains(body, said) {
			t.Errorf("%s: the page lacks %q", text, said)
		}
	}
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
		keyed := create(shop, true, "?n=1", "0b5d7a66-3f0e-4c2b-9d5c-1a2b3c4d5e6f")
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
			{support, "0b5d7a66-3f0e-4c2b-9d5c-1a2b3c4d5e6f", base + "/live/sessions/" + keyed, nil}, // an Idempotency-Key
			{support, "1b5d7a66-3f0e-4c2b-9d5c-1a2b3c4d5e6f", "", []string{"No session of yours has this ID"}},
			{support, "https://shop.example/paid?code=c72dd4cf", "", []string{"/test/sessions?id=code%3Dc72dd4cf"}},
			{support, "c72dd4cf", "", []string{"/test/sessions?id=%3Dc72dd4cf"}},
			{support, "ab-7", inTest, nil},
			{support, "5", "", []string{"2 matches", first, second, "Test", "Live",
				"Order 5 <code>…" + first[28:], "Order 5 <code>…" + second[28:]}},
			{support, "Sessions", base + "/test/sessions", nil},
			{support, "2026-11-28", base + "/test/sessions?from=2026-11-28&to=2026-11-28", nil},
			{support, "2026-11-31", "", []string{"Nothing found"}},
			{support, "1043", "", []string{"Nothing found"}},
			{support, "user@", "", []string{"Nothing found", "ask for the number of the order"}}, // the team is not support's
			{support, "Erika Mustermann", "", []string{"ask for the number of the order"}},
			{support, "Order-1042", inLive, nil},
			{support, "1042-DE", inLive, nil},
			{support, "1043-DE", "", []string{"Nothing found"}},
			{support, "+44 7700 90 1042", "", []string{"Nothing found"}}, // a telephone
			{support, "+44 (7700) 901042", "", []string{"Nothing found"}},
			{weak, "1042", "", []string{"Nothing found", "only test mode was looked at"}},
			{weak, "AB-7", inTest, nil},
			{owner, "Billing", base + "/billing", nil},
			{support, "104", inLive, nil},
			{support, "ab-", inTest, nil},
			{owner, "1042 AB-7", "", []string{"2 matches", live, test}},
			{owner, "1042,\tab-7; 1042", "", []string{"2 matches", live, test}},
			{owner, "1042 and zzzzz", "", []string{"1 match", live}},
			{owner, "fallback", "", []string{"/test/sessions?status=FALLBACK", "/settings/document-check"}},
			{owner, "passed", base + "/test/sessions?status=PASSED", nil},
			{owner, "delete data", "", []string{base + "/test/sessions", "/docs/support#a-shopper-wants-their-data"}},
			{owner, "branding", base + "/settings/branding", nil},
			{viewer, "branding", base + "/settings", nil},
			{owner, "Logo", base + "/settings/branding", nil}, // not "log out"
			{owner, "colours", base + "/settings/branding", nil},
			{owner, "wallets", base + "/settings/document-check", nil},
			{owner, "cancel url", base + "/settings/urls", nil},
			{owner, "passkey", "/dashboard/account", nil},
			{owner, "low credit", base + "/settings/alert", nil},
			{owner, "signature", base + "/test/webhooks", nil},
			{owner, "roles", base + "/team", nil},
			{owner, "invite", base + "/team", nil},
			{owner, "webhook secret", base + "/test/webhooks/secret", nil},
			{owner, "ogo", "", []string{"Nothing found", `/docs"`}},
			// The team is not support's.
			{support, "roles", "", []string{"Team: your role does not open this page. Roles that do: Owner."}},
		} {
			searched(t, tt.by, base+"/test/paste", tt.text, tt.leads, tt.says...)
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
		if _, file := support.Get(t, base+"/live/sessions.csv"); !strings.Contains(file, ",1042,") {
			t.Errorf("the file lacks the order:\n%s", file)
		}
		// Support begins in live mode.
		res, _ = support.Get(t, "/dashboard")
		want(t, "home of support", res, http.StatusSeeOther, base+"/live")
		res, _ = weak.Get(t, "/dashboard")
		want(t, "home of support with a password alone", res, http.StatusSeeOther, base+"/test")
	})
}

// TestLookUpWhatPeopleSay: whatever part of a session's names a shopper or a merchant
// says, in both modes, finds it.
func TestLookUpWhatPeopleSay(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, foreign := g.Shop(t, "", nil), g.Shop(t, "", nil)
		create := func(of tenant.Credentials, live bool, order string) string {
			target := "https://shop.example/paid?order=" + order
			made, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: of.Tenant.ID, Livemode: live},
				session.CreateRequest{TargetAge: 18, SuccessURL: &target, IdempotencyKey: "cart-" + order})
			if err != nil {
				t.Fatal(err)
			}
			return made.SessionID.String()
		}
		support := member(t, g, shop.Tenant.ID, account.Support)
		base := "/dashboard/" + shop.Tenant.ID.String()
		numbered, mixed := create(shop, true, "2026-00517"), create(shop, false, "Ab-1042")
		test, live := create(shop, false, "77"), create(shop, true, "77")
		strange := create(foreign, true, "88")
		for i := range 11 {
			create(shop, false, fmt.Sprint("MANY-", i))
		}
		toNumbered, toMixed := base+"/live/sessions/"+numbered, base+"/test/sessions/"+mixed
		toTest, toLive := base+"/test/sessions/"+test, base+"/live/sessions/"+live
		for text, leads := range map[string]string{
			numbered[28:]: toNumbered, "…" + strings.ToUpper(numbered[28:]): toNumbered, "..." + mixed[28:]: toMixed,
			"session …" + mixed[28:]: toMixed, numbered[24:]: toNumbered,

			"00517": toNumbered, "517": toNumbered, "#517": toNumbered, "order 517": toNumbered, "2026-": toNumbered,
			"ab-1042": toMixed, "AB-1042": toMixed, "aB-10": toMixed, "1042": toMixed,

			"/orders/2026-00517": toNumbered, "shop.example/o/ab-1042?x=1": toMixed, "%23Ab-1042": toMixed,
			"https://shop.example/ok?lang=de&nr=2026-00517#top": toNumbered, "?id=AB-1042": toMixed,
			"https://shop.example/admin/orders/517?" + strings.Repeat("a=b&", 50): toNumbered,
			"shop.example%2Fo%2Fab-1042":                                          toMixed,

			"[Ab-1042]": toMixed, "order “517” (failed)": toNumbered, "order:517": toNumbered, "order_no:AB-1042": toMixed,
			"Hello,\n" + strings.Repeat("I wish you all a good day, and thank you very much. ", 20) +
				"My order: 517.": toNumbered,

			"77 live": toLive, "77 test": toTest, "live mode 77": toLive, "517 live": toNumbered,
			"517 test":     toNumbered,
			"517 sessions": toNumbered, "order 517 failed": toNumbered, "517 expired": toNumbered,
			"517 open live": toNumbered,
		} {
			searched(t, support, base+"/test/paste", text, leads)
		}
		_, body := support.Post(t, base+"/test/paste", url.Values{"text": {"cart-2026"}})
		if strings.Contains(body, "Idempotency-Key") {
			t.Error("support, whose role sees no requests, reads of Idempotency-Keys")
		}
		for text, says := range map[string][]string{
			"77":               {"2 matches", toTest, toLive},
			"517 zzz":          {"1 match", toNumbered, "1 of your words found nothing"},
			"My order is 517!": {"1 match", toNumbered},
			"First 517 passed, then 77 expired, in test mode!": {toNumbered, toTest, toLive},
			"517, 77, 1043":    {"3 matches", toNumbered, toTest, toLive, "No session with the order 1043:"},
			"cart-2026":        {"Nothing found", "and an ID by its first or last", `/docs#q=cart-2026"`, "?id=cart-2026"},
			"88":               {"Nothing found"},
			strange[28:]:       {"Nothing found"},
			"MANY-":            {"The first 10 matches"},
			"zzz yyy":          {"Nothing found"},
			"zzz 7":            {"Nothing found"}, // one digit begins too many orders
			"/orders/%00/%FF":  {"Nothing found"},
			"API keys":         {"API keys: your role does not open this page. Roles that do: Owner, Developer."},
			"billing":          {"Billing: your role", "Roles that do: Owner, Developer, Viewer."},
			"422":              {"Rejected requests: your role does not open this page"},
			"invite colleague": {"Team: your role does not open this page."},
			"system":           {"Nothing found"}, // the operator's
		} {
			searched(t, support, base+"/test/paste", text, "", says...)
			// The list while one types has the same.
			searched(t, support, base+"/test/paste?part=found", text, "", says...)
		}
	})
}

// TestLookUpPages: the words by which people ask for what they want to do lead to the page
// where it is done.
func TestLookUpPages(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	owner, op := member(t, g, shop.Tenant.ID, account.Owner), operating(t, g)
	g.Join(t, op, shop.Tenant.ID, account.Owner)
	base := "/dashboard/" + shop.Tenant.ID.String()
	for page, words := range map[string][]string{
		"/test/webhooks": {"retry", "resend", "failed", "erneut senden"},
		"/test/sessions": {"failed", "fehlgeschlagen"},
		"/test/refusals": {"401", "422", "rate limit"}, "/billing": {"top up", "aufladen", "invoice", "Rechnung"},
		"/team": {"invite colleague", "Kollegen einladen", "how do I invite someone"},
	} {
		for _, text := range words {
			found(t, owner, base+"/test/paste", text, base+page)
		}
	}
	for _, text := range []string{"timezone", "time zone", "Zeitzone", "log out", "sign out", "logout", "abmelden",
		"2fa", "passkey", "delete account", "Konto löschen"} {
		found(t, owner, base+"/test/paste", text, "/dashboard/account")
	}
	for text, page := range map[string]string{
		"operator": "/operator/system", "system": "/operator/system", "tenants": "/operator", "Mandanten": "/operator",
	} {
		found(t, op, base+"/test/paste", text, page)
	}
	searched(t, op, base+"/test/paste", "log out", "/dashboard/account")
	searched(t, owner, base+"/test/paste", "logo", base+"/settings/branding") // not "log out" too, which begins so
	searched(t, op, base+"/test/paste", "LOGO", base+"/settings/branding")
	found(t, owner, base+"/test/paste", "session", base+"/test/sessions") // not only "test session"
	found(t, owner, base+"/test/paste", "webhook", base+"/test/webhooks")
	searched(t, owner, base+"/test/paste", "logou", "/dashboard/account")
	searched(t, op, "/operator/find", "tenants", "/operator")
	searched(t, owner, base+"/test/paste", "zzz", "", "<h1>Search</h1>", `placeholder="Search"`)
	searched(t, op, "/operator/find", "zzz", "", "<h1>Search</h1>", `placeholder="Search"`)
	for _, text := range []string{"mail", "metrics", "limits", "backup", "version", "logs", "Metriken", "Sicherung"} {
		found(t, op, "/operator/find", text, "/operator/system")
	}
}

// TestLookUpGuide: what support staff ask for, and a title of the shopper's page that they paste, lead to the sections
// of support's guide in the page's language, beside a list of sessions that is found too.
func TestLookUpGuide(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	at := "/dashboard/" + shop.Tenant.ID.String() + "/live/paste?lang="
	for language, asked := range map[string]map[string]string{
		"en": {
			"refund": "charged-for-the-check-and-refunds", "customer wants a refund": "charged-for-the-check-and-refunds",
			"delete data":                                "a-shopper-wants-their-data-deleted-or-shown",
			"This check has expired":                     "the-link-has-expired",
			"This check was started in another browser.": "the-camera-does-not-open", "scam": "is-this-page-genuine",
		},
		"de": {
			"Erstattung": "geld-für-die-prüfung-und-erstattungen", "Geld zurück": "geld-für-die-prüfung-und-erstattungen",
			"Daten löschen": "ein-kunde-will-auskunft-über-gesicht-und-daten-oder-sie-löschen-lassen",
			"Diese Prüfung wurde in einem anderen Browser begonnen": "ein-kunde-hat-die-seite-geschlossen",
			"Kollege kann sich nicht anmelden":                      "jemand-aus-dem-team-kann-sich-nicht-anmelden",
		},
	} {
		guide := map[string]string{"en": "/docs/support#", "de": "/docs/support.de#"}[language]
		for text, part := range asked {
			searched(t, support, at+language, text, "", guide+strings.ToLower(url.PathEscape(part)))
		}
	}
}

// TestLookUpShopperSays: sentences of the shopper's page, in any language, and what shoppers ask every day lead to the
// guide's section before all else, and pages that support's role does not open come last.
func TestLookUpShopperSays(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	at := "/dashboard/" + shop.Tenant.ID.String() + "/live/paste?part=found&lang="
	refused, camera := "en a-document-was-refused", "en the-camera-does-not-open"
	step, wallet := "en the-document-step-does-not-go-on", "en the-wallet-does-not-go-on"
	wrongly, passed := "en a-shopper-was-refused-wrongly",
		"en passed-but-the-shop-says-not-verified-or-the-order-stays-open"
	angry, zornig := "en an-angry-or-legal-letter-racist-unfair-a-lawyer-the-police",
		"de ein-wütendes-schreiben-rassistisch-ungerecht-anwalt-polizei"
	data, daten := "en a-shopper-asks-about-their-face-or-data", "de ein-kunde-fragt-nach-gesicht-und-daten"
	const erase = "en a-shopper-wants-their-data-deleted-or-shown"
	minor := "de ein-minderjähriger-hat-bestanden-oder-eltern-beschweren-sich"
	face, child := "en a-shopper-with-a-disability-or-a-covered-face", "en a-parent-complains-their-child-was-let-through"
	roles := map[string]*gatewaytest.Staff{"support": member(t, g, shop.Tenant.ID, account.Support),
		"owner": member(t, g, shop.Tenant.ID, account.Owner)}
	for text, want := range map[string]string{
		"That document says that you are not old enough": refused, "Show your age with a document": step,
		"We do not know the issuer of that document": refused, "Prove your age with a wallet.": step,
		"Die Kamera ist blockiert": camera, "Caméra bloquée": camera, "カメラがブロックされています": camera,
		"Wir konnten Ihr Alter nicht bestätigen": "en a-shopper-was-refused-wrongly",
		"The camera is blocked":                  "de die-kamera-geht-nicht-auf-oder-ihr-bild-ist-schwarz",
		"That document has expired.":             "de ein-dokument-etwa-ein-ausweis-wurde-abgelehnt",
		"Rückerstattung":                         "de geld-für-die-prüfung-und-erstattungen",
		"passport expired":                       refused, "my ID expired": refused, "passport was refused": refused,
		"why was I charged": "en charged-for-the-check-and-refunds", "can my son use my passport": child,
		"complaint": angry, "hijab": face, "glasses": face, "twins": child, "deepfake": "en no-live-person",
		"daughter": child, "my daughter used my card": child,
		"I passed and the shop did not ship":   "en passed-but-the-shop-says-not-verified-or-the-order-stays-open",
		"your camera said no and I am 41":      "en a-shopper-was-refused-wrongly",
		"the camera rejected me":               "en a-shopper-was-refused-wrongly",
		"he used his brother's passport":       child,
		"customer was under 18":                child,
		"my camera does not work":              camera,
		"how do i refund":                      "en charged-for-the-check-and-refunds",
		"never got the result":                 "en passed-but-the-shop-says-not-verified-or-the-order-stays-open",
		"how long is the link valid":           "en the-link-has-expired",
		"I need a new link":                    "en the-link-has-expired",
		"where is my photo":                    "en a-shopper-asks-about-their-face-or-data",
		"can I let him pass manually":          "en a-shopper-was-refused-wrongly",
		"ich wurde abgelehnt":                  "en a-shopper-was-refused-wrongly",
		"mein Kind hat bestellt":               "de ein-minderjähriger-hat-bestanden-oder-eltern-beschweren-sich",
		"kommt nicht an":                       "de bestanden-aber-dem-shop-nicht-gemeldet-oder-die-bestellung-bleibt-offen",
		"it hung after my wallet":              wallet,
		"die Kamera sagte nein und ich bin 41": "de ein-kunde-wurde-zu-unrecht-abgelehnt",
		"meine Tochter benutzte meine Karte":   "de ein-minderjähriger-hat-bestanden-oder-eltern-beschweren-sich",
		"customer wants new link":              "en the-link-has-expired",
		"Kunde will neuen Link":                "de der-link-ist-abgelaufen",
		"camera blokced":                       camera, "pasport refused": refused,
		"is this phishing": "en is-this-page-genuine",
		"closed the tab":   "en a-shopper-closed-the-page", "id card not readable": step,
		"neuer Link":            "de der-link-ist-abgelaufen",
		"passport not accepted": refused, "Ausweis wird nicht erkannt": "de es-geht-mit-dem-dokument-nicht-weiter",
		"bestanden aber keine Lieferung": "de bestanden-aber-dem-shop-nicht-gemeldet-oder-die-bestellung-bleibt-offen",
		"I paid and nothing happened":    passed, "paid but order still open": passed, "ordered, no confirmation": passed,
		"bezahlt und nichts passiert":     "de bestanden-aber-dem-shop-nicht-gemeldet-oder-die-bestellung-bleibt-offen",
		"bestellt aber keine Bestätigung": "de bestanden-aber-dem-shop-nicht-gemeldet-oder-die-bestellung-bleibt-offen",
		"it said no":                      wrongly, "why 25": wrongly, "undo result": wrongly,
		"I am 34 and it refused me": wrongly,
		"page expired":              "en the-link-has-expired", "Seite abgelaufen": "de der-link-ist-abgelaufen",
		"your system is racist and refused me!!!": angry, "racist": angry, "lawyer": angry, "police": angry, "unfair": angry,
		"speak to a human": angry, "je veux parler à un humain": angry, "let a human look at it": angry,
		"discrimination": angry, "data protection authority": angry, "Diskriminierung": zornig, "Anwalt": zornig,
		"Polizei": zornig, "rassistisch": zornig, "ich will mit einem Menschen sprechen": zornig,
		"how old do I look": data, "Why do you need my passport?": data,
		"I'm the mother of Leo, he is only 14. Please remove everything you stored": child,
		"I am the father of Mia, she is 15 and bought vodka in your shop":           child,
		"I don't want to give my biometric data to anybody. Other way?":             data,
		"I demand you delete my face data under GDPR":                               erase,
		"your machine is a joke, I am 34, give me a manager":                        wrongly,
		"I opened it inside Facebook and it never finishes":                         camera,
		"Ma fille a 15 ans et a passé votre contrôle":                               child,
		"Ich bin die Mutter von Leo, er ist erst 14. Bitte löschen Sie alles":       minor,
		"Warum brauchen Sie meinen Ausweis?":                                        daten,
		"Ich will meine biometrischen Daten niemandem geben":                        daten,
		// A whole mail, with the number of a telephone.
		"Hello, yesterday I ordered two bottles of wine in your shop and I had to prove my age. The camera stayed black " +
			"the whole time, and then nothing happened. My phone number is +44 7700 900001. Regards, Jane": camera,
		"Hi there, I did the age check this morning and it said everything was confirmed, but your shop still shows my " +
			"order as pending and I have heard nothing since. Could you please look? Thanks, Tom": "en passed-but-the-shop-" +
			"says-not-verified-or-the-order-stays-open",
		"Guten Tag, ich habe gestern bei Ihnen bestellt und sollte mein Alter nachweisen. Leider ist der Link inzwischen " +
			"abgelaufen. Können Sie mir bitte einen neuen Link schicken? Grüße, Jens Meier": "de der-link-ist-abgelaufen",
	} {
		for role, by := range roles {
			language, section, _ := strings.Cut(want, " ")
			_, body := by.Post(t, at+language, url.Values{"text": {text}})
			_, first, _ := strings.Cut(body, "<li>")
			first, _, _ = strings.Cut(first, "</li>")
			if !strings.Contains(first, "#"+strings.ToLower(url.PathEscape(section))+`"`) {
				t.Errorf("%s: %q leads to %s", role, text, first)
			}
		}
	}
	for _, text := range []string{"link expired", "new link", "wallet stuck", "customer is 25 and was rejected",
		"I am 34 and it refused me", "your system is racist and refused me!!!", "data protection authority"} {
		_, body := roles["support"].Post(t, at+"en", url.Values{"text": {text}})
		for _, not := range []string{"your role does not", `/live/sessions"`, `/account"`, `/webhooks"`} {
			if strings.Contains(body, not) {
				t.Errorf("%q lists a page that has little to do with it (%s): %s", text, not, body)
			}
		}
	}
	_, body := roles["support"].Post(t, at+"en", url.Values{"text": {"wallet"}})
	guide, closed := strings.Index(body, "#the-wallet-does-not"), strings.Index(body, "your role does not open")
	if guide < 0 || closed < guide {
		t.Errorf("wallet: the guide is not first: %s", body)
	}
}

// found fails the test unless a text leads to a page, or lists it, in one of the languages.
func found(t *testing.T, by *gatewaytest.Staff, at, text, page string) {
	t.Helper()
	for _, language := range []string{"en", "de"} {
		res, body := by.Post(t, at+"?lang="+language, url.Values{"text": {text}})
		if res.Header.Get("Location") == page || strings.Contains(body, `<a href="`+page+`" data-testid="hit"`) {
			return
		}
	}
	t.Errorf("%q does not lead to %s", text, page)
}

// TestLookUpInGerman: pages are found by words of the page's language.
func TestLookUpInGerman(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	owner := member(t, g, shop.Tenant.ID, account.Owner)
	base := "/dashboard/" + shop.Tenant.ID.String()
	for text, leads := range map[string]string{
		"Farben": "/settings/branding", "einladen": "/team", "Rollen": "/team",
		"logo": "/settings/branding", "Webhook-Geheimnis": "/test/webhooks/secret",
		"bestanden": "/test/sessions?status=PASSED",
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
		g.Exec(t, "UPDATE users SET name = 'Ada 100%', email = 'ada@wein.example' WHERE id = '"+
			ada.User.ID.String()+"'")
		sess := g.Create(t, shop.Test.APIKey, 18)
		tenantAt, userAt := "/operator/tenants/"+shop.Tenant.ID.String(), "/operator/users?user="+ada.User.ID.String()
		for _, tt := range []struct {
			text, leads string
			says        []string
		}{
			{"wein & MEHR", tenantAt, nil},
			{shop.Tenant.ID.String(), tenantAt, nil},
			{"Session " + sess.SessionID + " failed", tenantAt, nil},
			{sess.VerificationURL + "?lang=de", tenantAt, nil},
			{"https://v.example/v/" + strings.Repeat("A", 43), "", []string{"Nothing found"}},
			{"ADA@wein", userAt, nil},
			{"100%", userAt, nil},
			{"wein", "", []string{"2 matches", tenantAt, userAt}},
			{"backup", "/operator/system", nil},
			{"merchant", "", []string{"/operator/tenants/new"}},
			{"zzz", "", []string{"Nothing found", `/docs"`}},
			{"z", "", []string{"Nothing found"}},
			{"1042", "", []string{"Orders are searched in a tenant.", `href="/operator"`}},
			{"mail", "/operator/system", nil}, {"metrics", "/operator/system", nil},
			{"limits", "", []string{"/operator/system"}},
			{"version", "/operator/system", nil}, {"logs", "", []string{"/operator/audit", "/operator/system"}},
			{"2fa", "", []string{"/operator/users", "/dashboard/account"}}, {"sign out", "/dashboard/account", nil},
		} {
			searched(t, op, "/operator/find", tt.text, tt.leads, tt.says...)
		}
		if _, body := op.Get(t, userAt); !strings.Contains(body, "<code>ada@<wbr>wein.example<wbr></code>") ||
			strings.Count(body, `data-testid="user"`) != 1 {
			t.Error("the users' page does not show the one that was found")
		}
		if _, body := op.Get(t, "/operator"); strings.Contains(body, "nav-shop") ||
			!strings.Contains(body, `action="/operator/find"`) {
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
		g.Join(t, op, other.Tenant.ID, account.Owner)
		if _, body := op.Get(t, "/operator"); strings.Count(body, "nav-shop") != 1 ||
			!strings.Contains(body, `href="/dashboard" data-testid="nav-shop">Your tenants<`) {
			t.Error("an operator with two tenants is not led to the choice")
		}
		searched(t, op, "/operator/find", "1042", "", `/test" data-testid="place">`+shop.Tenant.Name+"</a>",
			`/test" data-testid="place">`+other.Tenant.Name+"</a>")
	})
}
