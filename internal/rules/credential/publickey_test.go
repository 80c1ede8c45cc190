package credential_test

import (
	"crypto/dsa" //nolint:staticcheck // SA1019: certificates may name it
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"math/big"
	"testing"

	"agegate/internal/rules/credential"
)

func TestCheckPublicKey(t *testing.T) {
	odd := func(bits uint) *big.Int { // an odd number with the given number of bits
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return n.SetBit(n, 0, 1)
	}
	for _, tt := range []struct {
		name string
		key  any
		ok   bool
	}{
		{"RSA of 2,048 bits", &rsa.PublicKey{N: odd(2048), E: 65537}, true},
		{"RSA of 4,096 bits", &rsa.PublicKey{N: odd(4096), E: 65537}, true},
		{"the largest exponent", &rsa.PublicKey{N: odd(4096), E: 1<<31 - 1}, true},
		{"RSA of 2,047 bits", &rsa.PublicKey{N: odd(2047), E: 65537}, false},
		{"RSA of 4,097 bits", &rsa.PublicKey{N: odd(4097), E: 65537}, false},
		{"RSA of 300,000 bits", &rsa.PublicKey{N: odd(300_000), E: 65537}, false},
		{"an even modulus", &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 2047), E: 65537}, false},
		{"exponent 1", &rsa.PublicKey{N: odd(2048), E: 1}, false},
		{"exponent 3", &rsa.PublicKey{N: odd(2048), E: 3}, false},
		{"an even exponent", &rsa.PublicKey{N: odd(2048), E: 65538}, false},
		{"a negative exponent", &rsa.PublicKey{N: odd(2048), E: -65537}, false},
		{"an exponent of 33 bits", &rsa.PublicKey{N: odd(2048), E: 1<<32 + 1}, false},
		{"P-256", &ecdsa.PublicKey{Curve: elliptic.P256()}, true},
		{"P-384", &ecdsa.PublicKey{Curve: elliptic.P384()}, true},
		{"P-521", &ecdsa.PublicKey{Curve: elliptic.P521()}, true},
		{"P-224", &ecdsa.PublicKey{Curve: elliptic.P224()}, false},
		{"an unknown curve", &ecdsa.PublicKey{Curve: &elliptic.CurveParams{BitSize: 4096}}, false},
		{"no curve", &ecdsa.PublicKey{}, false},
		{"Ed25519", ed25519.PublicKey(make([]byte, 32)), true},
		{"a short Ed25519", ed25519.PublicKey(make([]byte, 31)), false},
		{"DSA", &dsa.PublicKey{}, false},
		{"a key to agree on others", &ecdh.PublicKey{}, false},
		{"none", nil, false},
	} {
		if err := credential.CheckPublicKey(tt.key); errors.Is(err, credential.ErrPublicKey) == tt.ok ||
			(err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
