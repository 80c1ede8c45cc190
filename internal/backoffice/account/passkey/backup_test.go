package passkey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"testing"

	"agegate/internal/backoffice/account"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"
)

// Flags of authenticator data: user present and verified, backup eligible, and backed up.
const (
	verified = 0x05
	eligible = 0x08
	backedUp = 0x10
)

// TestBackupFlags: a passkey may become eligible for backup after it was made, as an update of the authenticator can
// do, and the flag is kept. It may not lose it, and no backup exists without it.
func TestBackupFlags(t *testing.T) {
	v, err := New("https://gate.example")
	if err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	cose, err := cbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		made, used byte
		ok         bool
	}{
		{verified, verified, true},
		{verified, verified | eligible, true},
		{verified, verified | eligible | backedUp, true},
		{verified | eligible, verified | eligible | backedUp, true},
		{verified | eligible | backedUp, verified | eligible, true},
		{verified | eligible, verified, false},
		{verified | eligible | backedUp, verified, false},
		{verified, verified | backedUp, false},
		{verified | eligible, verified | backedUp, false},
	} {
		key := account.Passkey{UserID: uuid.New(), CredentialID: []byte("k"), PublicKey: cose, Flags: tt.made}
		challenge := make([]byte, 32)
		got, err := v.Got(challenge, key, signed(t, private, challenge, tt.used))
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, account.ErrPasskey) {
			t.Errorf("made with %#x, used with %#x: %v", tt.made, tt.used, err)
		}
		if err == nil && got.Flags != tt.used {
			t.Errorf("made with %#x, used with %#x: %#x is kept", tt.made, tt.used, got.Flags)
		}
	}
}

// signed returns a passkey's response to a challenge.
func signed(t *testing.T, key *ecdsa.PrivateKey, challenge []byte, flags byte) string {
	t.Helper()
	return assertion(challenge, flags, func(message []byte) []byte {
		digest := sha256.Sum256(message)
		signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		return signature
	})
}
