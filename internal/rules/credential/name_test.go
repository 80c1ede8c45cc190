package credential

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
)

// nameOf returns a distinguished name whose values are strings of the ASN.1 types.
func nameOf(t *testing.T, values ...asn1.RawValue) []byte {
	t.Helper()
	var levels pkix.RDNSequence
	for i, value := range values {
		attribute := pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3 + i}, Value: value}
		levels = append(levels, pkix.RelativeDistinguishedNameSET{attribute})
	}
	der, err := asn1.Marshal(levels)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func utf8String(text string) asn1.RawValue {
	return asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(text)}
}

func printable(text string) asn1.RawValue {
	return asn1.RawValue{Tag: asn1.TagPrintableString, Bytes: []byte(text)}
}

func TestSameName(t *testing.T) {
	for _, row := range []struct {
		name string
		a, b []byte
		want bool
	}{
		{"other encoding", nameOf(t, utf8String("Issuing CA")), nameOf(t, printable("Issuing CA")), true},
		{"other case", nameOf(t, utf8String("Issuing CA")), nameOf(t, utf8String("ISSUING ca")), true},
		{"more spaces", nameOf(t, utf8String(" Issuing  CA")), nameOf(t, printable("Issuing CA ")), true},
		{"umlauts in other case", nameOf(t, utf8String("Bürgeramt")), nameOf(t, utf8String("BÜRGERAMT")), true},
		{"another letter", nameOf(t, utf8String("Issuing CA")), nameOf(t, utf8String("Issuing CB")), false},
		{"no space", nameOf(t, utf8String("Issuing CA")), nameOf(t, utf8String("IssuingCA")), false},
		{"two levels", nameOf(t, utf8String("a"), utf8String("b")), nameOf(t, utf8String("a")), false},
		{"levels joined", nameOf(t, utf8String("a"), utf8String("b")), nameOf(t, utf8String("a\" \"2.5.4.4=b")), false},
		{"another type of text", nameOf(t, utf8String("a")),
			nameOf(t, asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte("a")}), false},
		{"no names", []byte("x"), []byte("x"), true},
		{"no name and a name", []byte("x"), nameOf(t), false},
	} {
		if got := SameName(row.a, row.b); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}

// TestComparable: package x509 builds a chain over certificates that write one name in
// two ways, and still none over another signature.
func TestComparable(t *testing.T) {
	key, stranger := newKey(t), newKey(t)
	root := certify(t, nameOf(t, utf8String("Issuing  CA")), nil, key, key)
	parent := *root
	parent.RawSubject = nameOf(t, printable("issuing ca"))
	leaf := certify(t, nameOf(t, utf8String("leaf")), &parent, newKey(t), key)
	forged := certify(t, nameOf(t, utf8String("leaf")), &parent, newKey(t), stranger)
	verify := func(leaf, root *x509.Certificate) error {
		roots := x509.NewCertPool()
		roots.AddCert(root)
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		return err
	}
	if verify(leaf, root) == nil {
		t.Error("the names have the same bytes")
	}
	if err := verify(Comparable(leaf), Comparable(root)); err != nil {
		t.Error(err)
	}
	if verify(Comparable(forged), Comparable(root)) == nil {
		t.Error("a forged signature verifies")
	}
	if !Comparable(leaf).Equal(leaf) {
		t.Error("another certificate")
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// certify returns a certificate of an authority, or of a leaf if it has a parent.
func certify(t *testing.T, name []byte, parent *x509.Certificate, key, by *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), RawSubject: name, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: parent == nil, BasicConstraintsValid: true}
	if parent == nil {
		parent = template
	} else {
		signing := *parent // of which x509 only reads names, and compares the key
		signing.PublicKey = &by.PublicKey
		parent = &signing
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
