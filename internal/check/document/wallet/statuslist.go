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

	"github.com/go-jose/go-jose/v4"
)

// Token status lists (draft-ietf-oauth-status-list) say which documents of an
// issuer were revoked: a few bits for each document, compressed and signed.

// StatusListTypes are the media types of status lists, in the form of an Accept
// header.
const StatusListTypes = "application/statuslist+cwt, application/statuslist+jwt"

// MaxStatusListBytes bounds a status list, and maxStatusBytes its decompressed
// content: 32 million documents of one bit each.
const (
	MaxStatusListBytes = 1 << 20
	maxStatusBytes     = 4 << 20
)

// StatusList is a status list whose signature was verified.
type StatusList struct {
	bits  uint64 // bits per document: 1, 2, 4 or 8
	list  []byte
	until time.Time
	ttl   time.Duration
}

// statusClaims are the claims of a status list, in either encoding.
type statusClaims struct {
	Subject string      `cbor:"2,keyasint"               json:"sub"`
	Expires int64       `cbor:"4,keyasint,omitempty"     json:"exp"` // seconds since 1970; 0 for none
	TTL     int64       `cbor:"65534,keyasint,omitempty" json:"ttl"`
	List    statusBytes `cbor:"65533,keyasint"           json:"status_list"`
}

type statusBytes struct {
	Bits uint64 `cbor:"bits" json:"bits"`
	List []byte `cbor:"lst"  json:"-"`
	Text string `cbor:"-"    json:"lst"` // base64url, in JSON
}

// ParseStatusList verifies a status list fetched from uri. Its signer must be
// certified by an issuer that is trusted for the kind of document.
func ParseStatusList(token []byte, uri, docType string, issuers []Issuer, now time.Time) (*StatusList, error) {
	if len(token) > MaxStatusListBytes {
		return nil, refuse(ReasonStatus)
	}
	claims, err := statusClaimsOf(token, docType, issuers, now)
	if err != nil {
		return nil, err
	}
	s := &StatusList{bits: claims.List.Bits, ttl: time.Duration(min(claims.TTL, 1<<31)) * time.Second}
	if claims.Expires > 0 {
		s.until = time.Unix(claims.Expires, 0)
	}
	known := s.bits == 1 || s.bits == 2 || s.bits == 4 || s.bits == 8
	if claims.Subject != uri || !known || !s.until.IsZero() && !now.Before(s.until) {
		return nil, refuse(ReasonStatus)
	}
	reader, err := zlib.NewReader(bytes.NewReader(claims.List.List))
	if err != nil {
		return nil, refuse(ReasonStatus)
	}
	s.list, err = io.ReadAll(io.LimitReader(reader, maxStatusBytes+1))
	if err != nil || len(s.list) > maxStatusBytes {
		return nil, refuse(ReasonStatus)
	}
	return s, nil
}

// statusClaimsOf checks a token's signature and returns its claims.
func statusClaimsOf(token []byte, docType string, issuers []Issuer, now time.Time) (claims statusClaims, err error) {
	if message, err := parseSign1(token); err == nil {
		chain, err := certificates(message.Headers)
		if err != nil {
			return claims, refuse(ReasonStatus)
		}
		if verifyChain(chain, docType, anyUsage(issuers), now) != nil || verifySign1(message, chain[0].PublicKey, ReasonStatus) != nil ||
			decoder.Unmarshal(message.Payload, &claims) != nil {
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
func (s *StatusList) Until(now time.Time, most time.Duration) time.Time {
	if s.ttl > 0 {
		most = min(most, s.ttl)
	}
	until := now.Add(most)
	if !s.until.IsZero() && s.until.Before(until) {
		return s.until
	}
	return until
}

// Revoked reports whether the list gives the document at index a status other
// than valid. It refuses an index that is not in the list.
func (s *StatusList) Revoked(index uint64) (bool, error) {
	perByte := 8 / s.bits
	if index/perByte >= uint64(len(s.list)) {
		return false, refuse(ReasonStatus)
	}
	shift := index % perByte * s.bits
	return s.list[index/perByte]>>shift&byte(1<<s.bits-1) != 0, nil
}
