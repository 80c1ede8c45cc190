// Package wallettest makes answers to wallet requests, for tests: those of a sample
// wallet, and some that would use much processor time in a verifier that checks too late.
package wallettest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// HugeBits is a size of an RSA key whose certificates fit into an answer. One
// check of a signature by such a key takes seconds.
const HugeBits = 176_000

// HugeKey returns an RSA key of the given size, whose factors nobody knows.
func HugeKey(bits uint) *rsa.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), bits)
	return &rsa.PublicKey{N: n.Sub(n, big.NewInt(1)), E: 1<<31 - 1}
}

// Chain returns a document signer's certificate, and that of an authority with
// the given key. The signer's certificate names the authority as its issuer, but
// the authority did not sign it.
func Chain(t testing.TB, key *rsa.PublicKey) [][]byte {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
			NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
		}
	}
	middle := template("middle")
	authority, err := x509.CreateCertificate(rand.Reader, middle, template("root"), key, own)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := x509.CreateCertificate(rand.Reader, template("signer"), middle, &own.PublicKey, own)
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{resigned(t, signer, key.Size()), authority}
}

// resigned replaces a certificate's signature by an invalid RSA signature with
// SHA-256 of the given size in bytes.
func resigned(t testing.TB, der []byte, size int) []byte {
	t.Helper()
	algorithm := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11},
		Parameters: asn1.NullRawValue}
	var whole struct {
		Content   asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &whole); err != nil {
		t.Fatal(err)
	}
	var parts []asn1.RawValue
	for rest := whole.Content.Bytes; len(rest) > 0; {
		var part asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &part); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	const inner = 2 // the version and the serial number come before it
	parts[inner] = asn1.RawValue{FullBytes: marshal(t, algorithm)}
	whole.Content = asn1.RawValue{FullBytes: marshal(t, parts)}
	whole.Algorithm = algorithm
	signature := make([]byte, size)
	signature[size-1] = 1
	whole.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * size}
	return marshal(t, whole)
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	der, err := asn1.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// Token returns a vp_token (OpenID4VP 1.0, 8.1) under a query's ID, with a
// document of a kind and its chain of certificates. None of its signatures is
// valid.
func Token(t testing.TB, query, docType string, chain [][]byte) string {
	t.Helper()
	const x5chain = 33
	namespaces, err := cbor.Marshal(cbor.Tag{Number: 24, Content: []byte{0xa0}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := cbor.Marshal(map[string]any{"version": "1.0", "status": 0, "documents": []any{map[string]any{
		"docType":      docType,
		"issuerSigned": map[string]any{"issuerAuth": []any{[]byte{}, map[int]any{x5chain: chain}, []byte{1}, []byte{1}}},
		"deviceSigned": map[string]any{"nameSpaces": cbor.RawMessage(namespaces), "deviceAuth": map[string]any{}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := json.Marshal(map[string][]string{query: {base64.RawURLEncoding.EncodeToString(response)}})
	if err != nil {
		t.Fatal(err)
	}
	return string(token)
}
