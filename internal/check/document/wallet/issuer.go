package wallet

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"slices"
	"time"

	"agegate/internal/rules/credential"

	"github.com/veraison/go-cose"
)

// Issuer is a certificate trusted for one kind of document: an authority that
// certifies document signers, or a document signer itself.
type Issuer struct {
	DocType     string
	Certificate *x509.Certificate
	// SignerUsage is the extended key usage that the document signer's
	// certificate must have. If nil, none is required: ISO and the EU use
	// different ones, and some issuers set none.
	SignerUsage asn1.ObjectIdentifier
}

// validAt reports whether the issuer's certificate is valid.
func (i Issuer) validAt(now time.Time) bool {
	return !now.Before(i.Certificate.NotBefore) && now.Before(i.Certificate.NotAfter)
}

// Kinds returns the kinds of documents for which at least one issuer's
// certificate is valid at now, in the order of DocTypes.
func Kinds(issuers []Issuer, now time.Time) (kinds []string) {
	for _, docType := range DocTypes() {
		if slices.ContainsFunc(issuers, func(i Issuer) bool { return i.DocType == docType && i.validAt(now) }) {
			kinds = append(kinds, docType)
		}
	}
	return kinds
}

// maxAuthorities is how many issuers a request may name, because a link must fit into a
// QR code. If there are more, the request names none.
const maxAuthorities = 16

// authorities returns the key identifiers, in base64url, by which a wallet finds
// documents of a kind from trusted issuers (OpenID4VP 1.0, 6.1.1.1). It returns none if
// an issuer has no identifier or if there are too many issuers: a request with some of
// them would leave out documents that are accepted.
func authorities(issuers []Issuer, docType string, now time.Time) (ids []string) {
	for _, issuer := range issuers {
		if issuer.DocType != docType || !issuer.validAt(now) {
			continue
		}
		id := issuer.Certificate.SubjectKeyId
		if !issuer.Certificate.IsCA {
			id = issuer.Certificate.AuthorityKeyId
		}
		if len(id) == 0 || len(ids) == maxAuthorities {
			return nil
		}
		ids = append(ids, encode64(id))
	}
	return ids
}

// UsageMDL is the extended key usage of document signers of mobile driving
// licences (ISO/IEC 18013-5, Annex B.1.4).
var UsageMDL = asn1.ObjectIdentifier{1, 0, 18013, 5, 1, 2}

// maxChain is the maximum number of certificates that a document may carry.
const maxChain = 4

// signAlgorithms are the accepted signature algorithms.
var signAlgorithms = []cose.Algorithm{cose.AlgorithmES256, cose.AlgorithmES384, cose.AlgorithmES512,
	cose.AlgorithmEdDSA}

// verifyIssuer checks the issuer's certificates and its signature, and returns the
// signed security object.
func verifyIssuer(d document, issuers []Issuer, now time.Time) (securityObject, error) {
	var object securityObject
	message, err := parseSign1(d.IssuerSigned.IssuerAuth)
	if err != nil {
		return object, err
	}
	chain, err := certificates(message.Headers)
	if err != nil {
		return object, err
	}
	if err := verifyChain(chain, d.DocType, issuers, now); err != nil {
		return object, err
	}
	if err := verifySign1(message, chain[0].PublicKey, ReasonIssuerSignature); err != nil {
		return object, err
	}
	content, err := embedded(message.Payload)
	if err != nil {
		return object, err
	}
	if err := decoder.Unmarshal(content, &object); err != nil || object.Version != "1.0" {
		return object, refuse(ReasonMalformed)
	}
	if object.DocType != d.DocType {
		return object, refuse(ReasonDocType)
	}
	if v := object.ValidityInfo; v.Signed.IsZero() || v.ValidFrom.IsZero() || v.ValidUntil.IsZero() {
		return object, refuse(ReasonMalformed)
	}
	return object, signedBy(chain[0], object.ValidityInfo.Signed.Time)
}

// signedBy checks that a signer's certificate was valid when the document was signed.
func signedBy(signer *x509.Certificate, at time.Time) error {
	switch {
	case at.Before(signer.NotBefore): // nothing has expired: the certificate is not the one that signed
		return refuse(ReasonIssuerCertificate)
	case at.After(signer.NotAfter):
		return refuse(ReasonIssuerExpired)
	}
	return nil
}

