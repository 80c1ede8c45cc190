// Package trustlist reads published lists of trusted issuers: the EU's list of age
// verification providers (ETSI TS 119 612, XML), lists of trusted entities (ETSI TS 119
// 602, JSON) and VICALs (ISO/IEC 18013-5, Annex C, CBOR).
//
// A list counts only if one of the pinned certificates signed it. Everything that the
// package returns was decoded from the bytes that the signature covers. The package
// fetches and stores nothing.
package trustlist

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"agegate/internal/rules/credential"
)

// MaxBytes bounds a list.
const MaxBytes = 4 << 20

// Limits of a list's content.
const (
	maxEntries = 300 // each request to a wallet goes through all issuers
	maxName    = 100 // characters of an issuer's name
)

// clockSkew is how far a publisher's clock may be ahead.
const clockSkew = 5 * time.Minute

// Format is a kind of published list.
type Format string

// The formats.
const (
	// FormatAV is the EU's list of providers of proofs of age.
	FormatAV Format = "av"
	// FormatLoTE is a list of trusted entities, signed as a compact JWS.
	FormatLoTE Format = "lote"
	// FormatVICAL is a list of authorities that issue mobile driving licences.
	FormatVICAL Format = "vical"
)

// Source says what a list must be.
type Source struct {
	Format  Format
	Signers []*x509.Certificate // pinned: one of them signed the list
	Type    string              // of a list of trusted entities, its LoTEType; unused by other formats
}

// List is a list whose signature and dates were verified.
type List struct {
	Sequence   int64 // rises with each issue; 0 if the list has none
	Issued     time.Time
	NextUpdate time.Time
	Entries    []Entry
	// Skipped is how many granted entries cannot be used: they have no certificate, an
	// expired one, or one whose key is not accepted.
	Skipped int
	// Digest is the SHA-256 of the signed content. Two lists with the same digest
	// say the same.
	Digest [sha256.Size]byte
}

// Entry is a certificate on a list.
type Entry struct {
	Certificate *x509.Certificate
	Name        string   // of the issuer
	Country     string   // two capital letters, or empty if the list has none
	DocTypes    []string // of a VICAL's entry, the kinds of documents; nil if the format has none
	Granted     bool     // false: it is listed with a status that ended the trust
	Status      string   // the last part of the status
}

// Parse verifies a list and returns its content. It returns a *RefusalError for a
// list that must not be used.
func Parse(raw []byte, source Source, now time.Time) (List, error) {
	if len(raw) > MaxBytes {
		return List{}, refuse(ReasonSize)
	}
	signers, err := validSigners(source.Signers, now)
	if err != nil {
		return List{}, err
	}
	var list List
	switch source.Format {
	case FormatAV:
		list, err = parseXML(raw, signers, now)
	case FormatLoTE:
		list, err = parseLoTE(raw, source.Type, signers, now)
	case FormatVICAL:
		list, err = parseVICAL(raw, signers, now)
	default:
		return List{}, refuse(ReasonMalformed)
	}
	if err != nil {
		return List{}, err
	}
	return list, checkDates(list, now)
}

// validSigners returns the pinned certificates that are valid now.
func validSigners(pinned []*x509.Certificate, now time.Time) (valid []*x509.Certificate, err error) {
	for _, c := range pinned {
		if !now.Before(c.NotBefore) && now.Before(c.NotAfter) && credential.CheckPublicKey(c.PublicKey) == nil {
			valid = append(valid, c)
		}
	}
	if len(valid) == 0 {
		return nil, refuse(ReasonSignerExpired)
	}
	return valid, nil
}

func checkDates(list List, now time.Time) error {
	switch {
	case list.Issued.IsZero() || list.Issued.After(now.Add(clockSkew)):
		return refuse(ReasonIssued)
	case list.NextUpdate.IsZero() || list.NextUpdate.Before(list.Issued):
		return refuse(ReasonNextUpdate)
	case !now.Before(list.NextUpdate):
		return refuse(ReasonExpired)
	}
	return nil
}

// add appends an entry. If a granted entry cannot be used, add only counts it.
func (l *List) add(e Entry, der []byte, now time.Time) error {
	certificate, err := x509.ParseCertificate(der)
	usable := err == nil && credential.CheckPublicKey(certificate.PublicKey) == nil && now.Before(certificate.NotAfter)
	if !usable {
		if e.Granted {
			l.Skipped++
		}
		return nil
	}
	if len(l.Entries) == maxEntries {
		return refuse(ReasonSize)
	}
	e.Certificate = certificate
	if e.Country == "" && len(certificate.Subject.Country) == 1 {
		e.Country = certificate.Subject.Country[0]
	}
	if e.Country = strings.ToUpper(e.Country); !isCountry(e.Country) {
		e.Country = ""
	}
	e.Name = cmp.Or(trimName(e.Name), trimName(certificate.Subject.CommonName))
	l.Entries = append(l.Entries, e)
	return nil
}

func isCountry(text string) bool {
	return len(text) == 2 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'A' && text[1] <= 'Z'
}

// trimName returns a name on one line, of at most maxName characters.
func trimName(name string) string {
	name = strings.Join(strings.Fields(strings.ToValidUTF8(name, "")), " ")
	if utf8.RuneCountInString(name) > maxName {
		name = string([]rune(name)[:maxName])
	}
	return name
}

// lastPart returns the last part of a URI.
func lastPart(uri string) string { return uri[strings.LastIndexByte(uri, '/')+1:] }

// Reason is why a list was refused.
type Reason string

// The reasons. No text contains anything of the list.
const (
	ReasonSize          Reason = "the list is too large"
	ReasonMalformed     Reason = "the list cannot be read"
	ReasonMarkup        Reason = "the list contains a document type, an entity or other markup that is not allowed"
	ReasonSignature     Reason = "the list is not signed as required"
	ReasonAlgorithm     Reason = "the list's signature uses an algorithm that is not allowed"
	ReasonReference     Reason = "the list's signature does not cover the whole list"
	ReasonDigest        Reason = "the list was changed after it was signed"
	ReasonSigner        Reason = "none of the pinned certificates signed the list"
	ReasonSignerExpired Reason = "none of the pinned certificates is valid now"
	ReasonType          Reason = "the list is of another type"
	ReasonIssued        Reason = "the list's date of issue is missing or in the future"
	ReasonNextUpdate    Reason = "the list does not say when it ends"
	ReasonExpired       Reason = "the list has expired: its next update is overdue"
	ReasonSequence      Reason = "the list's number is lower than that of an earlier one, or its content changed " +
		"without a new number"
)

// RefusalError is the error for a list that must not be used.
type RefusalError struct{ Reason Reason }

func (e *RefusalError) Error() string { return string(e.Reason) }

func refuse(r Reason) error { return &RefusalError{r} }

// ReasonOf returns the reason in an error, or "" if the error is no refusal.
func ReasonOf(err error) Reason {
	if refusal, ok := errors.AsType[*RefusalError](err); ok {
		return refusal.Reason
	}
	return ""
}
