package gatewaytest

import (
	"crypto/x509"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/check/document"
	"agegate/internal/rules/audit"

	"github.com/go-jose/go-jose/v4"
)

// register gives the gateway a key that signs requests to wallets.
func (r *keyRotation) register(t *testing.T, g *Gateway) {
	t.Helper()
	keys := document.NewVerifiers(g.App.Store, r.sealer(t, r.old), g.Clock.Now)
	_, root, err := keys.NewRegistrar(t.Context(), audit.System("test"), "Operator", verifyHost)
	if err != nil {
		t.Fatal(err)
	}
	r.registrar = x509.NewCertPool()
	r.registrar.AppendCertsFromPEM(root)
	if _, err := keys.Sign(t.Context(), audit.System("test"),
		document.NewVerifier{Name: "Shop", Host: verifyHost, Curve: "p256"}); err != nil {
		t.Fatal(err)
	}
}

// verifyHost is the host of the hosted page, as Start sets it.
const verifyHost = "verify.gateway.example"

var requestURI = regexp.MustCompile(`request_uri=http://[^/]+([^&"]+)`)

// asks checks that the request to a wallet is signed with the verifier's key.
func (r *keyRotation) asks(t *testing.T, g *Gateway) {
	t.Helper()
	s, browser := g.Create(t, r.shop.Test.APIKey, 18), Browser()
	g.Force(t, browser, s, "fallback")
	page := g.Path(s.VerificationURL)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page+"/document",
		strings.NewReader("choice=wallet"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "http://"+verifyHost)
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	read(t, res)
	if res, err = browser.Get(page + "/wallet"); err != nil {
		t.Fatal(err)
	}
	link := requestURI.FindStringSubmatch(read(t, res))
	if link == nil {
		t.Fatal("the wallet's page has no signed request")
	}
	if res, err = http.Get(g.URL + link[1]); err != nil {
		t.Fatal(err)
	}
	body := read(t, res)
	signed, err := jose.ParseSignedCompact(body, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatalf("the request is answered %d %.80s: %v", res.StatusCode, body, err)
	}
	chain, err := signed.Signatures[0].Protected.Certificates(x509.VerifyOptions{Roots: r.registrar,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signed.Verify(chain[0][0].PublicKey); err != nil {
		t.Errorf("the request does not verify: %v", err)
	}
}
