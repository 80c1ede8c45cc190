package trustlisttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"maps"
	"math/big"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/veraison/go-cose"
)

// VICAL is a list of authorities that issue mobile driving licences.
type VICAL struct {
	IssueID  uint64    // 0: none
	Date     time.Time // of issue
	Next     time.Time // zero: none
	Entries  []VICALEntry
	Chain    []*x509.Certificate // nil: the publisher's certificate
	Change   map[any]any         // members to replace; nil values remove them
	Headers  map[any]any         // protected headers to add
	Unsigned bool                // the list is detached
}

// VICALEntry is an authority on a VICAL.
type VICALEntry struct {
	Certificate *x509.Certificate
	Authority   string
	DocTypes    []string
}

// SignVICAL returns the list as a COSE_Sign1.
func (p Publisher) SignVICAL(v VICAL) []byte {
	encoder := must(cbor.EncOptions{Time: cbor.TimeRFC3339, TimeTag: cbor.EncTagRequired,
		Sort: cbor.SortCanonical}.EncMode())
	entries := []any{}
	for _, e := range v.Entries {
		entries = append(entries, map[string]any{
			"certificate": e.Certificate.Raw, "serialNumber": e.Certificate.SerialNumber, "ski": e.Certificate.SubjectKeyId,
			"docType": e.DocTypes, "issuingAuthority": e.Authority, "issuingCountry": "US",
		})
	}
	list := map[any]any{"version": "1.0", "vicalProvider": "Provider", "date": v.Date, "certificateInfos": entries}
	if v.IssueID > 0 {
		list["vicalIssueID"] = v.IssueID
	}
	if !v.Next.IsZero() {
		list["nextUpdate"] = v.Next
	}
	for name, value := range v.Change {
		if list[name] = value; value == nil {
			delete(list, name)
		}
	}
	chain := v.Chain
	if chain == nil {
		chain = []*x509.Certificate{p.Certificate}
	}
	encoded := []any{}
	for _, c := range chain {
		encoded = append(encoded, c.Raw)
	}
	message := cose.NewSign1Message()
	message.Payload = must(encoder.Marshal(list))
	message.Headers.Protected.SetAlgorithm(cose.AlgorithmES256)
	maps.Copy(message.Headers.Protected, v.Headers)
	message.Headers.Unprotected[cose.HeaderLabelX5Chain] = encoded
	if len(encoded) == 1 {
		message.Headers.Unprotected[cose.HeaderLabelX5Chain] = encoded[0]
	}
	signer := must(cose.NewSigner(cose.AlgorithmES256, p.Key))
	if err := message.Sign(rand.Reader, nil, signer); err != nil {
		panic(err)
	}
	if v.Unsigned {
		message.Payload = nil
	}
	return must(message.MarshalCBOR())
}

// CertifySigner returns a new signer that the publisher certified, with an extended
// key usage.
func (p Publisher) CertifySigner(usage ...int) Publisher {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "Signer"}, NotBefore: Start,
		NotAfter: Start.AddDate(90, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, UnknownExtKeyUsage: []asn1.ObjectIdentifier{usage},
	}
	der := must(x509.CreateCertificate(rand.Reader, template, p.Certificate, key.Public(), p.Key))
	return Publisher{key, must(x509.ParseCertificate(der))}
}
