package wallet

import (
	"errors"
	"slices"
)

// Reason says why a presentation was refused. It is shown to the shopper as a
// text of the page and holds nothing from the document.
type Reason string

// The reasons.
const (
	ReasonMalformed         Reason = "malformed"          // not a response of the protocol, or with several documents
	ReasonEncryption        Reason = "encryption"         // not encrypted to this request
	ReasonAlgorithm         Reason = "algorithm"          // an algorithm or a key that is not supported
	ReasonDocType           Reason = "doctype"            // another kind of document
	ReasonIssuerUnknown     Reason = "issuer_unknown"     // no trusted issuer signed it
	ReasonIssuerExpired     Reason = "issuer_expired"     // a certificate of the issuer is not valid now
	ReasonIssuerCertificate Reason = "issuer_certificate" // a certificate may not sign documents, or not at that time
	ReasonIssuerSignature   Reason = "issuer_signature"   // the issuer's signature does not hold
	ReasonDigest            Reason = "digest"             // a statement is not the one that the issuer signed
	ReasonDevice            Reason = "device"             // not presented by the wallet it was issued to, for this request
	ReasonClock             Reason = "clock"              // the clock of the wallet's phone is ahead
	ReasonNotYetValid       Reason = "not_yet_valid"
	ReasonStatus            Reason = "status"       // the status list could not be read
	ReasonNoStatement       Reason = "no_statement" // says nothing that decides the target age
	ReasonDeclined          Reason = "declined"     // the holder declined to share a document
	ReasonUnable            Reason = "unable"       // the wallet reported another error
	ReasonExpired           Reason = "expired"
	ReasonRevoked           Reason = "revoked"
	ReasonUnderAge          Reason = "under_age"
)

// Genuine reports whether a document refused for this reason is the holder's own
// and from a trusted issuer: it could be read, but does not prove the age.
func (r Reason) Genuine() bool {
	return r == ReasonExpired || r == ReasonRevoked || r == ReasonUnderAge
}

// Complaints are the names of the messages about an answer that proves nothing.
var Complaints = []string{"issuer_unknown", "issuer_expired", "clock", "not_yet_valid", "no_statement", "status",
	"declined", "unable", "unverified"}

// Complaint returns the name of the message for a reason.
func (r Reason) Complaint() string {
	switch r {
	case ReasonIssuerCertificate:
		r = ReasonIssuerExpired
	case ReasonDocType:
		r = ReasonNoStatement
	}
	if slices.Contains(Complaints, string(r)) {
		return string(r)
	}
	return "unverified"
}

// WalletError reports whether the wallet answered with an error of the protocol
// instead of a document.
func (r Reason) WalletError() bool { return r == ReasonDeclined || r == ReasonUnable }

// RefusalError is the error of a presentation that proves nothing.
type RefusalError struct{ Reason Reason }

// Error implements error.
func (r *RefusalError) Error() string { return "presentation refused: " + string(r.Reason) }

func refuse(reason Reason) error { return &RefusalError{reason} }

// ReasonOf returns why err refuses a presentation, or "" when it does not.
func ReasonOf(err error) Reason {
	if refusal, ok := errors.AsType[*RefusalError](err); ok {
		return refusal.Reason
	}
	return ""
}
