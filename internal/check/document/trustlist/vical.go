package trustlist

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"slices"
	"time"

	"agegate/internal/rules/credential"

	"github.com/fxamacker/cbor/v2"
	"github.com/veraison/go-cose"
)

// VICALLife is how long a VICAL is used, from its date on, if it does not say when the
// next one comes.
const VICALLife = 90 * 24 * time.Hour

// usageVICAL is the extended key usage of a VICAL's signer (ISO/IEC 18013-5,
// C.1.7.2).
var usageVICAL = asn1.ObjectIdentifier{1, 0, 18013, 5, 1, 8}

// maxChain is the maximum number of certificates that come with a VICAL.
const maxChain = 5

var (
	vicalAlgorithms = []cose.Algorithm{cose.AlgorithmES256, cose.AlgorithmES384, cose.AlgorithmES512, cose.AlgorithmEdDSA}
	vicalDecoder    = decoderOf(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxNestedLevels: 16, MaxArrayElements: 4096, MaxMapPairs: 256,
		TimeTag: cbor.DecTagRequired, FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
	})
)

func decoderOf(options cbor.DecOptions) cbor.DecMode {
	mode, err := options.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}

// vical is the part of a list of authorities (ISO/IEC 18013-5, C.1.7.1) that is read.
type vical struct {
	Version    string       `cbor:"version"`
	Date       time.Time    `cbor:"date"`
	IssueID    *uint64      `cbor:"vicalIssueID"`
	NextUpdate *time.Time   `cbor:"nextUpdate"`
	Entries    []vicalEntry `cbor:"certificateInfos"`
}

type vicalEntry struct {
	Certificate []byte   `cbor:"certificate"`
	DocTypes    []string `cbor:"docType"`
	Authority   string   `cbor:"issuingAuthority"`
	Country     string   `cbor:"issuingCountry"`
}

// parseVICAL verifies a VICAL. The pinned certificate belongs to its signer, or to the
// authority that certified the signer.
func parseVICAL(raw []byte, pinned []*x509.Certificate, now time.Time) (list List, err error) {
	payload, err := verifyCOSE(raw, pinned, now)
	if err != nil {
		return list, err
	}
	var read vical
	if vicalDecoder.Unmarshal(payload, &read) != nil || read.Version == "" {
		return list, refuse(ReasonMalformed)
	}
	if read.IssueID != nil {
		if list.Sequence = int64(*read.IssueID); list.Sequence < 0 { //nolint:gosec // the overflow is what is tested
			return list, refuse(ReasonMalformed)
		}
	}
	list.Issued, list.Digest = read.Date.UTC(), sha256.Sum256(payload)
	list.NextUpdate = list.Issued.Add(VICALLife)
	if read.NextUpdate != nil {
		list.NextUpdate = read.NextUpdate.UTC()
	}
	for _, e := range read.Entries {
		entry := Entry{Name: e.Authority, Country: e.Country, DocTypes: e.DocTypes, Granted: true}
		if err := list.add(entry, e.Certificate, now); err != nil {
			return list, err
		}
	}
	return list, nil
}

// verifyCOSE checks a COSE_Sign1 and returns its payload.
func verifyCOSE(raw []byte, pinned []*x509.Certificate, now time.Time) ([]byte, error) {
	var message cose.UntaggedSign1Message
	if err := message.UnmarshalCBOR(raw); err != nil {
		var tagged cose.Sign1Message
		if err := tagged.UnmarshalCBOR(raw); err != nil {
			return nil, refuse(ReasonMalformed)
		}
		message = cose.UntaggedSign1Message(tagged)
	}
	signer, err := vicalSigner(message.Headers, pinned, now)
	if err != nil {
		return nil, err
	}
	algorithm, err := message.Headers.Protected.Algorithm()
	if err != nil || !slices.Contains(vicalAlgorithms, algorithm) {
		return nil, refuse(ReasonAlgorithm)
	}
	if _, critical := message.Headers.Protected[cose.HeaderLabelCritical]; critical || message.Payload == nil {
		return nil, refuse(ReasonSignature)
	}
	verifier, err := cose.NewVerifier(algorithm, signer.PublicKey)
	if err != nil {
		return nil, refuse(ReasonAlgorithm)
	}
	if message.Verify(nil, verifier) != nil {
		return nil, refuse(ReasonDigest)
	}
	return message.Payload, nil
}

// vicalSigner returns the certificate of the signer, which is pinned, or which a
// pinned authority certified for VICALs.
func vicalSigner(headers cose.Headers, pinned []*x509.Certificate, now time.Time) (*x509.Certificate, error) {
	chain, err := chainOf(headers)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(pinned, chain[0].Equal) {
		return chain[0], nil
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range pinned {
		if c.IsCA {
			roots.AddCert(credential.Comparable(c))
		}
	}
	for _, c := range chain[1:] {
		intermediates.AddCert(credential.Comparable(c))
	}
	_, err = credential.Comparable(chain[0]).Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil || !slices.ContainsFunc(chain[0].UnknownExtKeyUsage, usageVICAL.Equal) {
		return nil, refuse(ReasonSigner)
	}
	return chain[0], nil
}

// chainOf returns the certificates of the x5chain header (RFC 9360), the signer's
// first. Nothing is computed with a key before its size is checked.
func chainOf(headers cose.Headers) (chain []*x509.Certificate, err error) {
	value, ok := headers.Unprotected[cose.HeaderLabelX5Chain]
	if !ok {
		value = headers.Protected[cose.HeaderLabelX5Chain]
	}
	var encoded []any
	switch v := value.(type) {
	case []byte:
		encoded = []any{v}
	case []any:
		encoded = v
	}
	if len(encoded) == 0 || len(encoded) > maxChain {
		return nil, refuse(ReasonSignature)
	}
	for _, e := range encoded {
		der, ok := e.([]byte)
		if !ok {
			return nil, refuse(ReasonMalformed)
		}
		certificate, err := x509.ParseCertificate(bytes.Clone(der))
		if err != nil {
			return nil, refuse(ReasonMalformed)
		}
		if credential.CheckPublicKey(certificate.PublicKey) != nil {
			return nil, refuse(ReasonAlgorithm)
		}
		chain = append(chain, certificate)
	}
	return chain, nil
}
