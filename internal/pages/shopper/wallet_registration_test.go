package shopper

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
)

// merchant and operator are organizationIdentifiers.
const merchant, operator = "VATDE-111111111", "VATDE-222222222"

// registrar signs registration certificates.
type registrar struct {
	key   *ecdsa.PrivateKey
	chain []string // in base64
}

func newRegistrar(t *testing.T) registrar {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Registrar"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	return registrar{key, []string{base64.StdEncoding.EncodeToString(der)}}
}

// sign returns a registration certificate with the given headers, which replace the
// usual ones.
func (r registrar) sign(t *testing.T, claims any, headers map[jose.HeaderKey]any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType("rc-wrp+jwt").WithHeader("x5c", r.chain)
	for name, value := range headers {
		options.WithHeader(name, value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: r.key}, options)
	must(t, err)
	payload, ok := claims.(string)
	if !ok {
		encoded, err := json.Marshal(claims)
		must(t, err)
		payload = string(encoded)
	}
	signed, err := signer.Sign([]byte(payload))
	must(t, err)
	text, err := signed.CompactSerialize()
	must(t, err)
	return text
}

// accessed makes a verifier's key whose certificate names an organization.
func (f *fixture) accessed(v *document.Verifiers, owner *uuid.UUID, organization string) {
	f.t.Helper()
	key, request, err := v.Request(f.t.Context(), audit.System("test"),
		document.NewVerifier{TenantID: owner, Name: "Shop", Host: "verify.example.com", Curve: "p256"})
	must(f.t, err)
	block, _ := pem.Decode(request)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	must(f.t, err)
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(f.t, err)
	subject := pkix.Name{CommonName: "Shop", ExtraNames: []pkix.AttributeTypeAndValue{
		{Type: asn1.ObjectIdentifier{2, 5, 4, 97}, Value: organization}}}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: subject, NotBefore: f.clock().Add(-time.Hour),
		NotAfter: f.clock().AddDate(0, 1, 0)}
	der, err := x509.CreateCertificate(rand.Reader, leaf, &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}},
		csr.PublicKey, authority)
	must(f.t, err)
	_, err = v.Import(f.t.Context(), audit.System("test"), key.ID,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	must(f.t, err)
}

// attested returns what a session's signed requests say about the verifier, by link
// and in the browser.
func (f *fixture) attested() (byLink, inBrowser string) {
	f.t.Helper()
	link, shopper := f.asked(true)
	found := f.links(shopper, link)
	if strings.Contains(found[wallet.SchemeProofOfAge], "verifier_info") {
		f.t.Error("the EU's app is sent a registration certificate")
	}
	_, object := f.fetch(found[wallet.SchemeOpenID], "")
	sess := f.stored(link)
	request, err := f.pages.cfg.Wallets.RequestOf(f.t.Context(), sess)
	must(f.t, err)
	exchange, err := f.pages.cfg.Wallets.Exchange(f.t.Context(), sess, request)
	must(f.t, err)
	offered, err := exchange.BrowserRequests(18, f.server.URL, f.clock())
	must(f.t, err)
	for _, r := range offered {
		encoded, err := json.Marshal(r.Data)
		must(f.t, err)
		var data struct{ Request string }
		must(f.t, json.Unmarshal(encoded, &data))
		if r.Protocol == wallet.ProtocolSigned {
			inBrowser = verifierInfo(f.t, data.Request)
		} else if strings.Contains(string(encoded), "verifier_info") {
			f.t.Errorf("an unsigned request carries a registration certificate: %s", r.Protocol)
		}
	}
	return verifierInfo(f.t, object), inBrowser
}

// verifierInfo returns a signed request's verifier_info.
func verifierInfo(t testing.TB, object string) string {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(object, ".")[1])
	must(t, err)
	var claims struct {
		Info json.RawMessage `json:"verifier_info"`
	}
	must(t, json.Unmarshal(payload, &claims))
	return string(claims.Info)
}

// A signed request carries the registration certificate of its tenant, or else that
// of the instance, while it has not ended and names who signs.
func TestRegistrationCertificates(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	f.trust(testIssuer(t, 1))
	v, actor := document.NewVerifiers(f.db, f.sealer, f.clock), audit.System("test")
	r, end := newRegistrar(t), f.clock().Add(72*time.Hour)
	own := r.sign(t, map[string]any{"sub": operator, "exp": end.Unix(), "iat": f.clock().Unix()}, nil)
	mediated := r.sign(t, map[string]any{"sub": merchant, "intermediary": map[string]any{"sub": operator},
		"exp": end.Add(time.Hour).Unix()}, nil)
	direct := r.sign(t, map[string]any{"sub": merchant}, map[jose.HeaderKey]any{"b64": true, "crit": []string{"b64"}})
	expect := func(when, text string) {
		t.Helper()
		want := ""
		if text != "" {
			want = `[{"format":"registration_cert","data":"` + text + `"}]`
		}
		if link, browser := f.attested(); link != want || browser != want {
			t.Errorf("%s: by link %.80q, in the browser %.80q", when, link, browser)
		}
	}
	if _, err := v.Register(t.Context(), actor, nil, []byte(own)); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("without a key: %v", err)
	}
	f.accessed(v, nil, operator)
	expect("no registration certificate", "")
	_, err := v.Register(t.Context(), actor, nil, []byte(own+"\n"))
	must(t, err)
	expect("the operator's own", own)
	_, err = v.Register(t.Context(), actor, &f.tenant.ID, []byte(mediated))
	must(t, err)
	expect("the tenant's, whose intermediary the operator is", mediated)
	f.accessed(v, &f.tenant.ID, merchant)
	expect("signed by the tenant's own key", mediated)
	_, err = v.Register(t.Context(), actor, &f.tenant.ID, []byte(direct))
	must(t, err)
	expect("the tenant's own, without an end", direct)
	f.advance(73 * time.Hour)
	expect("long after", direct)
	f.accessed(v, &f.tenant.ID, "VATDE-333333333")
	expect("signed by a key of another name", "")
	d, err := document.DependenciesOf(t.Context(), f.db, f.clock())
	if err != nil || len(d.Unsent) != 1 || d.Unsent[0].Owner() != f.tenant.ID.String() {
		t.Errorf("not sent: %+v, %v", d.Unsent, err)
	}
	registrations, err := v.Registrations(t.Context())
	must(t, err)
	for _, r := range registrations {
		must(t, v.Unregister(t.Context(), actor, r.ID))
	}
	expect("removed", "")
}

