package document

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"math/big"
	"testing"
	"time"

	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/session"
)

// listed is a store with a trust list.
type listed struct {
	WalletStore
	entries []TrustedIssuer
}

func (l listed) Issuers(context.Context) ([]TrustedIssuer, error) { return l.entries, nil }

// TestIssuersStoredWithHugeKeys: a key that an older version stored and that is
// not used today ends no check and is computed with in none.
func TestIssuersStoredWithHugeKeys(t *testing.T) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	modulus := new(big.Int).Lsh(big.NewInt(1), 8191)
	huge := &rsa.PublicKey{N: modulus.SetBit(modulus, 0, 1), E: 65537}
	entry := func(key any) TrustedIssuer {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key, signer)
		if err != nil {
			t.Fatal(err)
		}
		return TrustedIssuer{DocType: wallet.DocTypes()[0], Certificate: der}
	}
	w := &Wallets{store: listed{entries: []TrustedIssuer{entry(huge), entry(signer.Public())}}}
	issuers, err := w.issuers(t.Context(), session.Session{Livemode: true})
	if err != nil || len(issuers) != 1 {
		t.Errorf("%d issuers of which one can be used, %v", len(issuers), err)
	}
}
