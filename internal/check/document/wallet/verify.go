// Package wallet verifies proofs of age from wallets: mobile documents of ISO/IEC
// 18013-5, and the EU's identification data as SD-JWT. They are asked for through the
// browser's Digital Credentials API (ISO/IEC 18013-7 Annex C, and OpenID4VP 1.0), or by
// a link with OpenID4VP 1.0 and the EU's age verification profile. The package opens no
// connection and stores nothing. All that it returns about a document is whether it
// proves the age.
package wallet

import (
	"context"
	"crypto/ecdh"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// MaxResponseBytes is the maximum size of a response. A proof of age takes about
// 2 KiB. A licence with its portrait, which is never asked for, takes 40 KiB.
const MaxResponseBytes = 64 << 10

// Kinds of documents that prove an age.
const (
	DocTypeMDL        = "org.iso.18013.5.1.mDL"
	DocTypeProofOfAge = "eu.europa.ec.av.1"
	DocTypePhotoID    = "org.iso.23220.photoid.1"    // ISO/IEC TS 23220-4, of passports among others
	DocTypeIDCard     = "com.google.wallet.idcard.1" // Google Wallet's ID pass
)

// namespaces names the namespace of each kind of document that holds its
// statements of age.
var namespaces = map[string]string{
	DocTypeMDL:        "org.iso.18013.5.1",
	DocTypeProofOfAge: "eu.europa.ec.av.1",
	DocTypePhotoID:    "org.iso.23220.1",
	DocTypeIDCard:     "org.iso.18013.5.1",
}

// DocTypes lists the supported kinds of documents, those that reveal the least
// first.
func DocTypes() []string {
	return []string{DocTypeProofOfAge, DocTypeMDL, DocTypePhotoID, DocTypeIDCard, DocTypePID}
}

// clockSkew is how far the clock of an issuer or a phone may be from this one.
const clockSkew = 5 * time.Minute

// Presentation is a received and decrypted response, and the session for which it
// must have been made.
type Presentation struct {
	docTypes   []string // those that answer the request
	response   []byte   // device response, or an SD-JWT if the only kind is DocTypePID
	transcript []byte
	readerKey  *ecdh.PrivateKey // nil where the protocol has none
	audience   string           // of an SD-JWT's key binding
	nonce      string           // of an SD-JWT's key binding
}

// Verifier checks presentations.
type Verifier struct {
	Issuers []Issuer
	// Revoked reports whether a status list marks a document as revoked. It is called
	// when everything except the age was checked and holds. If it is nil, documents
	// that have a status are refused.
	Revoked func(ctx context.Context, entry StatusEntry, docType string) (bool, error)
}

// Verify returns nil if the presentation proves at now that its holder is of
// targetAge or over, and a *RefusalError otherwise.
func (v Verifier) Verify(ctx context.Context, p Presentation, targetAge int, now time.Time) error {
	if slices.Equal(p.docTypes, onlyPID) {
		return v.verifyPID(ctx, p, targetAge, now)
	}
	d, err := parseResponse(p.response)
	if err != nil {
		return err
	}
	namespace, known := namespaces[d.DocType]
	if !known || !slices.Contains(p.docTypes, d.DocType) {
		return refuse(ReasonDocType)
	}
	object, elements, err := authenticate(d, p, v.Issuers, namespace, now)
	if err != nil {
		return err
	}
	switch validity := object.ValidityInfo; {
	case now.Before(validity.ValidFrom.Add(-clockSkew)):
		return refuse(ReasonNotYetValid)
	case !now.Before(validity.ValidUntil.Time):
		return refuse(ReasonExpired)
	}
	if err := v.checkStatus(ctx, object.Status, object.DocType); err != nil {
		return err
	}
	return provesAge(elements, targetAge)
}

// authenticate checks all signatures and digests, and returns the security object
// and the elements of a namespace.
func authenticate(
	d document, p Presentation, issuers []Issuer, namespace string, now time.Time,
) (securityObject, map[string]cbor.RawMessage, error) {
	object, err := verifyIssuer(d, issuers, now)
	if err != nil {
		return object, nil, err
	}
	elements, err := d.elements(object, namespace)
	if err != nil {
		return object, nil, err
	}
	return object, elements, verifyDevice(d, object.DeviceKeyInfo.DeviceKey, p.transcript, p.readerKey)
}

func (v Verifier) checkStatus(ctx context.Context, status *objectStatus, docType string) error {
	if status == nil {
		return nil
	}
	entry, err := status.entry()
	if err != nil || v.Revoked == nil {
		return refuse(ReasonStatus)
	}
	revoked, err := v.Revoked(ctx, entry, docType)
	switch {
	case err != nil:
		return refuse(ReasonStatus)
	case revoked:
		return refuse(ReasonRevoked)
	}
	return nil
}

// provesAge reads the statements age_over_NN. A true statement for the target age or a
// higher one proves the target age. A false statement for the target age or a lower one
// disproves it. All others say nothing about it.
func provesAge(elements map[string]cbor.RawMessage, targetAge int) error {
	var over, under bool
	for name, value := range elements {
		age, ok := statementAge(name)
		if !ok {
			continue
		}
		var is *bool // nil for an element without a value, which states nothing
		if decoder.Unmarshal(value, &is) != nil {
			return refuse(ReasonMalformed)
		}
		over = over || is != nil && *is && age >= targetAge
		under = under || is != nil && !*is && age <= targetAge
	}
	return decideAge(over, under)
}

// decideAge returns nil if the document says that the age was reached, and nothing in
// it says that it was not.
func decideAge(over, under bool) error {
	switch {
	case over && under:
		return refuse(ReasonMalformed)
	case over:
		return nil
	case under:
		return refuse(ReasonUnderAge)
	default:
		return refuse(ReasonNoStatement)
	}
}

// statementAge returns NN of an element named age_over_NN; NN has two digits.
func statementAge(element string) (int, bool) {
	digits, ok := strings.CutPrefix(element, "age_over_")
	if !ok || len(digits) != 2 {
		return 0, false
	}
	age, err := strconv.ParseUint(digits, 10, 8)
	return int(age), err == nil
}

func ageElement(age int) string { return "age_over_" + strconv.Itoa(age) }
