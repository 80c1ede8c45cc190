package credential

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// SecretLen is the length in bytes of every signing secret and of the sealing
// key.
const SecretLen = 32

// Prefixes of the secrets a merchant is shown.
const (
	WebhookSecretPrefix      = "whsec_"
	TestRedirectSecretPrefix = "rdsec_test_"
	LiveRedirectSecretPrefix = "rdsec_live_"
)

// NewSecret draws SecretLen random bytes.
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

// ParseSecret returns the bytes of a webhook or redirect secret. The error
// never contains the secret.
func ParseSecret(s string) ([]byte, error) {
	for _, prefix := range []string{WebhookSecretPrefix, TestRedirectSecretPrefix, LiveRedirectSecretPrefix} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			secret, err := base64.StdEncoding.DecodeString(rest)
			if err != nil || len(secret) != SecretLen {
				return nil, errors.New("secret is not 32 base64 bytes after its prefix")
			}
			return secret, nil
		}
	}
	return nil, errors.New("secret has no recognized prefix")
}

// LinkHash is the SHA-256 of a link token or a browser cookie: the only form
// in which either is stored.
func LinkHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// NewLinkToken draws 32 random bytes and writes them as 43 base64url
// characters.
func NewLinkToken(random io.Reader) (string, error) {
	b, err := NewSecret(random)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// Sealer encrypts secrets at rest with AES-256-GCM (NIST SP 800-38D), a fresh
// random nonce in front of each.
type Sealer struct {
	aead   cipher.AEAD
	random io.Reader
}

// NewSealer returns a sealer under a key of SecretLen bytes.
func NewSealer(key []byte, random io.Reader) (*Sealer, error) {
	if len(key) != SecretLen {
		return nil, fmt.Errorf("sealing key must be %d bytes", SecretLen)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead: aead, random: random}, nil
}

// Seal encrypts plain and binds it to context, which Open must repeat: a
// sealed value moved to another row does not open there.
func (s *Sealer) Seal(plain []byte, context string) ([]byte, error) {
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	if _, err := io.ReadFull(s.random, nonce); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	return s.aead.Seal(nonce, nonce, plain, []byte(context)), nil
}

// Open decrypts what Seal made with the same key and context.
func (s *Sealer) Open(sealed []byte, context string) ([]byte, error) {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("sealed value is too short")
	}
	plain, err := s.aead.Open(nil, sealed[:n], sealed[n:], []byte(context))
	if err != nil {
		return nil, errors.New("sealed value does not open: AGEGATE_SECRET_KEY is not the key it was sealed with")
	}
	return plain, nil
}
