package wallet

import (
	"bytes"
	"compress/zlib"
	"crypto/x509"
	"encoding/base64"
	"io"
	"math"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/veraison/go-cose"
)

// Lists say which documents of an issuer were revoked. Token status lists
// (draft-ietf-oauth-status-list) have a few bits for each document, in compressed form.
// Identifier lists (ISO/IEC 18013-5 second edition, 12.3.6) have the IDs of revoked
// documents. Both are signed.

// StatusListTypes are the media types of lists, in the form of an Accept header.
const StatusListTypes = "application/statuslist+cwt, application/statuslist+jwt, application/identifierlist+cwt"

// MaxStatusListBytes bounds a list, maxStatusBytes the decompressed content of a
// token status list: 32 million documents of one bit each. maxIdentifiers bounds an
// identifier list.
const (
	MaxStatusListBytes = 1 << 20
	maxStatusBytes     = 4 << 20
	maxIdentifiers     = 1 << 16
)

// StatusList is a list whose signature was verified.
type StatusList struct {
	revoked map[cbor.ByteString]cbor.RawMessage // of an identifier list; nil: a token status list

	bits  uint64 // bits per document: 1, 2, 4 or 8
	list  []byte
	until time.Time
	ttl   time.Duration
}

// statusClaims are the claims of a status list, in either encoding. Times are seconds
// since 1970, which may have a fraction.
type statusClaims struct {
	Subject string          `cbor:"2,keyasint"`
	Expires *float64        `cbor:"4,keyasint,omitempty"`
	Begins  *float64        `cbor:"5,keyasint,omitempty"`
	Issued  *float64        `cbor:"6,keyasint,omitempty"`
	TTL     *float64        `cbor:"65534,keyasint,omitempty"` // seconds
	List    statusBytes     `cbor:"65533,keyasint,omitzero"`
	Revoked *identifierList `cbor:"65530,keyasint,omitempty"` // only in CBOR
}

// identifierList has the IDs of revoked documents. The standard defines no content for
// their entries yet.
type identifierList struct {
	Identifiers map[cbor.ByteString]cbor.RawMessage `cbor:"identifiers"`
}

type statusBytes struct {
	Bits uint64 `cbor:"bits"`
	List []byte `cbor:"lst"`
}

// ParseStatusList verifies a list fetched from uri. Its signer must be certified by
// an issuer that is trusted for the kind of document. An identifier list must have
// an end (12.3.6.3).
func ParseStatusList(token []byte, uri, docType string, issuers []Issuer, now time.Time) (*StatusList, error) {
	if len(token) > MaxStatusListBytes {
		return nil, refuse(ReasonStatus)
	}
	claims, err := statusClaimsOf(token, docType, issuers, now)
	if err != nil {
		return nil, err
	}
	s := &StatusList{}
	if claims.Subject != uri || s.setTimes(claims, now) != nil {
		return nil, refuse(ReasonStatus)
	}
	if claims.Revoked == nil {
		if err := s.fill(claims.List); err != nil {
			return nil, err
		}
		return s, nil
	}
	if s.revoked = claims.Revoked.Identifiers; s.revoked == nil || claims.List.Bits != 0 || s.until.IsZero() {
		return nil, refuse(ReasonStatus)
	}
	return s, nil
}

// setTimes sets how long the list may be used, and refuses one that is not valid now.
func (s *StatusList) setTimes(claims statusClaims, now time.Time) error {
	for _, from := range []*float64{claims.Begins, claims.Issued} {
		if at, err := instant(from); err != nil || now.Before(at.Add(-clockSkew)) {
			return refuse(ReasonStatus)
		}
	}
	var err error
	if s.until, err = instant(claims.Expires); err != nil || claims.Expires != nil && !now.Before(s.until) {
		return refuse(ReasonStatus)
	}
	if claims.TTL != nil {
		_, err = instant(claims.TTL)
		s.ttl = time.Duration(min(*claims.TTL, 1<<31)) * time.Second
	}
	return err
}

// fill decompresses the content of a token status list.
func (s *StatusList) fill(list statusBytes) error {
	s.bits = list.Bits
	if s.bits != 1 && s.bits != 2 && s.bits != 4 && s.bits != 8 {
		return refuse(ReasonStatus)
	}
	reader, err := zlib.NewReader(bytes.NewReader(list.List))
	if err != nil {
		return refuse(ReasonStatus)
	}
	s.list, err = io.ReadAll(io.LimitReader(reader, maxStatusBytes+1))
	if err != nil || len(s.list) > maxStatusBytes {
		return refuse(ReasonStatus)
	}
	return nil
}

// The types of lists. A header of COSE has them with "application/" (RFC 9596).
const (
	typeStatusListJWT  = "statuslist+jwt"
	typeStatusListCWT  = "statuslist+cwt"
	typeIdentifierList = "identifierlist+cwt"
)

