package certify_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate"
	"agegate/internal/gatewaytest"
	"agegate/internal/lab/certify"
	"agegate/internal/lab/demo"
	"agegate/internal/lab/suite"
	"agegate/internal/lab/testkey"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

// serve opens a server whose handler is set later.
func serve(t *testing.T) (*httptest.Server, *http.Handler) {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server, &handler
}

// caseListener tells a shop how the names of a delivery's headers are written,
// which net/http hides from its handlers.
type caseListener struct {
	net.Listener
	shop *carelessShop
}

func (l caseListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return caseConn{conn, l.shop}, err
}

type caseConn struct {
	net.Conn
	shop *carelessShop
}

func (c caseConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bytes.Contains(bytes.ToLower(p[:n]), []byte("\nwebhook-id:")) {
		c.shop.small.Store(bytes.Contains(p[:n], []byte("\nwebhook-id:")))
	}
	return n, err
}

// register makes the owner of a server a tenant. The gateway's own webhooks do
// not reach the server, so they release nothing.
func register(t *testing.T, g *gatewaytest.Gateway, server string) tenant.Credentials {
	t.Helper()
	return g.Shop(t, server+"/webhook", func(shop *tenant.Tenant) {
		shop.SuccessURL, shop.CancelURL = server+"/thanks?shop=1", server+"/cancelled"
	})
}

// targetOf describes the shop at an address.
func targetOf(t *testing.T, server string) certify.Target {
	t.Helper()
	target, err := certify.ReadTarget(strings.NewReader(strings.ReplaceAll(`
success_url: SHOP/thanks?shop=1
cancel_url: SHOP/cancelled
webhook_url: SHOP/webhook
releases_on: [redirect, webhook, polling]
order: {url: SHOP/buy, form: {age: "18"}}
poll: {url: "SHOP/orders/{session}"}
probe: {url: "SHOP/orders/{session}/released"}
settle: 0s
replay: 20ms
`, "SHOP", server)))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// start runs a gateway whose hosted page can be opened.
func start(t *testing.T, env ...string) *gatewaytest.Gateway {
	t.Helper()
	front, pages := serve(t)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), append(env, "AGEGATE_VERIFY_URL="+front.URL)...)
	at, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	*pages = httputil.NewSingleHostReverseProxy(at)
	between, err := certify.NewFront(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	server, handler := serve(t)
	*handler = between
	g.URL = server.URL
	betweens.Store(g, between)
	return g
}

// betweens has the Front of each gateway of start, through which everybody reaches it.
var betweens sync.Map

// tools reach this machine.
func tools(g *gatewaytest.Gateway) certify.Tools {
	near := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	return certify.Tools{Client: webhook.NewClient(near, nil), Random: rand.Reader, Now: g.Clock.Now}
}

// attack attacks a tenant's shop with the secrets of test mode.
func attack(
	t *testing.T, g *gatewaytest.Gateway, c tenant.Credentials, target certify.Target, with certify.Tools,
	o certify.Options,
) (*certify.Report, error) {
	t.Helper()
	gateway, err := testkey.New(g.URL, c.Test.APIKey)
	if err != nil {
		t.Fatal(err)
	}
	var known certify.Secrets
	if known.Redirect, err = verify.Secret(c.Test.RedirectSecret); err != nil {
		t.Fatal(err)
	}
	if known.Webhook, err = verify.Secret(c.Test.WebhookSecret); err != nil {
		t.Fatal(err)
	}
	if between, ok := betweens.Load(g); ok {
		target.Front, _ = between.(*certify.Front)
	}
	return certify.Attack(t.Context(), gateway, known, target, with, o)
}

