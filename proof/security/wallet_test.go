package security

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"html"
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
	"agegate/proof/table"
)

// walletLink finds the links to wallets in the page.
var walletLink = regexp.MustCompile(`href="(openid4vp|av)(://[^"]+)"`)

// walletAnswer is an adult's document that does not answer the request as it was
// made: the wallet answered a changed request, or the posted form was changed.
type walletAnswer struct {
	name    string
	scheme  string
	request func(values url.Values)
	form    func(form url.Values)
}

// swapped changes the query of a request.
func swapped(old, replacement string) func(url.Values) {
	return func(values url.Values) {
		values.Set("dcql_query", strings.ReplaceAll(values.Get("dcql_query"), old, replacement))
	}
}

func set(name, value string) func(url.Values) {
	return func(values url.Values) { values.Set(name, value) }
}

// walletAnswers are answers that break the rules of OpenID4VP 1.0.
var walletAnswers = []walletAnswer{
	{name: "a member of vp_token that is no query", scheme: wallet.SchemeOpenID,
		request: swapped(`"id":"age"`, `"id":"other"`)},
	{name: "a member of vp_token that is no query, not encrypted", scheme: wallet.SchemeProofOfAge,
		request: swapped(`"id":"age"`, `"id":"other"`)},
	{name: "a proof of age under the licence's query", scheme: wallet.SchemeOpenID,
		request: swapped(`"id":"age"`, `"id":"licence"`)},
	{name: "a licence to av://", scheme: wallet.SchemeProofOfAge,
		request: swapped("eu.europa.ec.av.1", wallet.DocTypeMDL)},
	{name: "a licence to av:// under its own query", scheme: wallet.SchemeProofOfAge, request: func(values url.Values) {
		swapped("eu.europa.ec.av.1", wallet.DocTypeMDL)(values)
		swapped(`"id":"age"`, `"id":"licence"`)(values)
	}},
	{name: "not encrypted to direct_post.jwt", scheme: wallet.SchemeOpenID, request: set("response_mode", "direct_post")},
	{name: "another nonce", scheme: wallet.SchemeOpenID, request: set("nonce", strings.Repeat("A", 32))},
	{name: "another client", scheme: wallet.SchemeProofOfAge,
		request: set("client_id", "redirect_uri:https://other.example")},
	{name: "two tokens", scheme: wallet.SchemeProofOfAge,
		form: func(form url.Values) { form.Add("vp_token", form.Get("vp_token")) }},
	{name: "two presentations", scheme: wallet.SchemeProofOfAge, form: func(form url.Values) {
		var token map[string][]string
		if json.Unmarshal([]byte(form.Get("vp_token")), &token) == nil {
			token["age"] = append(token["age"], token["age"]...)
			again, _ := json.Marshal(token)
			form.Set("vp_token", string(again))
		}
	}},
	{name: "declined", scheme: wallet.SchemeOpenID, form: func(form url.Values) {
		clear(form)
		form.Set("error", "access_denied")
	}},
}

// Genuine documents of adults that are not presented as the request requires:
// none may pass or count as a document.
func TestWalletAnswersAgainstTheText(t *testing.T) {
	table.Beside(t)
	onEach(t, "Wallets' answers against the text of OpenID4VP", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		issuer := trustedIssuer(t, g)
		shop := g.Shop(t, "", func(shop *tenant.Tenant) { shop.DocumentCheck = true })
		var passed, counted []string
		for _, answer := range walletAnswers {
			after := playWallet(t, g, issuer, shop.Test.APIKey, answer)
			if after.Status != session.StatusPending {
				passed = append(passed, fmt.Sprintf("%s: %s", answer.name, after.Status))
			}
			if after.DocumentAttempts != 0 {
				counted = append(counted, answer.name)
			}
		}
		honest := playWallet(t, g, issuer, shop.Test.APIKey, walletAnswer{scheme: wallet.SchemeOpenID})
		if honest.Status != session.StatusPassed {
			t.Errorf("an answer as asked leads to %s", honest.Status)
		}
		r.Didf("%d answers, and one as asked", len(walletAnswers))
		r.None("sessions that ended", passed)
		r.None("answers that count as a document", counted)
	})
}

