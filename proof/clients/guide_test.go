package clients

import (
	"crypto/rand"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/lab/certify"
	"agegate/internal/lab/testkey"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

// target describes the shops of the guides, as merchants do.
const target = `
webhook_url: SHOP/webhook
cancel_url: SHOP/cancelled
releases_on: [redirect, webhook, polling]
order: {url: SHOP/buy, method: POST}
poll: {url: "SHOP/orders/{session}"}
probe: {url: "SHOP/orders/{session}/released"}
settle: 0s
replay: 20ms
age: 18
`

// TestGuideShops attacks the shops of the guides in languages without a client,
// with every case of agegate-dev certify.
func TestGuideShops(t *testing.T) {
	shops := filepath.Join(visiontest.Root(), "docs/guides/shops")
	for language, program := range map[string][]string{
		"ruby": {"ruby", filepath.Join(shops, "shop.rb")},
		"php":  {"sh", "-c", `exec php -S "localhost:$PORT" "$1"`, "sh", filepath.Join(shops, "shop.php")},
		"java": {"java", "-cp", "/usr/share/java/gson.jar", filepath.Join(shops, "Shop.java")},
	} {
		t.Run(language, func(t *testing.T) {
			gateway := "localhost:" + freePort(t)
			g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_LISTEN="+gateway, "AGEGATE_VERIFY_URL=http://"+gateway)
			front, err := certify.NewFront(g.URL)
			if err != nil {
				t.Fatal(err)
			}
			between := httptest.NewServer(front)
			t.Cleanup(between.Close)
			program = append([]string{"env", "AGEGATE_URL=" + between.URL}, program...)
			c, address, _ := open(t, g, t.TempDir(), freePort(t), program)

			report, text := attack(t, g, c, strings.ReplaceAll(target, "SHOP", address), front)
			if !report.Passed() || len(report.Results) != len(certify.Plan()) {
				t.Errorf("%d of %d cases:\n%s", len(report.Results), len(certify.Plan()), text)
			}
			t.Log(report.Summary())
		})
	}
}

// TestSettle runs the job of the guide to going live over sessions that passed, that did not and that are open.
func TestSettle(t *testing.T) {
	guide := readFile(t, filepath.Join(visiontest.Root(), "docs/guides/go-live.md"))
	dir := t.TempDir()
	job := blocks(guide, []string{"A job for what is left open"})[0]
	write(t, filepath.Join(dir, "settle.py"), strings.TrimPrefix(job, "python\n"))
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	c := g.Shop(t, "http://localhost:1/webhook", nil)
	orders := "import sys\nrelease = lambda session: print('released', session)\n" +
		"close = lambda order, status: print('closed', order, status)\n" +
		"open_orders = lambda minutes: [('gone', 'none')"
	var passed string
	for _, outcome := range []string{"verified", "fallback", "spoof", ""} {
		created := g.Create(t, c.Test.APIKey, 18)
		if outcome == "verified" {
			passed = created.SessionID
		}
		if outcome != "" {
			g.Force(t, gatewaytest.Browser(), created, outcome)
		}
		orders += ", ('" + outcome + "', '" + created.SessionID + "')"
	}
	write(t, filepath.Join(dir, "orders.py"), orders+"]\n")
	env := []string{"AGEGATE_URL=" + g.URL, "AGEGATE_API_KEY=" + c.Test.APIKey, "PYTHONPATH=" + sdk("python")}
	_, did, _ := strings.Cut(run(t, dir, env, "python3", "settle.py"), "\n") // the first line is the refusal
	if did != "released "+passed+"\nclosed fallback FALLBACK\nclosed spoof SPOOF\n" {
		t.Errorf("the job did %q", did)
	}
}

// attack tries the cases of agegate-dev certify on a shop, and returns the report and its text.
func attack(t *testing.T, g *gatewaytest.Gateway, c tenant.Credentials, target string, front *certify.Front) (
	*certify.Report, string,
) {
	t.Helper()
	client, err := testkey.New(g.URL, c.Test.APIKey)
	if err != nil {
		t.Fatal(err)
	}
	var secrets certify.Secrets
	if secrets.Redirect, err = verify.Secret(c.Test.RedirectSecret); err != nil {
		t.Fatal(err)
	}
	if secrets.Webhook, err = verify.Secret(c.Test.WebhookSecret); err != nil {
		t.Fatal(err)
	}
	shop, err := certify.ReadTarget(strings.NewReader(target))
	if err != nil {
		t.Fatal(err)
	}
	shop.Front = front
	near := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	tools := certify.Tools{Client: webhook.NewClient(near, nil), Random: rand.Reader, Now: g.Clock.Now}
	report, err := certify.Attack(t.Context(), client, secrets, shop, tools, certify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.Write(&text, "text"); err != nil {
		t.Fatal(err)
	}
	return report, text.String()
}
