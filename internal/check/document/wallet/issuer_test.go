package wallet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// certify returns a certificate of template, signed by parent or by itself.
func certify(
	t testing.TB, template, parent *x509.Certificate, by *ecdsa.PrivateKey,
) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if template.SerialNumber = big.NewInt(5); template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(time.Hour)
	}
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func TestChainPolicy(t *testing.T) {
	authority := func(name string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign}
	}
	signer := func(change func(c *x509.Certificate)) *x509.Certificate {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: "signer"}, KeyUsage: x509.KeyUsageDigitalSignature,
			UnknownExtKeyUsage: []asn1.ObjectIdentifier{UsageMDL}}
		if change != nil {
			change(c)
		}
		return c
	}
	root, rootKey := certify(t, authority("root"), nil, nil)
	middle, middleKey := certify(t, authority("middle"), root, rootKey)
	other, otherKey := certify(t, authority("other"), nil, nil)
	plain, plainKey := certify(t, signer(nil), root, rootKey)
	made := func(change func(c *x509.Certificate)) *x509.Certificate {
		c, _ := certify(t, signer(change), root, rootKey)
		return c
	}
	below, _ := certify(t, signer(nil), middle, middleKey)
	strange, _ := certify(t, signer(nil), other, otherKey)
	byASigner, _ := certify(t, signer(nil), plain, plainKey)
	trusted := []Issuer{{DocType: DocTypeMDL, Certificate: root, SignerUsage: UsageMDL}}
	for _, tt := range []struct {
		name    string
		chain   []*x509.Certificate
		issuers []Issuer
		want    Reason
	}{
		{"by the authority", []*x509.Certificate{plain}, trusted, ""},
		{"with the authority in the chain", []*x509.Certificate{plain, root}, trusted, ""},
		{"by an intermediate", []*x509.Certificate{below, middle}, trusted, ""},
		{"intermediate missing", []*x509.Certificate{below}, trusted, ReasonIssuerUnknown},
		{"another authority", []*x509.Certificate{strange, other}, trusted, ReasonIssuerUnknown},
		{"signed by a signer", []*x509.Certificate{byASigner, plain}, trusted, ReasonIssuerUnknown},
		{"nobody is trusted", []*x509.Certificate{plain}, nil, ReasonIssuerUnknown},
		{"trusted for another kind of document", []*x509.Certificate{plain},
			[]Issuer{{DocType: DocTypeProofOfAge, Certificate: root}}, ReasonIssuerUnknown},
		{"the signer itself is trusted", []*x509.Certificate{strange},
			[]Issuer{{DocType: DocTypeMDL, Certificate: strange, SignerUsage: asn1.ObjectIdentifier{1, 2}}}, ""},
		{"no usage, none asked for", []*x509.Certificate{made(func(c *x509.Certificate) { c.UnknownExtKeyUsage = nil })},
			[]Issuer{{DocType: DocTypeMDL, Certificate: root}}, ""},
		{"no usage", []*x509.Certificate{made(func(c *x509.Certificate) { c.UnknownExtKeyUsage = nil })}, trusted,
			ReasonIssuerCertificate},
		{"another usage", []*x509.Certificate{made(func(c *x509.Certificate) { c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 3}} })}, trusted, ReasonIssuerCertificate},
		{"for encryption", []*x509.Certificate{made(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement })},
			trusted, ReasonIssuerCertificate},
		{"expired", []*x509.Certificate{made(func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = now.Add(-2*time.Hour),
				now.Add(-time.Hour)
		})}, trusted, ReasonIssuerExpired},
		{"unknown critical extension", []*x509.Certificate{made(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
		})}, trusted, ReasonIssuerCertificate},
	} {
		if err := verifyChain(tt.chain, DocTypeMDL, tt.issuers, now); ReasonOf(err) != tt.want ||
			(err == nil) != (tt.want == "") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A response that becomes far too large when it is decompressed is refused.
func TestCompressedResponseIsBounded(t *testing.T) {
	e := newExchange(t, 1)
	key, err := e.publicJWK()
	if err != nil {
		t.Fatal(err)
	}
	encrypter, err := jose.NewEncrypter(jose.A128GCM, jose.Recipient{Algorithm: jose.ECDH_ES, Key: key.Key},
		&jose.EncrypterOptions{Compression: jose.DEFLATE})
	if err != nil {
		t.Fatal(err)
	}
	message, err := encrypter.Encrypt(make([]byte, 50<<20))
	if err != nil {
		t.Fatal(err)
	}
	bomb, err := message.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	bounded(t, len(bomb), func() {
		if _, err := e.decrypt(bomb, bond{}); ReasonOf(err) == "" {
			t.Errorf("%v", err)
		}
	})
}

// TestNamesOfAChain: an issuer may write its authority's name in another encoding, case
// or spacing than the authority (RFC 5280, 7.1), but not another name.
func TestNamesOfAChain(t *testing.T) {
	authority := func(name asn1.RawValue) *x509.Certificate {
		der, err := asn1.Marshal(pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: name}}})
		if err != nil {
			t.Fatal(err)
		}
		return &x509.Certificate{RawSubject: der, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	}
	utf8, printable := asn1.TagUTF8String, asn1.TagPrintableString
	for name, row := range map[string]struct {
		own, named asn1.RawValue // the authority's name in its certificate, and as its issuer
		want       Reason
	}{
		"UTF8String and PrintableString": {asn1.RawValue{Tag: utf8, Bytes: []byte("Issuing CA")},
			asn1.RawValue{Tag: printable, Bytes: []byte("Issuing CA")}, ""},
		"PrintableString and UTF8String": {asn1.RawValue{Tag: printable, Bytes: []byte("Issuing CA")},
			asn1.RawValue{Tag: utf8, Bytes: []byte("Issuing CA")}, ""},
		"case and spaces": {asn1.RawValue{Tag: utf8, Bytes: []byte("Issuing  CA ")},
			asn1.RawValue{Tag: utf8, Bytes: []byte("ISSUING ca")}, ""},
		"another letter": {asn1.RawValue{Tag: utf8, Bytes: []byte("Issuing CA")},
			asn1.RawValue{Tag: utf8, Bytes: []byte("Issuing CB")}, ReasonIssuerUnknown},
	} {
		root, key := certify(t, authority(row.own), nil, nil)
		named := *root
		named.RawSubject = authority(row.named).RawSubject
		middle, middleKey := certify(t, authority(row.named), &named, key)
		renamed := *middle
		renamed.RawSubject = authority(row.own).RawSubject
		signer := &x509.Certificate{Subject: pkix.Name{CommonName: "signer"}, KeyUsage: x509.KeyUsageDigitalSignature}
		direct, _ := certify(t, signer, &named, key)
		below, _ := certify(t, signer, &renamed, middleKey)
		issuers := []Issuer{{DocType: DocTypeMDL, Certificate: root}}
		for _, chain := range [][]*x509.Certificate{{direct}, {below, middle}} {
			err := verifyChain(chain, DocTypeMDL, issuers, now)
			if ReasonOf(err) != row.want || (err == nil) != (row.want == "") {
				t.Errorf("%s, %d certificates: %v, want %q", name, len(chain), err, row.want)
			}
		}
	}
}
