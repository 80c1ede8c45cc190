package reference_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// result is a result of the search.
type result struct{ Title, Page, URL, Before, Match, After string }

func search(t *testing.T, base, query string) (results []result) {
	t.Helper()
	if err := json.Unmarshal([]byte(get(t, base+"/docs/search.json?q="+url.QueryEscape(query))), &results); err != nil {
		t.Fatal(err)
	}
	return results
}

// TestSearch: fields, values and errors are found, also with one typo, on the page
// without a script too. What is asked beyond the limits is ignored.
func TestSearch(t *testing.T) {
	base := serve(t)
	for query, want := range map[string]string{
		"status_at":                              "/docs/reference#getSessionStatus-200",
		"Status_At":                              "/docs/reference#getSessionStatus-200",
		"statsu_at":                              "/docs/reference#getSessionStatus-200",
		"status_t":                               "/docs/reference#getSessionStatus-200",
		"FALLBACK":                               "/docs/test-outcomes#test-every-outcome",
		"insufficient_credit":                    "/docs/errors#insufficient_credit",
		"insuficient_credit":                     "/docs/errors#insufficient_credit",
		"webhook timeout":                        "/docs/verify-webhook#what-else-to-do",
		"create a session":                       "/docs/reference#createSession",
		"status_at nosuchwordanywhere":           "/docs/reference#getSessionStatus-200",
		"status_at" + strings.Repeat(" a", 1000): "/docs/reference#getSessionStatus-200",
	} {
		results := search(t, base, query)
		if !slices.ContainsFunc(results[:min(8, len(results))], func(r result) bool { return r.URL == want }) {
			t.Errorf("%.40q leads to %.3v, want %s", query, results, want)
		}
		if !strings.Contains(get(t, base+"/docs/search?q="+url.QueryEscape(query)), `href="`+want+`"`) {
			t.Errorf("%.40q: the page lacks %s", query, want)
		}
	}
	for _, query := range []string{"", " ", "/", "xqzvw", "\xff\xfe", strings.Repeat("x", 5000)} {
		if results := search(t, base, query); len(results) > 0 {
			t.Errorf("%.20q leads to %v", query, results[0])
		}
		get(t, base+"/docs/search?q="+url.QueryEscape(query))
	}
	if page := get(t, base+"/docs/search?q="+url.QueryEscape(`"><script>x</script>`)); strings.Contains(page,
		"<script>x") {
		t.Error("the page contains the query as markup")
	}
	for _, r := range search(t, base, "session") {
		if n := len(r.Before) + len(r.Match) + len(r.After); n > 400 {
			t.Errorf("%s: %d bytes of text", r.URL, n)
		}
	}
}

