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

	"github.com/google/uuid"
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
	w := &Wallets{store: listed{entries: []TrustedIssuer{entry(huge), entry(signer.Public())}}, now: time.Now}
	issuers, err := w.issuers(t.Context(), session.Session{Livemode: true})
	if err != nil || len(issuers) != 1 {
		t.Errorf("%d issuers of which one can be used, %v", len(issuers), err)
	}
}

// TestIssuersOfEndedLists: an issuer of a published list is trusted until the
// list's next update, without grace; one that an operator added is not affected.
func TestIssuersOfEndedLists(t *testing.T) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	until := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.AddDate(-1, 0, 0),
		NotAfter: until.AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	byHand := TrustedIssuer{DocType: wallet.DocTypeMDL, Certificate: der}
	fromList := TrustedIssuer{DocType: wallet.DocTypeProofOfAge, Certificate: der,
		List: IssuerList{ID: uuid.New(), Name: "AV", Until: until}}
	for at, want := range map[time.Time]int{until.Add(-time.Second): 2, until: 1, until.Add(time.Second): 1} {
		w := &Wallets{store: listed{entries: []TrustedIssuer{byHand, fromList}}, now: func() time.Time { return at }}
		issuers, err := w.issuers(t.Context(), session.Session{Livemode: true})
		if err != nil || len(issuers) != want || issuers[0].DocType != wallet.DocTypeMDL {
			t.Errorf("at %s: %d issuers, %v", at, len(issuers), err)
		}
	}
}
