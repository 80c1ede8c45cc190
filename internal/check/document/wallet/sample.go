package wallet

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/veraison/go-cose"
)

// SampleIssuer issues proofs of any age for tests and demonstrations. Only test
// sessions trust it. Each installation derives the issuer's key from its own secret,
// and trusts only this issuer.
type SampleIssuer struct {
	root      *x509.Certificate
	signer    *ecdsa.PrivateKey
	signerDER []byte
}

// sampleEpoch and sampleEnd are the begin and the end of the validity of the sample
// issuer's certificates. They are far apart, so that the certificates are valid by the
// clock of any test.
var (
	sampleEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	sampleEnd   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// NewSampleIssuer derives the issuer's key from 32 secret bytes. Processes with
// the same secret accept each other's documents.
func NewSampleIssuer(secret []byte) (*SampleIssuer, error) {
	derived, err := deriveKey(secret)
	if err != nil {
		return nil, err
	}
	key, err := signatureKey(derived)
	if err != nil {
		return nil, err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agegate sample issuer"},
		NotBefore: sampleEpoch, NotAfter: sampleEnd, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	i := &SampleIssuer{}
	if i.root, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	if i.signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	signer := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "agegate sample document signer"},
		NotBefore: sampleEpoch, NotAfter: sampleEnd, KeyUsage: x509.KeyUsageDigitalSignature,
		UnknownExtKeyUsage: []asn1.ObjectIdentifier{UsageMDL},
	}
	i.signerDER, err = x509.CreateCertificate(rand.Reader, signer, i.root, &i.signer.PublicKey, key)
	return i, err
}

// sampleKinds are the kinds of documents that the sample issuer issues.
var sampleKinds = []string{DocTypeProofOfAge, DocTypeMDL, DocTypePID}

// Trusted returns the issuer in the form in which a verifier trusts it, once for
// each kind of document that it issues.
func (i *SampleIssuer) Trusted() []Issuer {
	var issuers []Issuer
	for _, docType := range sampleKinds {
		issuers = append(issuers, Issuer{DocType: docType, Certificate: i.root})
	}
	return issuers
}

// SampleDocument describes a document to issue.
type SampleDocument struct {
	Age     int // of the holder, in years
	Expired bool
	status  *StatusEntry // where to look up whether the document was revoked
	born    bool         // a PID has no statement of age, only a birth date
}

// sampleValidity is how long a sample document is valid.
const sampleValidity = time.Hour

// issue returns the part of a document that the issuer signs. A sample document has
// every statement, but only the given ones are disclosed.
func (i *SampleIssuer) issue(
	s SampleDocument, docType string, holder *ecdh.PublicKey, ages []int, now time.Time,
) (issuerSigned, error) {
	namespace := namespaces[docType]
	digests := map[uint64][]byte{}
	var disclosed []cbor.RawMessage
	for age := 10; age < 100; age++ {
		random := make([]byte, 16)
		_, _ = rand.Read(random) // never fails
		raw := embed(encode(item{
			DigestID: uint64(age), Random: random, Element: ageElement(age), Value: encode(s.Age >= age),
		}))
		digest := sha256.Sum256(raw)
		digests[uint64(age)] = digest[:]
		if slices.Contains(ages, age) {
			disclosed = append(disclosed, raw)
		}
	}
	from := now.Add(-time.Minute)
	if s.Expired {
		from = now.Add(-2 * sampleValidity)
	}
	from = from.UTC().Truncate(time.Second)
	object := map[string]any{
		"version": "1.0", "digestAlgorithm": "SHA-256", "docType": docType,
		"valueDigests":  map[string]any{namespace: digests},
		"deviceKeyInfo": map[string]any{"deviceKey": coseKey(holder)},
		"validityInfo": map[string]any{
			"signed": sampleTime(from), "validFrom": sampleTime(from), "validUntil": sampleTime(from.Add(sampleValidity)),
		},
	}
	if s.status != nil {
		object["status"] = objectStatus{List: s.status}
	}
	signed, err := sign1(i.signer, cose.AlgorithmES256, embed(encode(object)),
		cose.UnprotectedHeader{cose.HeaderLabelX5Chain: i.signerDER})
	return issuerSigned{NameSpaces: map[string][]cbor.RawMessage{namespace: disclosed}, IssuerAuth: signed}, err
}

// sampleTime encodes a time as a tdate of RFC 8610.
func sampleTime(t time.Time) cbor.Tag { return cbor.Tag{Number: 0, Content: t.Format(time.RFC3339)} }

// sign1 returns a COSE_Sign1 over payload.
func sign1(
	key *ecdsa.PrivateKey, algorithm cose.Algorithm, payload []byte, unprotected cose.UnprotectedHeader,
) ([]byte, error) {
	signer, err := cose.NewSigner(algorithm, key)
	if err != nil {
		return nil, err
	}
	message := cose.UntaggedSign1Message{
		Headers: cose.Headers{Protected: cose.ProtectedHeader{cose.HeaderLabelAlgorithm: algorithm},
			Unprotected: unprotected},
		Payload: payload,
	}
	if err := message.Sign(rand.Reader, nil, signer); err != nil {
		return nil, err
	}
	return message.MarshalCBOR()
}

// Present issues a document to a new wallet, which presents it in the session
// of a transcript. It returns the device response.
func (i *SampleIssuer) Present(
	s SampleDocument, docType string, ages []int, transcript []byte, now time.Time,
) ([]byte, error) {
	holder, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	issued, err := i.issue(s, docType, holder.PublicKey(), ages, now)
	if err != nil {
		return nil, err
	}
	key, err := signatureKey(holder)
	if err != nil {
		return nil, err
	}
	names := embed(encode(map[string]any{}))
	payload := embed(encode([]any{"DeviceAuthentication", cbor.RawMessage(transcript), docType, names}))
	signature, err := sign1(key, cose.AlgorithmES256, payload, nil)
	if err != nil {
		return nil, err
	}
	if signature, err = detach(signature); err != nil {
		return nil, err
	}
	return encode(deviceResponse{Version: "1.0", Documents: []document{{
		DocType: docType, IssuerSigned: issued,
		DeviceSigned: deviceSigned{NameSpaces: names, DeviceAuth: deviceAuth{Signature: signature}},
	}}}), nil
}

// detach removes the payload from a COSE_Sign1.
func detach(signed []byte) ([]byte, error) {
	var parts []cbor.RawMessage
	if err := decoder.Unmarshal(signed, &parts); err != nil {
		return nil, err
	}
	parts[2] = encode(nil)
	return encode(parts), nil
}
