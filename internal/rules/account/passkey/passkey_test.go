package passkey

import (
	"encoding/json"
	"errors"
	"testing"

	"agegate/internal/rules/account"

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

// What is asked of browsers: a discoverable passkey with user verification,
// without attestation, for the configured host.
func TestOptions(t *testing.T) {
	v, err := New("https://gate.example:8443")
	if err != nil {
		t.Fatal(err)
	}
	have := []account.Passkey{{CredentialID: []byte("have"), Transports: []string{"usb"}}}
	text, err := v.CreateOptions(make([]byte, 32), account.User{ID: uuid.New(), Email: "ada@shop.example", Name: "Ada"}, have)
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
	if made.RP.ID != "gate.example" || made.User.Name != "ada@shop.example" || made.User.DisplayName != "Ada" || made.Attestation != "none" ||
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
