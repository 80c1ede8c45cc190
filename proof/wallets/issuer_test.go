package wallets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"

	"github.com/go-jose/go-jose/v4"
)

// authority is an authority that certifies document signers, and one such
// signer.
type authority struct {
	root   *x509.Certificate
	key    *ecdsa.PrivateKey // of the root
	signer *x509.Certificate
	own    *ecdsa.PrivateKey // of the signer
}

// newAuthority makes an authority whose documents no gateway trusts yet.
func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t, elliptic.P256()), own: newKey(t, elliptic.P256())}
	a.root = certify(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "Utopia", Country: []string{"UT"}}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}, nil, &a.key.PublicKey, a.key)
	a.signer = a.sign(t, &a.own.PublicKey, nil)
	return a
}

// sign certifies a document signer, whose certificate edit may change before.
func (a *authority) sign(t testing.TB, key any, edit func(*x509.Certificate)) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		Subject:            pkix.Name{CommonName: "Utopia document signer", Country: []string{"UT"}},
		KeyUsage:           x509.KeyUsageDigitalSignature,
		UnknownExtKeyUsage: []asn1.ObjectIdentifier{wallet.UsageMDL},
	}
	if edit != nil {
		edit(template)
	}
	return certify(t, template, a.root, key, a.key)
}

// certify signs a certificate that is valid for a day around now unless the
// template says otherwise; without a parent it is self-signed.
func certify(t testing.TB, template, parent *x509.Certificate, key any, by *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-24 * time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(24 * time.Hour)
	}
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, by)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// trust makes the gateway trust the authority for the given kinds of documents,
// with the usage that each kind requires of signers by default.
func (a *authority) trust(t testing.TB, g *gatewaytest.Gateway, docTypes ...string) {
	t.Helper()
	for _, docType := range docTypes {
		_, err := document.NewTrust(g.App.Store, g.Clock.Now).Add(t.Context(), audit.System("test"), document.NewIssuer{
			Name: "Utopia", DocType: docType, PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root.Raw}),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// order returns what the npm wallet needs to issue a document of a kind.
func (a *authority) order(t testing.TB, name, docType string, age int) map[string]any {
	t.Helper()
	return map[string]any{
		"name": name, "docType": docType, "namespace": namespaces[docType], "age": age,
		"signer": base64.StdEncoding.EncodeToString(a.signer.Raw), "key": jose.JSONWebKey{Key: a.own},
	}
}

// namespaces holds where each kind of document has its statements of age (ISO/IEC
// 18013-5, ISO/IEC TS 23220-4, the EU's profile, Google's guide).
var namespaces = map[string]string{
	wallet.DocTypeMDL:        "org.iso.18013.5.1",
	wallet.DocTypeProofOfAge: "eu.europa.ec.av.1",
	wallet.DocTypePhotoID:    "org.iso.23220.1",
	wallet.DocTypeIDCard:     "org.iso.18013.5.1",
}
