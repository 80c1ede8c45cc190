package wallets

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
)

// The public address of the hosted pages in tests.
const (
	verifyHost = "verify.gateway.example"
	verifyURL  = "https://" + verifyHost
)

// shop is a merchant whose shoppers may prove their age with a wallet.
type shop struct {
	t   *testing.T
	g   *gatewaytest.Gateway
	key string
}

func newShop(t *testing.T, g *gatewaytest.Gateway) *shop {
	t.Helper()
	credentials := g.Shop(t, "", func(s *tenant.Tenant) { s.DocumentCheck, s.WalletPID = true, true })
	return &shop{t, g, credentials.Test.APIKey}
}

// shopper is a browser with a session that waits for a wallet.
type shopper struct {
	*shop
	created  gatewaytest.Created
	browser  *http.Client
	links    map[string]string // by scheme
	codes    map[string]string // PNG in base64, by scheme
	requests json.RawMessage   // for the Digital Credentials API
}

var (
	walletLinks    = regexp.MustCompile(`href="((openid4vp|haip-vp|av)://[^"]+)"`)
	walletCodes    = regexp.MustCompile(`src="data:image/png;base64,([^"]+)"`)
	walletRequests = regexp.MustCompile(`data-requests="([^"]*)"`)
)

// shopper creates a session for a target age, is refused by the camera and
// chooses a wallet.
func (s *shop) shopper(age int) *shopper {
	s.t.Helper()
	p := &shopper{shop: s, created: s.create(age), browser: gatewaytest.Browser(), links: map[string]string{},
		codes: map[string]string{}}
	p.send(http.MethodGet, p.created.VerificationURL+"?force=fallback", nil)
	p.send(http.MethodPost, p.created.VerificationURL+"/document", url.Values{"choice": {"wallet"}})
	p.read()
	return p
}

// create creates a session like the merchant's backend.
func (s *shop) create(age int) (c gatewaytest.Created) {
	s.t.Helper()
	body := s.g.Do(s.t, gatewaytest.Row{
		Name: "create", Path: "/api/v1/sessions/create", Key: s.key, Body: fmt.Sprintf(`{"target_age":%d}`, age),
		Status: http.StatusCreated,
	})
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// read reads the requests on the wallet's page.
func (p *shopper) read() {
	p.t.Helper()
	_, page := p.send(http.MethodGet, p.created.VerificationURL+"/wallet", nil)
	links, codes := walletLinks.FindAllStringSubmatch(page, -1), walletCodes.FindAllStringSubmatch(page, -1)
	requests := walletRequests.FindStringSubmatch(page)
	if len(links) == 0 || len(links) != len(codes) || requests == nil {
		p.t.Fatalf("the wallet's page has %d links and %d codes: %.300s", len(links), len(codes), page)
	}
	for n, link := range links {
		p.links[link[2]], p.codes[link[2]] = html.UnescapeString(link[1]), html.UnescapeString(codes[n][1])
	}
	p.requests = json.RawMessage(html.UnescapeString(requests[1]))
}

// send makes a request in the shopper's browser and returns the answer's status
// and body, or where it redirects to.
func (p *shopper) send(method, address string, form url.Values) (int, string) {
	p.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	return p.do(method, address, "application/x-www-form-urlencoded", body)
}

func (p *shopper) do(method, address, contentType string, body io.Reader) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.g.URL+strings.TrimPrefix(address, verifyURL), body)
	if err != nil {
		p.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Origin", verifyURL)
	}
	res, answer := p.ask(p.browser, req)
	if to := res.Header.Get("Location"); to != "" {
		return res.StatusCode, to
	}
	return res.StatusCode, answer
}

// ask sends a request and reads the answer.
func (p *shopper) ask(browser *http.Client, req *http.Request) (*http.Response, string) {
	p.t.Helper()
	res, err := browser.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res, string(body)
}

// present hands the answer of the Digital Credentials API to the page's server.
func (p *shopper) present(answer json.RawMessage) (int, string) {
	p.t.Helper()
	return p.do(http.MethodPost, p.created.VerificationURL+"/wallet/browser", "application/json",
		strings.NewReader(string(answer)))
}

// returns opens the wallet's page again, as the shopper's own browser does when
// the page reports an answer, and returns the status that the merchant then sees.
func (p *shopper) returns() string {
	p.t.Helper()
	p.send(http.MethodGet, p.created.VerificationURL+"/wallet", nil)
	return p.status()
}

// status is the session's status in the merchant's look-up.
func (p *shopper) status() string { return p.g.StatusOf(p.t, p.key, p.created) }

// secretKey is the gateway's secret key in tests that give it a verifier's key.
var secretKey = bytes.Repeat([]byte{7}, credential.SecretLen)

// start starts a gateway whose secret key is secretKey.
func start(t *testing.T, settings ...string) *gatewaytest.Gateway {
	t.Helper()
	return gatewaytest.Start(t, gatewaytest.SQLite(t), append(settings,
		"AGEGATE_VERIFY_URL="+verifyURL, "AGEGATE_TEST_DAILY_CAP=-1", "AGEGATE_SECRET_KEY="+
			base64.StdEncoding.EncodeToString(secretKey))...)
}

// register gives the gateway a verifier's key whose certificate the operator's
// root signed, and returns the root's certificate as wallets get it.
func register(t *testing.T, g *gatewaytest.Gateway, byHost bool) (root string) {
	t.Helper()
	sealer, err := credential.NewSealer(secretKey, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := document.NewVerifiers(g.App.Store, sealer, g.Clock.Now)
	_, text, err := keys.NewRegistrar(t.Context(), audit.System("test"), "Operator", verifyHost)
	if err != nil {
		t.Fatal(err)
	}
	_, err = keys.Sign(t.Context(), audit.System("test"), document.NewVerifier{
		Name: "Shop", Host: verifyHost, ByHost: byHost, Curve: "p256", Display: &wallet.Display{Name: "Shop"},
	})
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	return base64.StdEncoding.EncodeToString(block.Bytes)
}
