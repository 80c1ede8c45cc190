package door

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
)

var errSeal = errors.New("not sealed by this door, or for another purpose")

// sealer encrypts and authenticates what the door gives to browsers and clients,
// so that doors with the same keys need no storage.
type sealer []cipher.AEAD // the first seals, all open

// newSealer returns the sealer of a door. One with the same keys that is about
// something else opens nothing of it.
func newSealer(keys [][]byte, about string) (sealer, error) {
	var s sealer
	for _, key := range keys {
		derived, err := hkdf.Key(sha256.New, key, nil, "agegate door "+about, 32)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(derived)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		s = append(s, aead)
	}
	return s, nil
}

// randomKey returns a key for a door that was given none.
func randomKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails on the systems that Go supports
	return key
}

func (s sealer) sealText(purpose, text string) string {
	sealed := s[0].Seal(nil, nil, []byte(text), []byte(purpose)) //nolint:gosec // its nonces are random
	return base64.RawURLEncoding.EncodeToString(sealed)
}

func (s sealer) openText(purpose, sealed string) (string, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return "", errSeal
	}
	for _, aead := range s {
		if text, err := aead.Open(nil, nil, data, []byte(purpose)); err == nil {
			return string(text), nil
		}
	}
	return "", errSeal
}

// seal encrypts a value for a purpose. Only open with the same purpose reads it.
func (s sealer) seal(purpose string, value any) string {
	data, _ := json.Marshal(value) //nolint:errchkjson // plain structs of this package
	return s.sealText(purpose, string(data))
}

func (s sealer) open(purpose, sealed string, value any) error {
	text, err := s.openText(purpose, sealed)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), value)
}
