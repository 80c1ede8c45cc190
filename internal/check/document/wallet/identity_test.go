package wallet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"agegate/internal/check/document/wallet/wallettest"
)

// newIdentity returns a verifier with a certificate issued by an authority made
// for the test.
func newIdentity(t testing.TB, curve elliptic.Curve) (Identity, *x509.Certificate) {
	t.Helper()
	rootKey, key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), must(ecdsa.GenerateKey(curve, rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root := must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, template, &rootKey.PublicKey,
		rootKey))))
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "verifier"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(time.Hour),
		DNSNames: []string{"age.example.com"}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	certificate := must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey,
		rootKey))))
	return Identity{Key: key, Chain: []*x509.Certificate{certificate}}, root
}

// The client identifier of OpenID4VP 1.0, 5.9.3, is derived from the certificate.
func TestClientID(t *testing.T) {
	identity, _ := newIdentity(t, elliptic.P256())
	hash := sha256.Sum256(identity.Chain[0].Raw)
	if got, want := identity.ClientID(), "x509_hash:"+encode64(hash[:]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	identity.DNS = "age.example.com"
	if got := identity.ClientID(); got != "x509_san_dns:age.example.com" {
		t.Error(got)
	}
}

func TestSignedRequests(t *testing.T) {
	issuer := newIssuer(t, 2)
	verifier := Verifier{Issuers: issuer.Trusted()}
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384()} {
		for _, dns := range []string{"", "age.example.com"} {
			identity, _ := newIdentity(t, curve)
			identity.DNS, identity.Metadata = dns, EncodeMetadata(Display{Name: "Shop"})
			e := newExchange(t, 1).Signed(identity)
			link := e.SignedLink(SchemeOpenID, origin+"/v/"+strings.Repeat("t", 43)+"/r")
			values := must(url.Parse(link)).Query()
			if len(link) > 200 || values.Get("client_id") != identity.ClientID() || values.Get("request_uri_method") != "post" {
				t.Errorf("%d bytes: %s", len(link), link)
			}
			object := must(e.RequestObject(18, responseURI, "the wallet's", now))
			r := must(wallettest.ReadObject(object, now))
			if r.WalletNonce != "the wallet's" || r.State == "" || r.ResponseURI != responseURI ||
				!strings.Contains(string(r.Metadata), `"gw_rp_metadata_bytes":"`+encode64(identity.Metadata)+`"`) {
				t.Errorf("%+v", r)
			}
			to, form, err := wallettest.AnswerObject(issuer, values.Get("client_id"), object, SampleDocument{Age: 18}, now)
			if err != nil || to != responseURI {
				t.Fatal(to, err)
			}
			for name, tt := range map[string]struct {
				e    Exchange
				want Reason
			}{
				"its own":                           {e, ""},
				"of the request that is not signed": {newExchange(t, 1), ReasonDevice},
				"of another verifier": {newExchange(t,
					1).Signed(func() Identity { i, _ := newIdentity(t, curve); return i }()), ReasonDevice},
			} {
				p, err := tt.e.OpenPost(SchemeOpenID, responseURI, form)
				if err == nil {
					err = verifier.Verify(bg, p, 18, now)
				}
				if ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
					t.Errorf("%s: %v, want %q", name, err, tt.want)
				}
			}
			if _, err := wallettest.ReadObject(object[:len(object)-4]+"AAAA", now); err == nil {
				t.Error("a changed signature holds")
			}
			if av := must(e.Link(SchemeProofOfAge, 18, responseURI)); strings.Contains(av, "x509") {
				t.Error("the EU's app gets an identity")
			}
		}
	}
}

// The browser answers each request that an identity signs.
func TestSignedRequestsInTheBrowser(t *testing.T) {
	issuer := newIssuer(t, 2)
	identity, root := newIdentity(t, elliptic.P384())
	e := newExchange(t, 1).Signed(identity)
	requests := must(e.BrowserRequests(18, origin, now))
	var protocols []string
	for _, r := range requests {
		protocols = append(protocols, r.Protocol)
		data := must(json.Marshal(r.Data))
		if r.Protocol == ProtocolMdoc {
			checkReader(t, data, root)
		}
		answer, err := wallettest.AnswerBrowser(issuer, r.Protocol, data, origin, SampleDocument{Age: 18}, now)
		if err != nil {
			t.Fatal(r.Protocol, err)
		}
		p, err := e.OpenBrowser(origin, r.Protocol, answer)
		if err == nil {
			err = Verifier{Issuers: issuer.Trusted()}.Verify(bg, p, 18, now)
		}
		if err != nil {
			t.Errorf("%s: %v", r.Protocol, err)
		}
		if _, err := wallettest.AnswerBrowser(issuer, r.Protocol, data, "https://phishing.example", SampleDocument{Age: 18},
			now); r.Protocol == ProtocolSigned && err == nil {
			t.Error("a request for another origin is answered")
		}
	}
	if want := "org-iso-mdoc org-iso-mdoc openid4vp-v1-signed openid4vp-v1-unsigned"; strings.Join(protocols,
		" ") != want {
		t.Errorf("%v", protocols)
	}
}

// checkReader checks reader authentication as a wallet does (ISO/IEC 18013-5,
// 9.1.4): both signatures hold for this session and for no other.
func checkReader(t *testing.T, data []byte, root *x509.Certificate) {
	t.Helper()
	var request mdocRequest
	var device deviceRequest
	if err := json.Unmarshal(data, &request); err != nil {
		t.Fatal(err)
	}
	if err := decoder.Unmarshal(must(decode64(request.DeviceRequest)), &device); err != nil || device.Version != "1.1" ||
		len(device.ReaderAll) != 1 {
		t.Fatal(device.Version, err)
	}
	for _, at := range []string{origin, "https://phishing.example"} {
		session := cbor.RawMessage(transcriptMdocAPI(request.EncryptionInfo, at))
		items := device.Requests[0].Items
		for name, tt := range map[string]struct {
			signed  []byte
			content []any
		}{
			"readerAuth":    {device.Requests[0].Reader, []any{"ReaderAuthentication", session, items}},
			"readerAuthAll": {device.ReaderAll[0], []any{"ReaderAuthenticationAll", session, []cbor.RawMessage{items}, nil}},
		} {
			message, err := parseSign1(tt.signed)
			if err != nil || message.Payload != nil {
				t.Fatal(name, err)
			}
			chain, err := certificates(message.Headers)
			if err != nil {
				t.Fatal(name, err)
			}
			if err := chain[0].CheckSignatureFrom(root); err != nil {
				t.Error(name, err)
			}
			message.Payload = embed(encode(tt.content))
			if err := verifySign1(message, chain[0].PublicKey, ReasonDevice); (err == nil) != (at == origin) {
				t.Errorf("%s on %s: %v", name, at, err)
			}
		}
	}
}

// Google's metadata in the form of Google's guide, and its hash in a certificate.
func TestMetadata(t *testing.T) {
	metadata := EncodeMetadata(Display{"Shop", "https://shop.example/logo.png", "https://shop.example/privacy"})
	var content cbor.RawMessage = must(embedded(metadata))
	const want = `{"display": {"logo_uri": "https://shop.example/logo.png", "display_name": "Shop", "privacy_policy_uri": "https://shop.example/privacy"}, "schema_version": "v1"}`
	if got := must(cbor.Diagnose(content)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	value := must(MetadataExtension(metadata))
	hash := sha256.Sum256(metadata)
	if len(value) != 34 || value[0] != 4 || value[1] != 32 || string(value[2:]) != string(hash[:]) {
		t.Errorf("%x", value)
	}
}
