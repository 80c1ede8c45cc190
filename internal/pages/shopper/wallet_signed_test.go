package shopper

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/check/document/wallet/wallettest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// registered returns a fixture whose instance has a key certified by the
// operator's own root, and a trusted issuer.
func registered(t *testing.T, byHost bool) (*fixture, *document.Verifiers, *wallet.SampleIssuer) {
	t.Helper()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	issuer := testIssuer(t, 1)
	f.trust(issuer)
	v := document.NewVerifiers(f.db, f.sealer, f.clock)
	_, _, err := v.NewRegistrar(t.Context(), audit.System("test"), "Operator", "verify.example.com")
	must(t, err)
	_, err = v.Sign(t.Context(), audit.System("test"), document.NewVerifier{
		Name: "Shop", Host: "verify.example.com", ByHost: byHost, Curve: "p256", Display: &wallet.Display{Name: "Shop"},
	})
	must(t, err)
	return f, v, issuer
}

// fetch fetches the signed request of a link, like a wallet.
func (f *fixture) fetch(link, nonce string) (clientID, object string) {
	f.t.Helper()
	values := mustParse(f.t, link).Query()
	a := f.postAs(values.Get("request_uri"), url.Values{"wallet_nonce": {nonce}})
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != wallet.RequestObjectType {
		f.t.Fatalf("%d %s", a.StatusCode, a.Header.Get("Content-Type"))
	}
	return values.Get("client_id"), a.body
}

func mustParse(t testing.TB, link string) *url.URL {
	t.Helper()
	u, err := url.Parse(link)
	must(t, err)
	return u
}

func TestSignedRequestsByLink(t *testing.T) {
	t.Parallel()
	for _, byHost := range []bool{false, true} {
		f, _, issuer := registered(t, byHost)
		link, shopper := f.asked(true)
		found := f.links(shopper, link)
		if strings.Contains(found[wallet.SchemeProofOfAge], "x509") {
			t.Error("the EU's app is sent an identity")
		}
		if _, same, _ := strings.Cut(found[wallet.SchemeHAIP], ":"); same == "" ||
			!strings.HasSuffix(found[wallet.SchemeOpenID], same) {
			t.Errorf("%q for wallets of the HAIP profile", found[wallet.SchemeHAIP])
		}
		elsewhere := f.code(link, wallet.SchemeOpenID)
		client, first := f.fetch(elsewhere, "one")
		_, again := f.fetch(elsewhere, "two")
		if first == again {
			t.Error("the nonce of the wallet is not sent back")
		}
		if a := f.browser().get(mustParse(t, elsewhere).Query().Get("request_uri")); a.StatusCode != http.StatusOK {
			t.Errorf("by GET: %d", a.StatusCode)
		}
		to, form, err := wallettest.AnswerObject(issuer, client, again, wallet.SampleDocument{Age: 18}, f.clock())
		must(t, err)
		if a := f.postAs(to, form); a.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
		shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-onward")
		f.expect(link, session.StatusPassed, session.WayWallet, 0)
		if a := f.postAs(mustParse(t, elsewhere).Query().Get("request_uri"), nil); a.StatusCode != http.StatusBadRequest {
			t.Errorf("of a session that has ended: %d", a.StatusCode)
		}
	}
}