// TestSearchAnswers: what newcomers ask is answered by the first result, and what
// only the changelog says comes after everything else.
func TestSearchAnswers(t *testing.T) {
	base := serve(t)
	for query, want := range map[string]string{
		"iframe":             "/docs/integrate#not-in-an-iframe",
		"price":              "/docs/go-live#what-a-check-costs",
		"cost":               "/docs/go-live#what-a-check-costs",
		"refund":             "/docs/go-live#when-an-order-is-refunded",
		"WordPress":          "/docs/door#wordpress",
		"shopify":            "/docs/door#shopify-woocommerce-and-other-shop-software",
		"shopware":           "/docs/door#shopify-woocommerce-and-other-shop-software",
		"document check":     "/docs/document#the-document-check",
		"privacy":            "/docs/privacy#privacy-for-merchants",
		"privacy policy":     "/docs/privacy#privacy-for-merchants",
		"gdpr":               "/docs/privacy#who-is-responsible",
		"cookie":             "/docs/privacy#cookies",
		"fairness":           "/docs/expect#who-passes-by-group-and-sex",
		"postgresql":         "/docs/operations#sqlite-to-postgresql",
		"webhook signature":  "/docs/verify-webhook#verify-a-webhook-signature",
		"verify webhook":     "/docs/verify-webhook#verify-a-webhook-signature",
		"test mode":          "/docs/test-outcomes#test-every-outcome",
		"sandbox":            "/docs/test-outcomes#test-every-outcome",
		"redirect token":     "/docs/verify-token#verify-a-redirect-token",
		"minimum age 16":     "/docs/integrate#which-minimum-age",
		"cors":               "/docs/integrate#keep-the-api-key-on-your-server",
		"rate limit":         "/docs/reference#limits",
		"idempotency":        "/docs/reference#idempotency",
		"api key":            "/docs/integrate#keep-the-api-key-on-your-server",
		"python":             "/docs/clients#python",
		"go live":            "/docs/go-live#go-live",
		"rotate secret":      "/docs/go-live#rotate-a-key-or-a-secret",
		"polling":            "/docs/reference#polling",
		"language":           "/docs/integrate#the-language-of-the-page",
		"webview":            "/docs/integrate#not-in-an-iframe",
		"error":              "/docs/errors#errors-by-detail",
		"payment":            "/docs/integrate#before-or-after-the-payment",
		"status":             "/docs/reference#getSessionStatus",
		"status_at":          "/docs/reference#getSessionStatus-200",
		"livemode":           "/docs/reference#sessionCompleted-body",
		"Session not found":  "/docs/errors#session-not-found",
		"insuficient_credit": "/docs/errors#insufficient_credit",
		"402":                "/docs/errors#402",
		// In the words of shop owners, support, legal, operators and developers:
		"refused wrongly":       "/docs/support#a-shopper-was-refused-wrongly",
		"wrong result":          "/docs/support#a-shopper-was-refused-wrongly",
		"safari camera":         "/docs/support#the-camera-does-not-open",
		"camera not working":    "/docs/support#the-camera-does-not-open",
		"iphone":                "/docs/support#the-camera-does-not-open",
		"shopper has no camera": "/docs/support#the-camera-does-not-open",
		"forgot":                "/docs/support#a-colleague-cannot-log-in",
		"forgot password":       "/docs/support#a-colleague-cannot-log-in",
		"reset password":        "/docs/support#a-colleague-cannot-log-in",
		"log in":                "/docs/support#a-colleague-cannot-log-in",
		"login":                 "/docs/support#a-colleague-cannot-log-in",
		"2fa":                   "/docs/support#a-colleague-cannot-log-in",
		"invite colleague":      "/docs/support#a-colleague-cannot-log-in",
		"session expired":       "/docs/support#the-link-has-expired",
		"webhook not arriving":  "/docs/support#the-check-was-passed-and-the-order-is-still-open",
		"delete customer data":  "/docs/support#a-shopper-asks-about-data",
		"support":               "/docs/support#support-help-your-shoppers",
		"how long is data kept": "/docs/privacy#what-data-is-stored-and-for-how-long",
		"dpa":                   "/docs/privacy#who-is-responsible",
		"legal basis":           "/docs/privacy#what-to-tell-your-shoppers",
		"pricing":               "/docs/go-live#what-a-check-costs",
		"how much":              "/docs/go-live#what-a-check-costs",
		"free tier":             "/docs/go-live#what-a-check-costs",
		"leaked key":            "/docs/go-live#rotate-a-key-or-a-secret",
		"how long does it take": "/docs/expect#how-long-a-check-takes",
		"how fast is a check":   "/docs/expect#how-long-a-check-takes",
		"do minors pass":        "/docs/expect#who-passes",
		"skin colour":           "/docs/expect#who-passes-by-group-and-sex",
		"translate":             "/docs/integrate#the-language-of-the-page",
		"returning customer":    "/docs/integrate#customers-who-were-checked-already",
		"repeat customer":       "/docs/integrate#customers-who-were-checked-already",
		"subscription":          "/docs/integrate#customers-who-were-checked-already",
		"laravel":               "/docs/clients#php",
		"django":                "/docs/clients#python",
		"rails":                 "/docs/clients#ruby-java-and-other-languages",
		"ngrok":                 "/docs/localhost#develop-on-localhost",
		"webhook retries":       "/docs/reference#webhooks",
		"passport":              "/docs/document#by-a-photograph",
		"driver license":        "/docs/document#with-a-wallet",
		"monitoring":            "/docs/operations#metrics-and-logs",
		"backups":               "/docs/operations#backup",
		"upgrading":             "/docs/operations#upgrade",
		"update":                "/docs/operations#upgrade",
		"https":                 "/docs/operations#tls-and-the-reverse-proxy",
		"order number":          "/docs/integrate#find-the-session-of-an-order",
		"order id":              "/docs/integrate#find-the-session-of-an-order",
		"metadata":              "/docs/integrate#find-the-session-of-an-order",
		"unknown field":         "/docs/errors#extra_forbidden",
		"rotate key":            "/docs/go-live#rotate-a-key-or-a-secret",
		"api key rotate":        "/docs/go-live#rotate-a-key-or-a-secret",
		"revoke key":            "/docs/go-live#rotate-a-key-or-a-secret",
		"change language":       "/docs/integrate#the-language-of-the-page",
		"german":                "/docs/integrate#the-language-of-the-page",
		"logo":                  "/docs/integrate#your-logo-and-colours",
		"branding":              "/docs/integrate#your-logo-and-colours",
		"custom domain":         "/docs/integrate#your-logo-and-colours",
		"accessibility":         "/docs/integrate#accessibility",
		"screen reader":         "/docs/integrate#accessibility",
		"cancel":                "/docs/integrate#success-url-and-cancel-url",
		"success url":           "/docs/integrate#success-url-and-cancel-url",
		"mobile app":            "/docs/integrate#not-in-an-iframe",
		"embed":                 "/docs/integrate#not-in-an-iframe",
		"alcohol":               "/docs/integrate#which-minimum-age",
		"test card":             "/docs/test-outcomes#test-every-outcome",
		"minor":                 "/docs/expect#who-passes",
		"deepfake":              "/docs/expect#spoofs-pictures-screens-and-deepfakes",
		"liveness":              "/docs/expect#spoofs-pictures-screens-and-deepfakes",
		"wrong age":             "/docs/support#a-shopper-was-refused-wrongly",
		"too young":             "/docs/support#a-shopper-was-refused-wrongly",
		"android":               "/docs/support#the-camera-does-not-open",
		"ios":                   "/docs/support#the-camera-does-not-open",
		"desktop":               "/docs/support#the-camera-does-not-open",
		"expired":               "/docs/support#the-link-has-expired",
		"delete data":           "/docs/support#a-shopper-asks-about-data",
		"data retention":        "/docs/privacy#what-data-is-stored-and-for-how-long",
		"signature invalid":     "/docs/verify-webhook#when-it-does-not-verify",
		"timeout":               "/docs/verify-webhook#what-else-to-do",
		"duplicate":             "/docs/verify-webhook#what-else-to-do",
		"woocommerce":           "/docs/door#shopify-woocommerce-and-other-shop-software",
		"java":                  "/docs/clients#ruby-java-and-other-languages",
		"c#":                    "/docs/clients#ruby-java-and-other-languages",
		"node example":          "/docs/clients#typescript-and-javascript",
		"chargeback":            "/docs/go-live#when-an-order-is-refunded",
		"php example":           "/docs/clients#php",
		"invite team member":    "/docs/support#a-colleague-cannot-log-in",
		"adult rejected":        "/docs/support#a-shopper-was-refused-wrongly",
		"over 18 but rejected":  "/docs/support#a-shopper-was-refused-wrongly",
		"25 but rejected":       "/docs/support#a-shopper-was-refused-wrongly",
		"C# client":             "/docs/clients#ruby-java-and-other-languages",
		"url not registered":    "/docs/integrate#success-url-and-cancel-url",
		"already verified":      "/docs/integrate#customers-who-were-checked-already",
		"audit log":             "/docs/operations#the-audit-log",
		"uptime":                "/docs/operations#metrics-and-logs",
		// More words than a search takes:
		"Idempotency key reused with a different request": "/docs/errors#idempotency-key-reused-with-a-different-request",
	} {
		if results := search(t, base, query); len(results) == 0 || results[0].URL != want {
			t.Errorf("%q leads to %.2v, want %s", query, results, want)
		}
	}
	for _, query := range []string{"webhook", "changed", "added", "session", "wallet status", "security", "iframe price"} {
		changelog := false
		for _, r := range search(t, base, query) {
			if changelog && r.Page != "Changelog" {
				t.Errorf("%q: %s comes after the changelog", query, r.URL)
			}
			changelog = r.Page == "Changelog"
		}
	}
}