func show(t *testing.T, r *certify.Report) string {
	t.Helper()
	var text bytes.Buffer
	if err := r.Write(&text, "text"); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestTheSampleShopPasses: the sample shop releases nothing to an attack.
func TestTheSampleShopPasses(t *testing.T) {
	g := start(t)
	server, handler := serve(t)
	c := register(t, g, server.URL)
	shop, err := demo.New(g.URL, g.URL, demo.Credentials{
		APIKey: c.Test.APIKey, WebhookSecret: c.Test.WebhookSecret, RedirectSecret: c.Test.RedirectSecret,
	}, g.Clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	*handler = shop.Handler()
	target := targetOf(t, server.URL)
	target.SuccessURL, target.CancelURL = "", "" // they are learned
	report, err := attack(t, g, c, target, tools(g), certify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Passed() || len(report.Results) != len(certify.Plan()) || report.Sessions != certify.MaxSessions() {
		t.Errorf("%d sessions, want %d:\n%s", report.Sessions, certify.MaxSessions(), show(t, report))
	}
}

// TestACarelessShopFails: each case finds its mistake, and a shop without a
// mistake passes.
func TestACarelessShopFails(t *testing.T) {
	// The gateway's own webhooks go nowhere: the certifier has to find the mistake with its
	// own.
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	shop := &carelessShop{gateway: g.URL, now: g.Clock.Now}
	run := func(mistake string, cases ...string) *certify.Report {
		server := httptest.NewUnstartedServer(shop)
		server.Listener = caseListener{server.Listener, shop}
		server.Start()
		t.Cleanup(server.Close)
		c := register(t, g, server.URL)
		shop.mistake = mistake
		shop.use(t, c.Test)
		report, err := attack(t, g, c, targetOf(t, server.URL), tools(g), certify.Options{Cases: cases})
		if err != nil {
			t.Fatalf("%s: %v", mistake, err)
		}
		return report
	}
	report := run("")
	if !report.Passed() {
		t.Errorf("a careful shop fails:\n%s", show(t, report))
	}
	for _, c := range certify.Plan() {
		report := run(c.Name, c.Name)
		r := report.Results[0]
		if len(report.Results) != 1 || r.Outcome != suite.Failed || r.Fix == "" ||
			slices.ContainsFunc(r.Problems, func(p certify.Problem) bool { return p.String() == "" }) {
			t.Errorf("a shop that is careless about %s passes:\n%s", c.Name, show(t, report))
		}
		if !c.Releases && !r.LetIn() {
			t.Errorf("%s: the report does not say that it was let in:\n%s", c.Name, show(t, report))
		}
	}
}

// TestAShopThatConfirmsOtherwise: a shop need not release orders in every way,
// but it must not accept forgeries in any.
func TestAShopThatConfirmsOtherwise(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	for _, tt := range []struct {
		mistake string
		failed  int
	}{{"redirect.good", 0}, {"redirect.other-tenant", 5}} {
		server, handler := serve(t)
		c := register(t, g, server.URL)
		shop := &carelessShop{gateway: g.URL, now: g.Clock.Now, mistake: tt.mistake}
		shop.use(t, c.Test)
		*handler = shop
		target := targetOf(t, server.URL)
		target.ReleasesOn = []certify.Way{certify.WayWebhook, certify.WayPolling}
		report, err := attack(t, g, c, target, tools(g), certify.Options{Cases: []string{"redirect.*"}})
		if err != nil || (report.Count(suite.Failed) > 0) != (tt.failed > 0) {
			t.Errorf("%s: %v\n%s", tt.mistake, err, show(t, report))
		}
	}
}

// TestASpoofThatCannotBeForced: no lookup says SPOOF where documents only are taken, so that the
// case about it does not pass.
func TestASpoofThatCannotBeForced(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	server, handler := serve(t)
	c := g.Shop(t, server.URL+"/webhook", func(shop *tenant.Tenant) {
		shop.SuccessURL, shop.CancelURL, shop.DocumentOnly = server.URL+"/thanks?shop=1", server.URL+"/cancelled", true
	})
	shop := &carelessShop{gateway: g.URL, now: g.Clock.Now}
	shop.use(t, c.Test)
	*handler = shop
	for cases, passed := range map[string]bool{"polling.spoof": false, "polling.[fs]*": true} {
		report, err := attack(t, g, c, targetOf(t, server.URL), tools(g), certify.Options{Cases: []string{cases}})
		if err != nil || report.Passed() != passed || report.Count(suite.Skipped) != 1 {
			t.Errorf("%s: %v\n%s", cases, err, show(t, report))
		}
	}
}

// TestAShopThatDoesNotAnswer: a shop that does not answer fails, and is not
// attacked further.
func TestAShopThatDoesNotAnswer(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	server, handler := serve(t)
	c := register(t, g, server.URL)
	shop := &carelessShop{gateway: g.URL, now: g.Clock.Now}
	shop.use(t, c.Test)
	var deliveries atomic.Int32
	*handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/webhook" {
			deliveries.Add(1)
			_, _ = io.Copy(io.Discard, r.Body) // the server notices that the client is gone only after it has read the body
			<-r.Context().Done()
			return
		}
		shop.ServeHTTP(w, r)
	})
	// A short limit for an answer that hangs, but long enough for the others.
	report, err := attack(t, g, c, targetOf(t, server.URL), tools(g), certify.Options{Limit: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	good, next := report.Results[0], report.Results[1]
	if good.Outcome != suite.Failed || good.Problems[0].Code != certify.ProblemNoAnswer || next.Outcome != suite.Skipped ||
		deliveries.Load() != 1 || report.Passed() {
		t.Errorf("%d deliveries:\n%s", deliveries.Load(), show(t, report))
	}
}

// TestRulesHaveCases: the guide's table gives each rule its cases, and every case a
// rule.
func TestRulesHaveCases(t *testing.T) {
	guide, err := agegate.Docs.ReadFile("docs/certify.md")
	if err != nil {
		t.Fatal(err)
	}
	var told, tried []string
	for line := range strings.Lines(string(guide)) {
		rule, cases, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | `")
		if !ok || !regexp.MustCompile(`^(redirect|webhook|polling|once|order)\.`).MatchString(cases) {
			continue
		}
		told = append(told, strings.Fields(strings.NewReplacer("`", " ", "|", " ").Replace(cases))...)
		if rule == "" {
			t.Errorf("the cases %s have no rule", cases)
		}
	}
	for _, c := range certify.Plan() {
		tried = append(tried, c.Name)
	}
	slices.Sort(told)
	slices.Sort(tried)
	if !slices.Equal(told, tried) {
		t.Errorf("the guide has the cases %q, want %q", told, tried)
	}
}

func TestReports(t *testing.T) {
	report := &certify.Report{
		Hosts: []string{"shop.example"}, StartedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Took: time.Second, Sessions: 2,
		Results: []certify.Result{
			{Case: "a.good", Title: "It holds", Outcome: suite.Passed},
			{Case: "b.bad", Title: "It does not", Outcome: suite.Failed, Fix: "Mend <it>.",
				Problems: []certify.Problem{{Code: certify.ProblemReleased, What: "first", Value: "1"}}},
			{Case: "b.off", Title: "Not tried", Outcome: suite.Skipped,
				Problems: []certify.Problem{{Code: certify.ProblemUntried}}},
		},
	}
	if report.Passed() || report.Summary() != "3 cases, 1 passed, 1 failed, 1 skipped, let in: b.bad" {
		t.Error(report.Summary())
	}
	got := map[string]string{}
	for _, format := range suite.Formats {
		var text bytes.Buffer
		if err := report.Write(&text, format); err != nil {
			t.Fatal(err)
		}
		got[format] = text.String()
	}
	for format, parts := range map[string][]string{
		"text":  {"failed   b.bad: It does not", "- first: LET IN", "Fix: Mend <it>.", "shop.example: 3 cases"},
		"junit": {`tests="3" failures="1" errors="0" skipped="1"`, `classname="certify.b" name="b.bad"`, "Mend &lt;it&gt;."},
	} {
		for _, part := range parts {
			if !strings.Contains(got[format], part) {
				t.Errorf("the report as %s has no %q:\n%s", format, part, got[format])
			}
		}
	}
	var back certify.Report
	if err := json.Unmarshal([]byte(got["json"]), &back); err != nil || len(back.Results) != 3 ||
		back.Results[1].Problems[0] != report.Results[1].Problems[0] {
		t.Errorf("%+v, %v", back, err)
	}
	if err := report.Write(&bytes.Buffer{}, "xml"); err == nil {
		t.Error("a format that there is not was written")
	}
}
