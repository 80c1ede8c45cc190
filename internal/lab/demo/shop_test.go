package demo_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/lab/demo"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
)

var stateOfProof = regexp.MustCompile(`class="state">(verified|not a pass|not yet|none for this result)`)

// TestShopLoop buys in the sample shop against a real gateway: redirect,
// webhook and lookup must each reach the order's story.
func TestShopLoop(t *testing.T) {
	for _, tt := range []struct {
		force, landing string
		story          []string
		not            string
		proofs         []string // the state of redirect, webhook and lookup
	}{
		{"verified", "Sold.", []string{"redirect token that verifies", "a signed webhook arrived: VERIFIED",
			"status lookup says PASSED"}, "Not sold", []string{"verified", "verified", "verified"}},
		{"fallback", "Not sold", []string{"a signed webhook arrived: ROUTED_TO_FALLBACK", "status lookup says FALLBACK"},
			"Sold.", []string{"none for this result", "not a pass", "not a pass"}},
		{"spoof", "Not sold", []string{"status lookup says SPOOF"}, "Sold.",
			[]string{"none for this result", "none for this result", "not a pass"}},
	} {
		t.Run(tt.force, func(t *testing.T) {
			g, shop := openShop(t)
			browser := gatewaytest.Browser()
			session, verification := buy(t, browser, shop)
			_, back := open(t, browser, g.Path(verification)+"?force="+tt.force)
			if back == "" {
				back = shop + "/cancelled"
			}
			if _, onward := open(t, browser, back); onward != "/orders/"+session {
				t.Errorf("the shop leads on to %q", onward)
			}
			page := waitForStory(t, browser, shop+"/orders/"+session, tt.story)
			if strings.Contains(page, `http-equiv="refresh"`) {
				t.Error("the page of a finished order looks for more")
			}
			if !strings.Contains(page, tt.landing) || strings.Contains(page, tt.not) {
				t.Errorf("the order's page does not say %q:\n%s", tt.landing, page)
			}
			if got := stateOfProof.FindAllStringSubmatch(page, -1); len(got) != 3 || got[0][1] != tt.proofs[0] ||
				got[1][1] != tt.proofs[1] || got[2][1] != tt.proofs[2] {
				t.Errorf("the proofs are %q, want %q", got, tt.proofs)
			}
			if !strings.Contains(page, `<a href="https://dashboard.example/sessions/`+session+`">`) {
				t.Error("no link to the session in the dashboard")
			}
		})
	}
}

// A shopper who leaves the check reads so, and how to go on with it.
func TestAnOrderWhoseCheckWasLeft(t *testing.T) {
	_, shop := openShop(t)
	browser := gatewaytest.Browser()
	_, verification := buy(t, browser, shop)
	_, onward := open(t, browser, shop+"/cancelled")
	page, _ := open(t, browser, shop+onward)
	head, _, _ := strings.Cut(page, "<h2>")
	if !strings.Contains(head, "The check is not finished") || !strings.Contains(head, `href="`+verification+`"`) {
		t.Errorf("the page's head does not lead back to the check:\n%s", page)
	}
	if got := stateOfProof.FindAllStringSubmatch(page, -1); len(got) != 3 || got[1][1] != "not yet" {
		t.Errorf("the proofs are %q", got)
	}
}

