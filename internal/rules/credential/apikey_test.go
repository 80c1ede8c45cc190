package credential

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const knownKey = "svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUV2nuRgb"

func TestAPIKeyKnownAnswer(t *testing.T) {
	random := make([]byte, 64)
	for i := range random {
		random[i] = byte(i)
	}
	key, err := NewAPIKey(bytes.NewReader(random), false)
	if err != nil || key != knownKey {
		t.Errorf("got %s, %v, want %s", key, err, knownKey)
	}
	hash := HashAPIKey(key)
	if got := hex.EncodeToString(hash[:]); got != "35e7e2b5348c257a088a774d03c37761f578532268ef7e0477ef0b2bb2c47439" {
		t.Errorf("hash %s", got)
	}
}

func TestParseAPIKey(t *testing.T) {
	for _, livemode := range []bool{false, true} {
		key, err := NewAPIKey(rand.Reader, livemode)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseAPIKey(key); err != nil || got != livemode {
			t.Errorf("%t key: got %t, %v", livemode, got, err)
		}
	}
	for key, want := range map[string]error{
		"":              ErrKeyPrefix,
		"svc_":          ErrKeyPrefix,
		"sk_test_abc":   ErrKeyPrefix,
		" " + knownKey:  ErrKeyPrefix,
		"svc_test_":     ErrKeyChecksum,
		knownKey + "0":  ErrKeyChecksum,
		knownKey[:46]:   ErrKeyChecksum,
		knownKey + "\n": ErrKeyChecksum,
		strings.Replace(knownKey, "test", "live", 1): ErrKeyChecksum,
	} {
		if _, err := ParseAPIKey(key); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", key, err, want)
		}
	}
}

func TestEverySingleMistakeInAKeyIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := []byte(knownKey)
		i := rapid.IntRange(len(TestKeyPrefix), len(key)-1).Draw(t, "position")
		key[i] = rapid.SampledFrom([]byte(base62)).Filter(func(b byte) bool { return b != key[i] }).Draw(t, "character")
		if _, err := ParseAPIKey(string(key)); !errors.Is(err, ErrKeyChecksum) {
			t.Fatalf("%s: %v", key, err)
		}
	})
}

func FuzzParseAPIKey(f *testing.F) {
	f.Fuzz(func(t *testing.T, key string) {
		if _, err := ParseAPIKey(key); err == nil && len(key) != len(knownKey) {
			t.Errorf("%q is accepted", key)
		}
	})
}
