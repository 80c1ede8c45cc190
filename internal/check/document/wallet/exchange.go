package wallet

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Exchange is one request to a wallet: its nonce, the key to which the wallet
// encrypts its answer, and the documents that it asks for.
type Exchange struct {
	docTypes   []string
	authority  map[string][]string // by kind: key identifiers of its issuers, base64url
	nonce      []byte
	key        *ecdh.PrivateKey // P-256
	thumbprint []byte           // of the public key as a JWK
	state      string           // of a signed request; its answer must repeat it
	identity   *Identity        // signs requests; nil for none
}

const (
	nonceBytes = 24
	stateBytes = 16
)

// NewExchange derives a request's nonce and key from 32 secret bytes, so that neither
// needs to be stored. The request asks for the kinds of documents for which an issuer
// is trusted at now. An answer with a document of another kind is refused.
func NewExchange(secret []byte, issuers []Issuer, now time.Time) (Exchange, error) {
	nonce, err := hkdf.Key(sha256.New, secret, nil, "nonce", nonceBytes)
	if err != nil {
		return Exchange{}, err
	}
	state, err := hkdf.Key(sha256.New, secret, nil, "state", stateBytes)
	if err != nil {
		return Exchange{}, err
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "key", sha256.Size)
	if err != nil {
		return Exchange{}, err
	}
	key, err := deriveKey(seed)
	if err != nil {
		return Exchange{}, err
	}
	e := Exchange{docTypes: Kinds(issuers, now), authority: map[string][]string{}, nonce: nonce, key: key,
		state: encode64(state)}
	for _, docType := range e.docTypes {
		e.authority[docType] = authorities(issuers, docType, now)
	}
	jwk, err := e.publicJWK()
	if err != nil {
		return Exchange{}, err
	}
	e.thumbprint, err = jwk.Thumbprint(crypto.SHA256)
	return e, err
}

// deriveKey returns the P-256 key of a seed (RFC 9180, 7.1.3).
func deriveKey(seed []byte) (*ecdh.PrivateKey, error) {
	key, err := hpke.DHKEM(ecdh.P256()).DeriveKeyPair(seed)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	raw, err := key.Bytes()
	if err != nil {
		return nil, err
	}
	return ecdh.P256().NewPrivateKey(raw)
}

// signatureKey converts a P-256 key to the type that the libraries for signatures and
// JWE use.
func signatureKey(key *ecdh.PrivateKey) (*ecdsa.PrivateKey, error) {
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), key.Bytes())
}

const keyID = "1" // of the only key in a request

func (e Exchange) publicJWK() (jose.JSONWebKey, error) {
	key, err := signatureKey(e.key)
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	return jose.JSONWebKey{Key: &key.PublicKey, KeyID: keyID, Use: "enc", Algorithm: string(jose.ECDH_ES)}, nil
}

// Nonce is the request's nonce as text.
func (e Exchange) Nonce() string { return encode64(e.nonce) }

func encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode64 reads base64url with or without padding.
func decode64(s string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, refuse(ReasonMalformed)
	}
	return b, nil
}
