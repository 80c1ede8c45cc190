package wallet

import (
	"bytes"
	"compress/zlib"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/go-jose/go-jose/v4"
)

// Lists say which documents of an issuer were revoked. Token status lists
// (draft-ietf-oauth-status-list) have a few bits for each document, compressed;
// identifier lists (ISO/IEC 18013-5 second edition, 12.3.6) have the IDs of the
// revoked ones. Both are signed.

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

// statusClaims are the claims of a status list, in either encoding.
type statusClaims struct {
	Subject string          `cbor:"2,keyasint"               json:"sub"`
	Expires int64           `cbor:"4,keyasint,omitempty"     json:"exp"` // seconds since 1970; 0 for none
	TTL     int64           `cbor:"65534,keyasint,omitempty" json:"ttl"`
	List    statusBytes     `cbor:"65533,keyasint,omitzero"  json:"status_list"`
	Revoked *identifierList `cbor:"65530,keyasint,omitempty" json:"-"`
}

// identifierList has the IDs of revoked documents, each with information of which
// nothing is defined yet.
type identifierList struct {
	Identifiers map[cbor.ByteString]cbor.RawMessage `cbor:"identifiers"`
}

type statusBytes struct {
	Bits uint64 `cbor:"bits" json:"bits"`
	List []byte `cbor:"lst"  json:"-"`
	Text string `cbor:"-"    json:"lst"` // base64url, in JSON
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
	s := &StatusList{ttl: time.Duration(min(claims.TTL, 1<<31)) * time.Second}
	if claims.Expires > 0 {
		s.until = time.Unix(claims.Expires, 0)
	}
	if claims.Subject != uri || !s.until.IsZero() && !now.Before(s.until) {
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

// statusClaimsOf checks a token's signature and returns its claims.
func statusClaimsOf(token []byte, docType string, issuers []Issuer, now time.Time) (claims statusClaims, err error) {
	if message, err := parseSign1(token); err == nil {
		chain, err := certificates(message.Headers)
		if err != nil {
			return claims, refuse(ReasonStatus)
		}
		if verifyChain(chain, docType, anyUsage(issuers), now) != nil ||
			verifySign1(message, chain[0].PublicKey, ReasonStatus) != nil ||
			listDecoder.Unmarshal(message.Payload, &claims) != nil {
			return claims, refuse(ReasonStatus)
		}
		return claims, nil
	}
	text := strings.TrimSpace(string(token))
	signed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512, jose.EdDSA})
	if err != nil || len(signed.Signatures) != 1 {
		return claims, refuse(ReasonStatus)
	}
	chain, err := headerChain(text)
	if err != nil || verifyChain(chain, docType, anyUsage(issuers), now) != nil {
		return claims, refuse(ReasonStatus)
	}
	payload, err := signed.Verify(chain[0].PublicKey)
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return claims, refuse(ReasonStatus)
	}
	claims.List.List, err = decode64(claims.List.Text)
	if err != nil {
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