// trustedIssuer returns an issuer that the gateway trusts.
func trustedIssuer(t *testing.T, g *gatewaytest.Gateway) *wallet.SampleIssuer {
	t.Helper()
	issuer, err := wallet.NewSampleIssuer(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range issuer.Trusted() {
		_, err := document.NewTrust(g.App.Store, g.Clock.Now).Add(t.Context(), audit.System("test"), document.NewIssuer{
			Name: "Utopia", Country: "UT", DocType: entry.DocType, SignerUsage: document.AnySignerUsage,
			PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: entry.Certificate.Raw}),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return issuer
}

// presentation is a session that asked a wallet, and the answer that will be
// posted.
type presentation struct {
	shopper  *http.Client
	page, to string // addresses
	form     url.Values
}

// playWallet creates a session, asks a wallet, posts the answer and opens the
// session's page again. It returns the updated session.
func playWallet(
	t *testing.T, g *gatewaytest.Gateway, issuer *wallet.SampleIssuer, key string, a walletAnswer,
) session.Session {
	t.Helper()
	p := prepareWallet(t, g, issuer, key, a)
	p.post(t, g)
	return p.session(t, g)
}

// prepareWallet creates a session, asks a wallet and prepares the answer.
func prepareWallet(
	t *testing.T, g *gatewaytest.Gateway, issuer *wallet.SampleIssuer, key string, a walletAnswer,
) presentation {
	t.Helper()
	created := g.Create(t, key, 18)
	p := presentation{shopper: gatewaytest.Browser(), page: created.VerificationURL}
	walletSend(t, g, p.shopper, http.MethodGet, p.page, nil)
	walletSend(t, g, p.shopper, http.MethodPost, p.page+"/start", nil)
	_, err := g.App.Sessions.Resolve(t.Context(), p.stored(t, g),
		session.CheckResult{Result: session.ResultFallback, Source: session.SourceCamera})
	if err != nil {
		t.Fatal(err)
	}
	walletSend(t, g, p.shopper, http.MethodPost, p.page+"/document", url.Values{"choice": {"wallet"}})
	page := walletSend(t, g, p.shopper, http.MethodGet, p.page+"/wallet", nil)
	for _, m := range walletLink.FindAllStringSubmatch(page, -1) {
		if m[1] != a.scheme {
			continue
		}
		request := mustURL(t, html.UnescapeString(m[1]+m[2]))
		values := request.Query()
		if a.request != nil {
			a.request(values)
		}
		request.RawQuery = values.Encode()
		if p.to, p.form, err = issuer.AnswerLink(request.String(), wallet.SampleDocument{Age: 40},
			g.Clock.Now()); err != nil {
			t.Fatal(a.name, err)
		}
		if a.form != nil {
			a.form(p.form)
		}
		return p
	}
	t.Fatalf("the page has no %s link", a.scheme)
	return p
}

// post posts the answer like the wallet.
func (p presentation) post(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	walletSend(t, g, gatewaytest.Browser(), http.MethodPost, p.to, p.form)
}

// session opens the session's page and returns the updated session.
func (p presentation) session(t *testing.T, g *gatewaytest.Gateway) session.Session {
	t.Helper()
	walletSend(t, g, p.shopper, http.MethodGet, p.page+"/wallet", nil)
	return p.stored(t, g)
}

func (p presentation) stored(t *testing.T, g *gatewaytest.Gateway) session.Session {
	t.Helper()
	_, token, _ := strings.Cut(p.page, "/v/")
	sess, err := g.App.Sessions.ByLink(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return sess
}

// walletSend makes a request and returns the body of its answer.
func walletSend(
	t *testing.T, g *gatewaytest.Gateway, browser *http.Client, method, address string, form url.Values,
) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, g.Path(address), strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= http.StatusInternalServerError {
		t.Errorf("%s: %d", method, res.StatusCode)
	}
	return body.String()
}
