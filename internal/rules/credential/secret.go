package credential

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// SecretLen is the length in bytes of every signing secret and of the sealing
// key.
const SecretLen = 32

// Prefixes of the secrets that merchants receive.
const (
	WebhookSecretPrefix      = "whsec_"
	TestRedirectSecretPrefix = "rdsec_test_"
	LiveRedirectSecretPrefix = "rdsec_live_"
)

// NewSecret returns SecretLen random bytes.
func NewSecret(random io.Reader) ([]byte, error) {
	secret := make([]byte, SecretLen)
	if _, err := io.ReadFull(random, secret); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	return secret, nil
}

// FormatWebhookSecret writes a webhook secret as Standard Webhooks does:
// whsec_ and standard base64.
func FormatWebhookSecret(secret []byte) string {
	return WebhookSecretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// FormatRedirectSecret writes a redirect secret: the mode's prefix and
// standard base64.
func FormatRedirectSecret(secret []byte, livemode bool) string {
	prefix := TestRedirectSecretPrefix
	if livemode {
		prefix = LiveRedirectSecretPrefix
	}
	return prefix + base64.StdEncoding.EncodeToString(secret)
}

// HashToken returns the SHA-256 of a token or a browser cookie: the only form in
// which either is stored. For links of sessions see NewLink.
func HashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// NewLinkToken returns 32 random bytes as 43 base64url characters.
func NewLinkToken(random io.Reader) (string, error) {
	b, err := NewSecret(random)
	return base64.RawURLEncoding.EncodeToString(b), err
}

// Sealer encrypts secrets at rest with AES-256-GCM (NIST SP 800-38D), each with
// a fresh random nonce in front.
type Sealer struct {
	keys   []cipher.AEAD // the first seals, every one opens
	Names  []string      // of the keys, in their order; they tell nothing else of them
	root   []byte        // the first key, for Derive and MAC
	random io.Reader
}

// NewSealer returns a sealer under a key of SecretLen bytes. It also opens
// values sealed under one of the previous keys.
func NewSealer(key []byte, random io.Reader, previous ...[]byte) (*Sealer, error) {
	s := &Sealer{random: random, root: key}
	for _, k := range append([][]byte{key}, previous...) {
		if len(k) != SecretLen {
			return nil, fmt.Errorf("sealing key must be %d bytes", SecretLen)
		}
		block, err := aes.NewCipher(k)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		name, err := hkdf.Key(sha256.New, k, nil, "agegate key name", 4)
		if err != nil {
			return nil, err
		}
		s.keys, s.Names = append(s.keys, aead), append(s.Names, hex.EncodeToString(name))
	}
	return s, nil
}

// MAC returns the HMAC-SHA256 of a text under the first key. Use it to look up a
// text that must not be stored in the clear, or to derive a value that must be
// repeatable. It changes with the first key.
func (s *Sealer) MAC(text string) []byte {
	h := hmac.New(sha256.New, s.root)
	h.Write([]byte("agegate mac|" + text))
	return h.Sum(nil)
}

// Seal encrypts plain and binds it to context. Open needs the same context, so a
// sealed value does not open when it was moved to another row.
func (s *Sealer) Seal(plain []byte, context string) ([]byte, error) {
	aead := s.keys[0]
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := io.ReadFull(s.random, nonce); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	return aead.Seal(nonce, nonce, plain, []byte(context)), nil
}

// Derive returns SecretLen bytes for a context that only holders of the first key
// can know. They need not be stored. They change with the key, so use them only
// for things that are short-lived or can be created again.
func (s *Sealer) Derive(context string) ([]byte, error) {
	return hkdf.Key(sha256.New, s.root, nil, "agegate derive|"+context, SecretLen)
}

// Open decrypts a value that Seal encrypted with one of the sealer's keys and the
// same context. It returns ErrSealed if none of the keys opens it.
func (s *Sealer) Open(sealed []byte, context string) ([]byte, error) {
	plain, _, err := s.open(sealed, context)
	return plain, err
}

// KeyOf returns the name of the key that opens a value, or ErrSealed.
func (s *Sealer) KeyOf(sealed []byte, context string) (string, error) {
	_, key, err := s.open(sealed, context)
	return s.Names[key], err
}

// Reseal takes a value sealed under any of the keys and returns it sealed under
// the first, or nil if it already is. It returns ErrSealed if no key opens it.
func (s *Sealer) Reseal(sealed []byte, context string) ([]byte, error) {
	plain, key, err := s.open(sealed, context)
	if err != nil || key == 0 {
		return nil, err
	}
	return s.Seal(plain, context)
}

// ErrSealed is returned for a sealed value that opens under none of the
// sealer's keys.
var ErrSealed = errors.New("sealed value does not open: AGEGATE_SECRET_KEY is not the key it was sealed with")

// open is Open, and also returns the index of the key that opened the value.
func (s *Sealer) open(sealed []byte, context string) (plain []byte, key int, err error) {
	for i, aead := range s.keys {
		if n := aead.NonceSize(); len(sealed) >= n {
			if plain, err := aead.Open(nil, sealed[:n], sealed[n:], []byte(context)); err == nil {
				return plain, i, nil
			}
		}
	}
	return nil, 0, ErrSealed
}

// Resealing counts the sealed values processed by a change of the key.
type Resealing struct {
	Resealed int `json:"resealed"` // was under a previous key, is under the first one now
	Already  int `json:"already"`  // was under the first key before
	Unopened int `json:"unopened"` // opened by no key; not changed
}

// Replace counts a value. If it is under a previous key, replace gets it sealed under
// the sealer's first key, and reports whether it has stored that.
func (r *Resealing) Replace(s *Sealer, sealed []byte, context string, replace func(next []byte) (bool, error)) error {
	next, err := r.Next(s, sealed, context)
	if err != nil || next == nil {
		return err
	}
	stored, err := replace(next)
	if stored {
		r.Resealed++
	}
	return err
}

// Next returns a value sealed under the sealer's first key. It returns nil, and counts
// the value, if the value is under that key already or no key opens it.
func (r *Resealing) Next(s *Sealer, sealed []byte, context string) ([]byte, error) {
	next, err := s.Reseal(sealed, context)
	switch {
	case errors.Is(err, ErrSealed):
		r.Unopened++
		return nil, nil
	case err == nil && next == nil:
		r.Already++
	}
	return next, err
}