// The lookup may find the result before the webhook arrives: the page keeps
// reloading until it shows both.
func TestTheStoryWaitsForTheWebhook(t *testing.T) {
	// a network that does not contain the shop, so that its webhooks are refused
	g, shop := openShop(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	browser := gatewaytest.Browser()
	session, verification := buy(t, browser, shop)
	_, back := open(t, browser, g.Path(verification)+"?force=verified")
	open(t, browser, back)
	page := waitForStory(t, browser, shop+"/orders/"+session, []string{"status lookup says PASSED"})
	if !strings.Contains(page, `http-equiv="refresh"`) {
		t.Errorf("the page has stopped before the webhook:\n%s", page)
	}
}

func TestShopRefusesForgeries(t *testing.T) {
	_, shop := openShop(t)
	browser := gatewaytest.Browser()
	session, _ := buy(t, browser, shop)
	open(t, browser, shop+"/thanks?session="+session+"&status=VERIFIED&is_adult=true&token=9999999999.AAAA")
	page, _ := open(t, browser, shop+"/orders/"+session)
	if !strings.Contains(page, "refused: the redirect proves no pass of this session") || strings.Contains(page, "Sold.") {
		t.Errorf("a forged redirect got through:\n%s", page)
	}
	unsigned, err := http.Post(shop+"/webhook", "application/json",
		strings.NewReader(`{"session_id":"`+session+`","status":"VERIFIED","is_adult":true}`))
	if err != nil || unsigned.StatusCode != http.StatusUnauthorized {
		t.Errorf("an unsigned webhook is answered with %v, %v", unsigned.StatusCode, err)
	}
}

// The gateway knows the order by its number, which its page shows.
func TestAnOrderHasItsNumber(t *testing.T) {
	g, shop := openShop(t)
	browser := gatewaytest.Browser()
	session, verification := buy(t, browser, shop)
	_, back := open(t, browser, g.Path(verification)+"?force=verified")
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	number := u.Query().Get("order")
	if !regexp.MustCompile(`^[0-9]{5}$`).MatchString(number) {
		t.Errorf("the way back names the order %q", number)
	}
	open(t, browser, back)
	if page, _ := open(t, browser, shop+"/orders/"+session); !strings.Contains(page, "Order <b>"+number+"</b>") {
		t.Errorf("the page does not show the order's number %s:\n%s", number, page)
	}
}

// An order belongs to one browser: another browser that learns its address, or
// the success URL with its token, neither sees nor changes it.
func TestAnOrderBelongsToItsBrowser(t *testing.T) {
	g, shop := openShop(t)
	browser, stranger := gatewaytest.Browser(), gatewaytest.Browser()
	session, verification := buy(t, browser, shop)
	other, _ := buy(t, stranger, shop)
	_, back := open(t, browser, g.Path(verification)+"?force=verified")
	for _, url := range []string{shop + "/orders/" + session, back} {
		if page, onward := open(t, stranger, url); !strings.Contains(page, "not an order of this browser") || onward != "" ||
			strings.Contains(page, session) {
			t.Errorf("a stranger is led to %q:\n%s", onward, page)
		}
	}
	if page, _ := open(t, browser, shop+"/orders/"+session); strings.Contains(page, "came back") {
		t.Errorf("a stranger changed the order:\n%s", page)
	}
	// The browser keeps access to its first order after it made a second one.
	second, _ := buy(t, browser, shop)
	for _, own := range []string{session, second} {
		if page, _ := open(t, browser, shop+"/orders/"+own); !strings.Contains(page, "Session "+own) {
			t.Errorf("the browser does not see its order:\n%s", page)
		}
	}
	if session == second || other == session {
		t.Error("the orders are not told apart")
	}
}

// A pass of a session that the shop did not create, as the README's curl makes it,
// is shown with what proves it. A token that does not verify, or that belongs to a
// session of another browser, shows nothing.
func TestAPassOfASessionMadeElsewhereIsShown(t *testing.T) {
	g, _, c := openShopWithKeys(t)
	created := g.Create(t, c.Test.APIKey, 18)
	_, back := open(t, gatewaytest.Browser(), g.Path(created.VerificationURL)+"?force=verified")
	page, onward := open(t, gatewaytest.Browser(), back)
	for _, want := range []string{"Passed", "the token verifies", "created elsewhere", "Session " + created.SessionID} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q and leads to %q:\n%s", want, onward, page)
		}
	}
	forged := strings.Replace(back, "is_adult=true", "is_adult=True", 1)
	if page, _ := open(t, gatewaytest.Browser(), forged); !strings.Contains(page, "Something went wrong") {
		t.Errorf("a forged pass is shown:\n%s", page)
	}
}

