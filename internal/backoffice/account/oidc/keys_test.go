package oidc

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/turn/turntest"

	"github.com/go-jose/go-jose/v4"
)

// TestKeysOfAProvider: a provider publishes at most 20 keys; one counts for each ID,
// and none of another use, kind or size. Nothing private of a key is read.
func TestKeysOfAProvider(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ed, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	modulus := func(bits uint) *rsa.PublicKey {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	many := func(n int) (keys []jose.JSONWebKey) {
		for i := range n {
			keys = append(keys, jose.JSONWebKey{Key: ec.Public(), KeyID: fmt.Sprint(i)})
		}
		return keys
	}
	for name, tt := range map[string]struct {
		keys []jose.JSONWebKey
		want string // IDs
		bad  bool
	}{
		"none": {nil, "", false},
		"each use": {[]jose.JSONWebKey{{Key: ec.Public(), KeyID: "a"}, {Key: ed, KeyID: "b", Use: "sig"},
			{Key: modulus(4096), KeyID: "c", Use: "enc"}, {Key: modulus(4096), KeyID: "d", Algorithm: "PS256"}}, "a b d", false},
		"one ID": {[]jose.JSONWebKey{{Key: ec.Public(), KeyID: "a"}, {Key: ed, KeyID: "a"}, {Key: ed}, {Key: ec.Public()}},
			"a  ", false},
		"sizes": {[]jose.JSONWebKey{{Key: modulus(1024), KeyID: "a"}, {Key: modulus(8192), KeyID: "b"},
			{Key: modulus(300_000), KeyID: "c"}, {Key: modulus(2048), KeyID: "d"}}, "d", false},
		"private": {[]jose.JSONWebKey{
			{Key: private, KeyID: "a"}, {Key: ec, KeyID: "b"}, {Key: []byte("secret"), KeyID: "c"},
		}, "a b", false},
		"20":        {many(20), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", false},
		"21":        {many(21), "", true},
		"very many": {many(4659), "", true},
	} {
		body, err := json.Marshal(jose.JSONWebKeySet{Keys: tt.keys})
		if err != nil {
			t.Fatal(err)
		}
		var set []jose.JSONWebKey
		turntest.Within(t, time.Second, "reading "+name, func() { set, err = parseKeys(body) })
		var ids []string
		for _, key := range set {
			if ids = append(ids, key.KeyID); !key.IsPublic() {
				t.Errorf("%s: a private key is kept", name)
			}
		}
		if got := strings.Join(ids, " "); got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s: keys %q, %v; want %q", name, got, err, tt.want)
		}
	}
	for _, body := range []string{"", "[]", `{"keys":7}`, `{"keys":[7,null,{},{"kty":"RSA"},{"kty":7}]}`} {
		if set, err := parseKeys([]byte(body)); len(set) > 0 || (err == nil) != strings.HasPrefix(body, `{"keys":[`) {
			t.Errorf("%q: %d keys, %v", body, len(set), err)
		}
	}
}