// parseSign1 reads a COSE_Sign1 with or without its tag.
func parseSign1(raw []byte) (*cose.UntaggedSign1Message, error) {
	var message cose.UntaggedSign1Message
	if err := message.UnmarshalCBOR(raw); err == nil {
		return &message, nil
	}
	var tagged cose.Sign1Message
	if err := tagged.UnmarshalCBOR(raw); err != nil {
		return nil, refuse(ReasonMalformed)
	}
	message = cose.UntaggedSign1Message(tagged)
	return &message, nil
}

// verifySign1 checks a signature, whose algorithm must be in the protected
// header.
func verifySign1(message *cose.UntaggedSign1Message, key any, reason Reason) error {
	algorithm, err := message.Headers.Protected.Algorithm()
	if err != nil || !slices.Contains(signAlgorithms, algorithm) {
		return refuse(ReasonAlgorithm)
	}
	verifier, err := cose.NewVerifier(algorithm, key)
	if err != nil {
		return refuse(ReasonAlgorithm)
	}
	if message.Payload == nil || message.Verify(nil, verifier) != nil {
		return refuse(reason)
	}
	return nil
}

// certificates returns the x5chain header (RFC 9360), the signer first.
func certificates(headers cose.Headers) ([]*x509.Certificate, error) {
	value, ok := headers.Unprotected[cose.HeaderLabelX5Chain]
	if !ok {
		value = headers.Protected[cose.HeaderLabelX5Chain]
	}
	var encoded [][]byte
	switch v := value.(type) {
	case []byte:
		encoded = [][]byte{v}
	case []any:
		for _, e := range v {
			der, ok := e.([]byte)
			if !ok {
				return nil, refuse(ReasonMalformed)
			}
			encoded = append(encoded, der)
		}
	}
	return parseChain(encoded)
}

// parseChain reads the certificates that come with a document or a status list,
// the signer first. The sender chose them, so parseChain checks the keys before
// anything is computed with them.
func parseChain(encoded [][]byte) ([]*x509.Certificate, error) {
	if len(encoded) == 0 || len(encoded) > maxChain {
		return nil, refuse(ReasonMalformed)
	}
	chain := make([]*x509.Certificate, len(encoded))
	for i, der := range encoded {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, refuse(ReasonMalformed)
		}
		if credential.CheckPublicKey(certificate.PublicKey) != nil {
			return nil, refuse(ReasonAlgorithm)
		}
		chain[i] = certificate
	}
	return chain, nil
}

// verifyChain checks that the signer's certificate is valid at now and that an
// issuer trusted for the kind of document certified it.
func verifyChain(chain []*x509.Certificate, docType string, issuers []Issuer, now time.Time) error {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, issuer := range issuers {
		if issuer.DocType == docType {
			roots.AddCert(credential.Comparable(issuer.Certificate))
		}
	}
	for _, certificate := range chain[1:] {
		intermediates.AddCert(credential.Comparable(certificate))
	}
	signer := chain[0]
	found, err := credential.Comparable(signer).Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return refuse(chainReason(err))
	}
	if signer.KeyUsage != 0 && signer.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return refuse(ReasonIssuerCertificate)
	}
	for _, path := range found {
		for _, issuer := range issuers {
			if issuer.DocType == docType && issuer.Certificate.Equal(path[len(path)-1]) && issuer.permits(signer) {
				return nil
			}
		}
	}
	return refuse(ReasonIssuerCertificate)
}

// permits reports whether the issuer's policy lets this certificate sign
// documents.
func (i Issuer) permits(signer *x509.Certificate) bool {
	if i.SignerUsage == nil || signer.Equal(i.Certificate) {
		return true
	}
	return slices.ContainsFunc(signer.UnknownExtKeyUsage, i.SignerUsage.Equal)
}

func chainReason(err error) Reason {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return ReasonIssuerUnknown
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ReasonIssuerExpired
	default:
		return ReasonIssuerCertificate
	}
}
