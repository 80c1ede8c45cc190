package passkey

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/turn/turntest"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"
)

func TestWherePasskeysWork(t *testing.T) {
	for address, want := range map[string]error{
		"https://gate.example": nil, "https://gate.example:8443": nil, "http://localhost:8080": nil, "https://localhost": nil,
		"http://gate.example": ErrPlainHTTP, "http://localhost.example": ErrPlainHTTP,
		"http://127.0.0.1:8080": ErrIPAddress, "https://192.0.2.7": ErrIPAddress, "https://[2001:db8::1]:8443": ErrIPAddress,
	} {
		if _, err := New(address); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
	}
}

// Browsers are asked for a discoverable passkey with user verification, without attestation, for the configured host.
func TestOptions(t *testing.T) {
	v, err := New("https://gate.example:8443")
	if err != nil {
		t.Fatal(err)
	}
	have := []account.Passkey{{CredentialID: []byte("have"), Transports: []string{"usb"}}}
	text, err := v.CreateOptions(make([]byte, 32), account.User{ID: uuid.New(), Email: "ada@shop.example", Name: "Ada"},
		have)
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		RP                     struct{ ID string }
		User                   struct{ Name, DisplayName string }
		Attestation            string
		ExcludeCredentials     []struct{ ID string }
		AuthenticatorSelection struct{ ResidentKey, UserVerification string }
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	if made.RP.ID != "gate.example" || made.User.Name != "ada@shop.example" || made.User.DisplayName != "Ada" ||
		made.Attestation != "none" ||
		made.AuthenticatorSelection.ResidentKey != "required" || made.AuthenticatorSelection.UserVerification != "required" ||
		len(made.ExcludeCredentials) != 1 {
		t.Errorf("got %s", text)
	}
	for _, allowed := range [][]account.Passkey{nil, have} {
		text, err := v.GetOptions(make([]byte, 32), allowed)
		var got struct {
			RPID, UserVerification string
			AllowCredentials       []struct{ ID string }
		}
		if err := errors.Join(err, json.Unmarshal([]byte(text), &got)); err != nil {
			t.Fatal(err)
		}
		if got.RPID != "gate.example" || got.UserVerification != "required" || len(got.AllowCredentials) != len(allowed) {
			t.Errorf("got %s", text)
		}
	}
}

// TestKeysOfUsualSize: the sender chooses the size of a passkey's key, so the
// size is checked before anything is computed with it.
func TestKeysOfUsualSize(t *testing.T) {
	ed := make([]byte, 32)
	modulus := func(bytes int) []byte {
		n := make([]byte, bytes)
		n[0], n[bytes-1] = 0x80, 1
		return n
	}
	for name, tt := range map[string]struct {
		key map[int]any
		ok  bool
	}{
		"Ed25519":              {map[int]any{1: 1, 3: -8, -1: 6, -2: ed}, true},
		"RSA of 2,048 bits":    {map[int]any{1: 3, 3: -257, -1: modulus(256), -2: []byte{1, 0, 1}}, true},
		"RSA of 4,096 bits":    {map[int]any{1: 3, 3: -257, -1: modulus(512), -2: []byte{1, 0, 1}}, true},
		"RSA of 300,000 bits":  {map[int]any{1: 3, 3: -257, -1: modulus(37_500), -2: []byte{1, 0, 1}}, false},
		"an exponent of one":   {map[int]any{1: 3, 3: -257, -1: modulus(256), -2: []byte{1}}, false},
		"an exponent of 5 B":   {map[int]any{1: 3, 3: -257, -1: modulus(256), -2: []byte{1, 0, 0, 0, 1}}, false},
		"a point on no curve":  {map[int]any{1: 2, 3: -7, -1: 1, -2: ed, -3: ed}, false},
		"a kind nobody uses":   {map[int]any{1: 9, 3: -7}, false},
		"Ed25519, a byte less": {map[int]any{1: 1, 3: -8, -1: 6, -2: ed[1:]}, false},
	} {
		cose, err := cbor.Marshal(tt.key)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkKey(cose); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
		if tt.ok {
			continue
		}
		v, err := New("https://gate.example")
		if err != nil {
			t.Fatal(err)
		}
		challenge := make([]byte, 32)
		wrong := func([]byte) []byte { return make([]byte, 37_500) }
		key := account.Passkey{UserID: uuid.New(), CredentialID: []byte("k"), PublicKey: cose}
		turntest.Within(t, time.Second, "refusing "+name, func() {
			if _, err := v.Got(challenge, key, assertion(challenge, verified, wrong)); !errors.Is(err, account.ErrPasskey) {
				t.Errorf("%s: used: %v", name, err)
			}
		})
	}
}

// assertion returns a passkey's response to a challenge, with the signature that sign gives for what is signed.
func assertion(challenge []byte, flags byte, sign func(message []byte) []byte) string {
	text := base64.RawURLEncoding.EncodeToString
	client := fmt.Sprintf(`{"type":"webauthn.get","challenge":%q,"origin":"https://gate.example"}`, text(challenge))
	host, hash := sha256.Sum256([]byte("gate.example")), sha256.Sum256([]byte(client))
	data := append(host[:], flags, 0, 0, 0, 1)
	signature := sign(slices.Concat(data, hash[:]))
	return fmt.Sprintf(`{"id":%q,"rawId":%q,"type":"public-key",`+
		`"response":{"clientDataJSON":%q,"authenticatorData":%q,"signature":%q}}`,
		text([]byte("k")), text([]byte("k")), text([]byte(client)), text(data), text(signature))
}
