// Package trustlisttest makes signed lists of trusted issuers for tests, correct
// ones and ones with a single fault.
package trustlisttest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// Publisher signs lists.
type Publisher struct {
	Key         crypto.Signer
	Certificate *x509.Certificate
}

// Start is the time at which the certificates of this package begin. They are
// valid for a hundred years.
var Start = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// NewPublisher returns a publisher with a new key on P-256.
func NewPublisher(name string) Publisher {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	return Publisher{key, Certify(name, key, Start.AddDate(100, 0, 0))}
}

// NewRSAPublisher returns a publisher with a new RSA key.
func NewRSAPublisher(name string, bits int) Publisher {
	key := must(rsa.GenerateKey(rand.Reader, bits))
	return Publisher{key, Certify(name, key, Start.AddDate(100, 0, 0))}
}

// PEM returns the publisher's certificate.
func (p Publisher) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate.Raw})
}

// Certify returns a self-signed certificate of an authority, valid from Start to
// end.
func Certify(name string, key crypto.Signer, end time.Time) *x509.Certificate {
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(name)), Subject: pkix.Name{CommonName: name, Country: []string{"UT"}},
		NotBefore: Start, NotAfter: end, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))))
}

// NewIssuer returns the certificate of a new issuer of documents.
func NewIssuer(name string) *x509.Certificate {
	return NewPublisher(name).Certificate
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
