package evidence

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
)

// KeyContext is the context for deriving the signing key; see credential.Sealer.Derive.
const KeyContext = "evidence signing key"

// Key signs packs and receipts.
type Key struct{ private ed25519.PrivateKey }

// NewKey returns the key for a seed of 32 bytes.
func NewKey(seed []byte) (Key, error) {
	if len(seed) != ed25519.SeedSize {
		return Key{}, errors.New("the seed of a signing key has 32 bytes")
	}
	return Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// Public returns the key's public part.
func (k Key) Public() PublicKey {
	return PublicKey{k.private.Public().(ed25519.PublicKey)} //nolint:forcetypeassert // the type of an Ed25519 key
}

func (k Key) sign(message []byte) []byte { return ed25519.Sign(k.private, message) }

// PublicKey is the part of a key that verifies.
type PublicKey struct{ key ed25519.PublicKey }

// ErrKey is returned for text that is not a public key.
var ErrKey = errors.New("the key must be an Ed25519 public key in PEM, as agegate evidence key prints it")

// ParsePublicKey reads a key in the form that PEM returns.
func ParsePublicKey(text []byte) (PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return PublicKey{}, ErrKey
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return PublicKey{}, ErrKey
	}
	return PublicKey{key}, nil
}

// PEM returns the key as a PEM block of a SubjectPublicKeyInfo (RFC 8410).
func (k PublicKey) PEM() []byte {
	der, err := x509.MarshalPKIXPublicKey(k.key)
	if err != nil {
		panic("evidence: " + err.Error()) // every Ed25519 key can be encoded
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// ID identifies the key: the first 16 hex digits of the SHA-256 of its DER encoding.
func (k PublicKey) ID() string {
	block, _ := pem.Decode(k.PEM())
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:8])
}

// Equal reports whether both are the same key.
func (k PublicKey) Equal(other PublicKey) bool { return k.key.Equal(crypto.PublicKey(other.key)) }
