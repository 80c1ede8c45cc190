package credential

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"math"
)

// The accepted sizes of RSA keys, in bits. The time to check a signature grows
// with the square of the size, and the maker of a certificate or passkey chooses
// the size: a key of 300,000 bits occupied a core for four seconds.
const (
	minRSABits = 2048
	maxRSABits = 4096
)

// minExponent is the smallest public exponent of FIPS 186-5, A.1.1, and
// maxExponent the largest that Go and browsers use. The time of a check grows
// with the exponent's length.
const (
	minExponent = 1<<16 + 1
	maxExponent = math.MaxInt32
)

// ErrPublicKey refuses a public key of a kind or size that is not accepted.
var ErrPublicKey = errors.New("credential: a public key of this kind or size is not used")

// CheckPublicKey returns ErrPublicKey for a public key that is weak, or so large
// that its owner could make a check take long. It computes nothing with the key.
// Call it before anything that does, for example before x509.Certificate.Verify
// for every certificate that the other side sent. It accepts RSA of 2,048 to
// 4,096 bits, ECDSA on P-256, P-384 and P-521, and Ed25519.
func CheckPublicKey(key any) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < minRSABits || bits > maxRSABits || k.N.Bit(0) == 0 ||
			k.E < minExponent || k.E > maxExponent || k.E%2 == 0 {
			return ErrPublicKey
		}
		return nil
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256(), elliptic.P384(), elliptic.P521():
			return nil
		}
	case ed25519.PublicKey:
		if len(k) == ed25519.PublicKeySize {
			return nil
		}
	}
	return ErrPublicKey
}
