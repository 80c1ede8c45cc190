package credential

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// API key prefixes, by mode.
const (
	TestKeyPrefix = "svc_test_"
	LiveKeyPrefix = "svc_live_"
)

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	keyRandomLen = 32
	keySumLen    = 6
)

// Errors of ParseAPIKey.
var (
	ErrKeyPrefix   = errors.New("API key has no recognized prefix")
	ErrKeyChecksum = errors.New("API key checksum does not match")
)

// KeyHash is the SHA-256 of a whole API key, the form in which it is stored.
type KeyHash [sha256.Size]byte

// NewAPIKey returns a new key of the mode, read from random: the prefix, 32
// base62 characters (190 bits) and a 6-character base62 CRC-32 (IEEE) of all
// that precedes it.
func NewAPIKey(random io.Reader, livemode bool) (string, error) {
	prefix := TestKeyPrefix
	if livemode {
		prefix = LiveKeyPrefix
	}
	body, err := randomBase62(random, keyRandomLen)
	if err != nil {
		return "", err
	}
	return prefix + body + keyChecksum(prefix+body), nil
}

// ParseAPIKey checks a key's format and returns its mode. It returns
// ErrKeyPrefix for an unknown prefix and ErrKeyChecksum for a wrong length or
// checksum.
func ParseAPIKey(key string) (livemode bool, err error) {
	switch {
	case strings.HasPrefix(key, TestKeyPrefix):
	case strings.HasPrefix(key, LiveKeyPrefix):
		livemode = true
	default:
		return false, ErrKeyPrefix
	}
	want := len(TestKeyPrefix) + keyRandomLen + keySumLen
	if len(key) != want || keyChecksum(key[:want-keySumLen]) != key[want-keySumLen:] {
		return false, ErrKeyChecksum
	}
	return livemode, nil
}

// HashAPIKey returns the stored form of a key.
func HashAPIKey(key string) KeyHash { return sha256.Sum256([]byte(key)) }

func keyChecksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var out [keySumLen]byte
	for i := keySumLen - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

// randomBase62 returns n uniformly random characters. It rejects bytes of 248 and
// above, which would make some characters more likely.
func randomBase62(random io.Reader, n int) (string, error) {
	out := make([]byte, 0, n)
	var b [64]byte
	for len(out) < n {
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return "", fmt.Errorf("read randomness: %w", err)
		}
		for _, v := range b {
			if v < 248 && len(out) < n {
				out = append(out, base62[v%62])
			}
		}
	}
	return string(out), nil
}