// A wallet on the same device returns with a code. An answer proves nothing if
// the return does not come, or comes in another browser or with another code.
func TestTheReturnOnTheSameDevice(t *testing.T) {
	t.Parallel()
	f, _, issuer := registered(t, false)
	link, shopper := f.asked(true)
	answer := func(age int) string {
		t.Helper()
		client, object := f.fetch(f.links(shopper, link)[wallet.SchemeOpenID], "")
		to, form, err := wallettest.AnswerObject(issuer, client, object, wallet.SampleDocument{Age: age}, f.clock())
		must(t, err)
		var back struct {
			URI string `json:"redirect_uri"`
		}
		a := f.postAs(to, form)
		must(t, json.Unmarshal([]byte(a.body), &back))
		return back.URI
	}
	back := answer(30)
	if code := mustParse(t, back).Query().Get("response_code"); len(code) != 32 {
		t.Fatalf("the code is %q", code)
	}
	shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-wallet")
	shopper.get(link+"/wallet?response_code="+strings.Repeat("0", 32)).shows(t, http.StatusOK, "screen-wallet")
	f.browser().get(back)
	other, stranger := f.asked(true)
	stranger.get(strings.Replace(back, link, other, 1))
	f.expect(other, session.StatusPending, "", 0)
	f.expect(link, session.StatusPending, "", 0)
	f.ask(shopper, link) // asking again makes the earlier code invalid
	shopper.get(back).shows(t, http.StatusOK, "screen-wallet")
	f.expect(link, session.StatusPending, "", 0)
	back = answer(17)
	shopper.get(link + "/wallet") // a refusal needs no code
	f.expect(link, session.StatusPending, session.WayWallet, 1)
	f.ask(shopper, link)
	shopper.get(answer(30)).shows(t, http.StatusOK, "screen-onward")
	f.expect(link, session.StatusPassed, session.WayWallet, 1)
	_ = back
}

// Requests stay unsigned if there is no key, if it waits for its certificate,
// belongs to another tenant, or has expired.
func TestRequestsStayUnsigned(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	f.trust(testIssuer(t, 1))
	v := document.NewVerifiers(f.db, f.sealer, f.clock)
	signed := func() bool {
		t.Helper()
		link, shopper := f.asked(true)
		return strings.Contains(f.links(shopper, link)[wallet.SchemeOpenID], "x509_hash")
	}
	n := document.NewVerifier{Name: "Shop", Host: "verify.example.com", Curve: "p384"}
	if signed() {
		t.Error("without a key")
	}
	key, request, err := v.Request(t.Context(), audit.System("test"), n)
	must(t, err)
	if signed() {
		t.Error("without a certificate")
	}
	if _, _, err := v.Rotate(t.Context(), audit.System("test"), nil); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("rotating what is not there: %v", err)
	}
	for name, text := range map[string][]byte{
		"another key's": certify(t, f.clock(), nil, 0), "nothing": []byte("x"),
		"expired":                  certify(t, f.clock().Add(-time.Hour*48), request, 0),
		"for signing certificates": certify(t, f.clock(), request, x509.KeyUsageCertSign),
	} {
		if _, err := v.Import(t.Context(), audit.System("test"), key.ID, text); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = v.Import(t.Context(), audit.System("test"), key.ID,
		certify(t, f.clock(), request, x509.KeyUsageDigitalSignature))
	must(t, err)
	if !signed() {
		t.Error("with a certificate it is not signed")
	}
	next, request, err := v.Rotate(t.Context(), audit.System("test"), nil)
	must(t, err)
	_, err = v.Import(t.Context(), audit.System("test"), next.ID, certify(t, f.clock(), request, 0))
	must(t, err)
	if keys, err := v.List(t.Context()); err != nil || len(keys) != 1 || keys[0].ID != next.ID || !signed() {
		t.Errorf("after the rotation: %+v, %v", keys, err)
	}
	f.advance(25 * time.Hour)
	if signed() {
		t.Error("with an expired certificate")
	}
}

// certify issues a certificate that is valid for a day, for a request or for a
// new key.
func certify(t *testing.T, now time.Time, request []byte, usage x509.KeyUsage) []byte {
	t.Helper()
	root, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	var public any = &root.PublicKey
	if request != nil {
		block, _ := pem.Decode(request)
		csr, err := x509.ParseCertificateRequest(block.Bytes)
		must(t, err)
		must(t, csr.CheckSignature())
		public = csr.PublicKey
	}
	issuer := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "Shop"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(24 * time.Hour), KeyUsage: usage,
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, issuer, public, root)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