// statusClaimsOf checks a token's signature and type, and returns its claims.
func statusClaimsOf(token []byte, docType string, issuers []Issuer, now time.Time) (claims statusClaims, err error) {
	if message, err := parseSign1(token); err == nil {
		return claimsOfCWT(message, docType, issuers, now)
	}
	text := strings.TrimSpace(string(token))
	chain, err := headerChain(text)
	if err != nil || verifyChain(chain, docType, anyUsage(issuers), now) != nil {
		return claims, refuse(ReasonStatus)
	}
	object, err := verifyJWT(text, typeStatusListJWT, chain[0].PublicKey, ReasonStatus)
	if err != nil {
		return claims, refuse(ReasonStatus)
	}
	return claimsOfJSON(object)
}

func claimsOfCWT(
	message *cose.UntaggedSign1Message, docType string, issuers []Issuer, now time.Time,
) (claims statusClaims, err error) {
	chain, err := certificates(message.Headers)
	if err != nil || verifyChain(chain, docType, anyUsage(issuers), now) != nil ||
		verifySign1(message, chain[0].PublicKey, ReasonStatus) != nil ||
		listDecoder.Unmarshal(message.Payload, &claims) != nil {
		return claims, refuse(ReasonStatus)
	}
	typ := typeStatusListCWT
	if claims.Revoked != nil {
		typ = typeIdentifierList
	}
	if !IsType(message.Headers.Protected[cose.HeaderLabelType], typ) {
		return claims, refuse(ReasonStatus)
	}
	return claims, nil
}

// claimsOfJSON returns the claims of a token status list in JSON. The names of the
// claims are case-sensitive.
func claimsOfJSON(object map[string]any) (claims statusClaims, err error) {
	claims.Subject, _ = object["sub"].(string)
	list, _ := object["status_list"].(map[string]any)
	text, _ := list["lst"].(string)
	var bits *float64
	for _, number := range []struct {
		of   map[string]any
		name string
		to   **float64
	}{
		{object, "exp", &claims.Expires}, {object, "nbf", &claims.Begins}, {object, "iat", &claims.Issued},
		{object, "ttl", &claims.TTL}, {list, "bits", &bits},
	} {
		if *number.to, err = numberOf(number.of, number.name); err != nil {
			return claims, refuse(ReasonStatus)
		}
	}
	if bits != nil && *bits == math.Trunc(*bits) && *bits <= 8 && *bits > 0 {
		claims.List.Bits = uint64(*bits)
	}
	if claims.List.List, err = decode64(text); err != nil {
		return claims, refuse(ReasonStatus)
	}
	return claims, nil
}

// headerChain returns the certificates of a JWT's x5c header (RFC 7515, 4.1.6).
// The library is not used for this: it would verify signatures with keys of any
// size.
func headerChain(text string) ([]*x509.Certificate, error) {
	header, err := headerOf(text)
	if err != nil {
		return nil, err
	}
	list, _ := header["x5c"].([]any)
	chain := make([][]byte, len(list))
	for n, element := range list {
		encoded, _ := element.(string)
		if chain[n], err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, refuse(ReasonMalformed)
		}
	}
	return parseChain(chain)
}

// anyUsage returns the issuers without their policy for document signers, because
// other certificates sign the lists.
func anyUsage(issuers []Issuer) []Issuer {
	plain := make([]Issuer, len(issuers))
	for i, issuer := range issuers {
		plain[i] = Issuer{DocType: issuer.DocType, Certificate: issuer.Certificate}
	}
	return plain
}

// Until returns the time until which a list fetched at now may be used: the
// list's own limit, and at most the duration most after now.
func (s *StatusList) Until(now time.Time, longest time.Duration) time.Time {
	if s.ttl > 0 {
		longest = min(longest, s.ttl)
	}
	until := now.Add(longest)
	if !s.until.IsZero() && s.until.Before(until) {
		return s.until
	}
	return until
}

// Revoked reports whether the list has the document's ID, or gives the document at
// its index a status other than valid. It refuses an index that is not in the list,
// and an entry of the other kind of list.
func (s *StatusList) Revoked(entry StatusEntry) (bool, error) {
	if (s.revoked != nil) != (entry.ID != "") {
		return false, refuse(ReasonStatus)
	}
	if s.revoked != nil {
		_, revoked := s.revoked[entry.ID]
		return revoked, nil
	}
	index, perByte := entry.Index, 8/s.bits
	if index/perByte >= uint64(len(s.list)) {
		return false, refuse(ReasonStatus)
	}
	shift := index % perByte * s.bits
	return s.list[index/perByte]>>shift&byte(1<<s.bits-1) != 0, nil
}