// An ended registration certificate is not sent, and the instance's does not take
// the place of the tenant's.
func TestAnEndedRegistrationCertificateIsNotSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	f.trust(testIssuer(t, 1))
	v, r := document.NewVerifiers(f.db, f.sealer, f.clock), newRegistrar(t)
	f.accessed(v, nil, operator)
	for owner, text := range map[*uuid.UUID]string{
		nil: r.sign(t, map[string]any{"sub": operator}, nil),
		&f.tenant.ID: r.sign(t, map[string]any{"sub": merchant, "intermediary": map[string]any{"sub": operator},
			"exp": f.clock().Add(time.Hour).Unix()}, nil),
	} {
		_, err := v.Register(t.Context(), audit.System("test"), owner, []byte(text))
		must(t, err)
	}
	f.advance(time.Hour - time.Second)
	if link, browser := f.attested(); link == "" || browser == "" {
		t.Error("it is not sent a second before its end")
	}
	f.advance(time.Second)
	if link, browser := f.attested(); link != "" || browser != "" {
		t.Error("it is sent at its end")
	}
}

func TestRefusedRegistrationCertificates(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	v, r, other := document.NewVerifiers(f.db, f.sealer, f.clock), newRegistrar(t), newRegistrar(t)
	f.accessed(v, nil, operator)
	now := f.clock()
	good := map[string]any{"sub": operator, "canary": "canary"}
	with := func(name string, value any) map[string]any {
		return map[string]any{"sub": operator, "canary": "canary", name: value}
	}
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"rc-wrp+jwt","alg":"none","x5c":["`+r.chain[0]+
		`"]}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"`+operator+`"}`)) + "."
	signed := r.sign(t, good, nil)
	for name, text := range map[string]string{
		"nothing":                        "",
		"no JWT":                         "canary",
		"a JSON text":                    `{"canary":true}`,
		"too long":                       r.sign(t, with("x", strings.Repeat("canary", 6000)), nil),
		"another type":                   r.sign(t, good, map[jose.HeaderKey]any{"typ": "JWT"}),
		"no algorithm":                   unsigned,
		"no certificate":                 registrar{r.key, nil}.sign(t, good, nil),
		"no certificate in x5c":          registrar{r.key, []string{"canary"}}.sign(t, good, nil),
		"five certificates":              registrar{r.key, append(r.chain, "1", "2", "3", "4")}.sign(t, good, nil),
		"another's certificate":          registrar{r.key, other.chain}.sign(t, good, nil),
		"a changed signature":            signed[:len(signed)-8] + "AAAAAAAA",
		"changed claims":                 strings.Replace(signed, ".", ".eyJ9", 1),
		"an unknown critical header":     r.sign(t, good, map[jose.HeaderKey]any{"crit": []string{"canary"}, "canary": 1}),
		"an unencoded payload":           r.sign(t, good, map[jose.HeaderKey]any{"b64": false, "crit": []string{"b64"}}),
		"claims that are no JSON":        r.sign(t, "canary", nil),
		"a claim twice":                  r.sign(t, `{"sub":"`+operator+`","sub":"`+operator+`"}`, nil),
		"another relying party":          r.sign(t, with("sub", "VATDE-9"), nil),
		"an empty name":                  r.sign(t, with("sub", ""), nil),
		"a name of another kind":         r.sign(t, with("sub", []string{operator}), nil),
		"another intermediary":           r.sign(t, map[string]any{"sub": merchant, "intermediary": "canary"}, nil),
		"ended":                          r.sign(t, with("exp", now.Unix()), nil),
		"an end of another kind":         r.sign(t, with("exp", "canary"), nil),
		"no end that can be":             r.sign(t, `{"sub":"`+operator+`","exp":1e300}`, nil),
		"issued in the future":           r.sign(t, with("iat", now.Add(6*time.Minute).Unix()), nil),
		"issued at another kind of time": r.sign(t, with("iat", nil), nil),
	} {
		_, err := v.Register(t.Context(), audit.System("test"), nil, []byte(text))
		if fault.CodeOf(err) != fault.Invalid || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if stored, err := v.Registrations(t.Context()); err != nil || len(stored) > 0 {
		t.Errorf("stored: %v, %v", stored, err)
	}
	if _, err := v.Register(t.Context(), audit.System("test"), nil, []byte(signed)); err != nil {
		t.Errorf("a good one: %v", err)
	}
}