// The shop has the secrets of test mode. It says so to a browser and to a webhook of
// a live session.
func TestASessionOfALiveKeyIsNotVerified(t *testing.T) {
	g, shop, c := openShopWithKeys(t)
	back := shop + "/thanks?session=" + g.Create(t, c.Live.APIKey, 18).SessionID + "&status=VERIFIED&is_adult=true&token=1.x"
	if page, _ := open(t, gatewaytest.Browser(), back); !strings.Contains(page, "test mode only") {
		t.Errorf("the page of a live session does not say that the shop knows test mode only:\n%s", page)
	}
	res, err := gatewaytest.Browser().Post(shop+"/webhook", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusUnauthorized || !strings.Contains(string(said), "test mode only") {
		t.Errorf("a webhook that does not verify is answered %d %q, %v", res.StatusCode, said, err)
	}
}

// A shop whose address the tenant no longer has says so.
func TestAnAddressThatIsNotRegistered(t *testing.T) {
	g, shop, c := openShopWithKeys(t)
	moved := "https://moved.example/ok"
	_, err := g.App.Tenants.Update(t.Context(), audit.System("test"), c.Tenant.ID,
		tenant.Changes{SuccessURL: &moved, CancelURL: &moved, WebhookURL: &moved})
	if err != nil {
		t.Fatal(err)
	}
	res, err := gatewaytest.Browser().PostForm(shop+"/buy", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || !told(string(page), []string{"422 Unprocessable Entity. value_error at body.success_url. This",
		"no longer registered under Settings"}) {
		t.Errorf("%d, %v\n%s", res.StatusCode, err, page)
	}
}

// Every page has a policy that names nothing but the shop and the gateway.
func TestShopPagesHaveAPolicy(t *testing.T) {
	g, shop := openShop(t)
	for _, path := range []string{"/", "/cancelled", "/orders/none", "/thanks?session=none"} {
		res, err := gatewaytest.Browser().Get(shop + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		policy := res.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "form-action 'self' "+g.URL+";") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
}

func TestShopSaysWhatTheGatewayAnswered(t *testing.T) {
	_, shop := openShop(t, "AGEGATE_TEST_DAILY_CAP=0")
	res, err := gatewaytest.Browser().PostForm(shop+"/buy", map[string][]string{"age": {"18"}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusBadGateway || !strings.Contains(string(page), "429 Too Many Requests") {
		t.Errorf("%d, %v:\n%s", res.StatusCode, err, page)
	}
}

// openShop starts a gateway and a shop that is its tenant.
func openShop(t *testing.T, settings ...string) (*gatewaytest.Gateway, string) {
	t.Helper()
	g, shop, _ := openShopWithKeys(t, settings...)
	return g, shop
}

// openShopWithKeys is openShop that also returns the shop's tenant and keys.
func openShopWithKeys(t *testing.T, settings ...string) (*gatewaytest.Gateway, string, tenant.Credentials) {
	t.Helper()
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), settings...)
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w,
			r)
	}))
	t.Cleanup(server.Close)
	c := g.Shop(t, server.URL+"/webhook", func(shop *tenant.Tenant) {
		shop.SuccessURL, shop.CancelURL = server.URL+"/thanks", server.URL+"/cancelled"
	})
	shop, err := demo.New(g.URL, g.URL, demo.Credentials{
		APIKey: c.Test.APIKey, WebhookSecret: c.Test.WebhookSecret, RedirectSecret: c.Test.RedirectSecret,
	}, g.Clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	shop.URL = server.URL
	shop.SessionsURL = "https://dashboard.example/sessions"
	handler = shop.Handler()
	return g, server.URL, c
}

// buy starts an order and returns its session and verification URL.
func buy(t *testing.T, browser *http.Client, shop string) (session, verification string) {
	t.Helper()
	res, err := browser.PostForm(shop+"/buy", map[string][]string{"age": {"18"}})
	if err != nil || res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("buying: %v, %v", res, err)
	}
	_, order := open(t, browser, shop+"/cancelled") // leads to the browser's latest order
	return strings.TrimPrefix(order, "/orders/"), res.Header.Get("Location")
}

// open loads a page and returns its text and the address it redirects to.
func open(t *testing.T, browser *http.Client, url string) (text, location string) {
	t.Helper()
	res, err := browser.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), res.Header.Get("Location")
}

// waitForStory reloads the order's page until it shows every step.
func waitForStory(t *testing.T, browser *http.Client, url string, story []string) string {
	t.Helper()
	var page string
	for range 1200 {
		page, _ = open(t, browser, url)
		if told(page, story) {
			return page
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the story lacks a step of %q:\n%s", story, page)
	return ""
}

func told(page string, story []string) bool {
	for _, step := range story {
		if !strings.Contains(page, step) {
			return false
		}
	}
	return true
}

// TestTheShopNeedsItsSecrets: the shop does not start with an incomplete secret,
// because anyone can sign with an empty key.
func TestTheShopNeedsItsSecrets(t *testing.T) {
	const webhook, redirect = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
		"rdsec_test_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	open := func(webhook, redirect string) error {
		_, err := demo.New("http://localhost", "http://localhost",
			demo.Credentials{APIKey: "svc_test_", WebhookSecret: webhook, RedirectSecret: redirect}, time.Now)
		return err
	}
	if err := open(webhook, redirect); err != nil {
		t.Fatal(err)
	}
	for _, bad := range gatewaytest.BadSecrets("whsec_") {
		if open(bad.Text, redirect) == nil {
			t.Errorf("the shop opens with the webhook secret %q", bad.Text)
		}
	}
	for _, bad := range gatewaytest.BadSecrets("rdsec_test_", "rdsec_live_") {
		if open(webhook, bad.Text) == nil {
			t.Errorf("the shop opens with the redirect secret %q", bad.Text)
		}
	}
}
