package security

import (
	"errors"
	"net/url"
	"testing"

	"agegate/internal/check/document/wallet"
	"agegate/internal/check/document/wallet/wallettest"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/proof/table"
)

// Wallet answers with a certificate whose RSA key is so large that checking one
// signature takes seconds, while shoppers of another tenant use their wallets.
func TestHugeKeysInWallets(t *testing.T) {
	chain := wallettest.Chain(t, wallettest.HugeKey(wallettest.HugeBits))
	hostile := walletAnswer{scheme: wallet.SchemeProofOfAge, form: func(form url.Values) {
		form.Set("vp_token", wallettest.Token(t, "age", wallet.DocTypeProofOfAge, chain))
	}}
	onEach(t, "Huge RSA keys in wallets' answers", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		issuer := trustedIssuer(t, g)
		wallets := func(shop *tenant.Tenant) { shop.DocumentCheck = true }
		attacked, other := g.Shop(t, "", wallets).Test.APIKey, g.Shop(t, "", wallets).Test.APIKey
		answers, attempts := table.Sized(40, 8), table.Sized(40, 4)
		prepared := make([]presentation, answers)
		for i := range prepared {
			prepared[i] = prepareWallet(t, g, issuer, attacked, hostile)
		}
		costs(r, "processor time of an answer", answers, func(i int) { prepared[i].post(t, g) })
		posted := besideAttack(t, r, attempts, func(i int) { prepared[i%answers].post(t, g) }, func() error {
			if s := playWallet(t, g, issuer, other,
				walletAnswer{scheme: wallet.SchemeOpenID}); s.Status != session.StatusPassed {
				return errors.New(string(s.Status))
			}
			return nil
		})
		var passed []string
		for _, p := range prepared {
			if s := p.session(t, g); s.Status != session.StatusPending {
				passed = append(passed, string(s.Status))
			}
		}
		r.Didf("%d answers with keys of %d bits, and %d beside %d honest ones of another tenant", answers,
			wallettest.HugeBits, posted, attempts)
		r.None("sessions that ended", passed)
	})
}
