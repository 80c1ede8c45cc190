package trustlist

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	_ "crypto/sha512" // SHA-384 and SHA-512
	"crypto/x509"
	"math/big"

	dsig "github.com/russellhaering/goxmldsig"
)

// hashes are the allowed digests, by their identifiers.
var hashes = map[string]crypto.Hash{
	"http://www.w3.org/2001/04/xmlenc#sha256":       crypto.SHA256,
	"http://www.w3.org/2001/04/xmldsig-more#sha384": crypto.SHA384,
	"http://www.w3.org/2001/04/xmlenc#sha512":       crypto.SHA512,
}

// method is a signature algorithm.
type method struct {
	hash       crypto.Hash
	ecdsa, pss bool
}

// methods are the allowed signature algorithms, by their identifiers.
var methods = map[string]method{
	dsig.RSASHA256SignatureMethod:                            {hash: crypto.SHA256},
	dsig.RSASHA384SignatureMethod:                            {hash: crypto.SHA384},
	dsig.RSASHA512SignatureMethod:                            {hash: crypto.SHA512},
	"http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1": {hash: crypto.SHA256, pss: true},
	"http://www.w3.org/2007/05/xmldsig-more#sha384-rsa-MGF1": {hash: crypto.SHA384, pss: true},
	"http://www.w3.org/2007/05/xmldsig-more#sha512-rsa-MGF1": {hash: crypto.SHA512, pss: true},
	dsig.ECDSASHA256SignatureMethod:                          {hash: crypto.SHA256, ecdsa: true},
	dsig.ECDSASHA384SignatureMethod:                          {hash: crypto.SHA384, ecdsa: true},
	dsig.ECDSASHA512SignatureMethod:                          {hash: crypto.SHA512, ecdsa: true},
}

// verify checks the signature of a message.
func (m method) verify(signer *x509.Certificate, message, value []byte) error {
	hash := m.hash.New()
	hash.Write(message)
	digest := hash.Sum(nil)
	good := false
	switch key := signer.PublicKey.(type) {
	case *rsa.PublicKey:
		switch {
		case m.ecdsa:
			return refuse(ReasonAlgorithm)
		case m.pss:
			good = rsa.VerifyPSS(key, m.hash, digest, value, &rsa.PSSOptions{SaltLength: m.hash.Size()}) == nil
		default:
			good = rsa.VerifyPKCS1v15(key, m.hash, digest, value) == nil
		}
	case *ecdsa.PublicKey:
		if !m.ecdsa {
			return refuse(ReasonAlgorithm)
		}
		half := (key.Curve.Params().BitSize + 7) / 8 // r and s, each of this length (RFC 6931, 2.3.6)
		if len(value) == 2*half {
			good = ecdsa.Verify(key, digest, new(big.Int).SetBytes(value[:half]), new(big.Int).SetBytes(value[half:]))
		}
	default:
		return refuse(ReasonAlgorithm)
	}
	if !good {
		return refuse(ReasonDigest)
	}
	return nil
}
