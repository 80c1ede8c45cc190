package attack_test

import (
	"bytes"
	"encoding/pem"
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
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/proof/attack"
)

// walletShop is a gateway with a shop that trusts an issuer.
type walletShop struct {
	*testing.T
	*gatewaytest.Gateway
	key    string
	issuer *wallet.SampleIssuer
}

// asked is a session that waits for a wallet, with the request to it.
type asked struct {
	gatewaytest.Created
	shopper *http.Client
	request string // as in the code on the page
}

func (s walletShop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// send makes a request and returns status and body.
func (s walletShop) send(browser *http.Client, method, address string, form url.Values) (status int, body string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.Path(address), strings.NewReader(form.Encode()))
	s.must(err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := browser.Do(req)
	s.must(err)
	defer func() { _ = res.Body.Close() }() // read to its end
	text, err := io.ReadAll(res.Body)
	s.must(err)
	return res.StatusCode, string(text)
}

var requestLink = regexp.MustCompile(`href="(openid4vp://[^"]+)"`)

// ask opens the document check of a new session and chooses the wallet.
func (s walletShop) ask() asked {
	s.Helper()
	a := asked{Created: s.Create(s.T, s.key, 18), shopper: gatewaytest.Browser()}
	s.send(a.shopper, http.MethodGet, a.VerificationURL, nil)
	s.send(a.shopper, http.MethodPost, a.VerificationURL+"/start", nil)
	if s.stored(a).BrowserHash == nil {
		s.Fatal("the session belongs to no browser")
	}
	_, err := s.App.Sessions.Resolve(s.Context(), s.stored(a),
		session.CheckResult{Result: session.ResultFallback, Source: session.SourceCamera})
	s.must(err)
	s.send(a.shopper, http.MethodPost, a.VerificationURL+"/document", url.Values{"choice": {"wallet"}})
	_, page := s.send(a.shopper, http.MethodGet, a.VerificationURL+"/wallet", nil)
	found := requestLink.FindStringSubmatch(page)
	if found == nil {
		s.Fatal("the page has no request to a wallet")
	}
	a.request = html.UnescapeString(found[1])
	return a
}

func (s walletShop) stored(a asked) session.Session {
	s.Helper()
	_, token, _ := strings.Cut(a.VerificationURL, "/v/")
	sess, err := s.App.Sessions.ByLink(s.Context(), token)
	s.must(err)
	return sess
}

// answer returns the answer of an adult's wallet to a request.
func (s walletShop) answer(a asked) (to string, form url.Values) {
	s.Helper()
	to, form, err := s.issuer.AnswerLink(a.request, wallet.SampleDocument{Age: 40}, s.Clock.Now())
	s.must(err)
	return to, form
}

// TestWalletRange plays each attack on the check by wallet several times against
// a gateway.
func TestWalletRange(t *testing.T) {
	const n = 30
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	keys := g.Shop(t, "", func(shop *tenant.Tenant) { shop.DocumentCheck = true })
	issuer, err := wallet.NewSampleIssuer(bytes.Repeat([]byte{1}, 32))
	s := walletShop{t, g, keys.Test.APIKey, issuer}
	s.must(err)
	for _, entry := range issuer.Trusted() {
		_, err := document.NewTrust(g.App.Store, g.Clock.Now).Add(t.Context(), audit.System("test"), document.NewIssuer{
			Name: "Utopia", Country: "UT", DocType: entry.DocType, SignerUsage: document.AnySignerUsage,
			PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: entry.Certificate.Raw}),
		})
		s.must(err)
	}
	finish := func(browser *http.Client, a asked) { s.send(browser, http.MethodGet, a.VerificationURL+"/wallet", nil) }
	for _, kind := range []struct {
		name           string
		beyond, passes bool
		play           func(mine asked)
	}{
		{"person with a wallet", false, true, func(mine asked) {
			to, form := s.answer(mine)
			s.send(gatewaytest.Browser(), http.MethodPost, to, form)
			finish(mine.shopper, mine)
		}},
		{"another session's presentation", false, false, func(mine asked) {
			_, stolen := s.answer(s.ask())
			to, _ := s.answer(mine)
			s.send(gatewaytest.Browser(), http.MethodPost, to, stolen)
			finish(mine.shopper, mine)
		}},
		{"relayed code, finished in the browser that answered it", false, false, func(mine asked) {
			to, form := s.answer(mine)
			adult := gatewaytest.Browser()
			s.send(adult, http.MethodPost, to, form)
			finish(adult, mine)
		}},
		{"relayed code, answered by an adult elsewhere, finished in the own browser", true, true, func(mine asked) {
			to, form := s.answer(mine)
			s.send(gatewaytest.Browser(), http.MethodPost, to, form)
			finish(mine.shopper, mine)
		}},
	} {
		row := attack.Row{Species: kind.name, BonaFide: kind.passes && !kind.beyond, Beyond: kind.beyond}
		for range n {
			mine := s.ask()
			kind.play(mine)
			row.N++
			if s.stored(mine).Status == session.StatusPassed {
				row.Accepted++
			}
		}
		low, high := row.Interval()
		t.Logf("%s: %d of %d passed, error rate %.1f %% (%.1f to %.1f %%)", row.Species, row.Accepted, row.N, 100*row.Rate(),
			100*low, 100*high)
		if want := map[bool]int{true: n}[kind.passes]; row.Accepted != want {
			t.Errorf("%s: %d of %d passed, want %d", row.Species, row.Accepted, n, want)
		}
	}
}
