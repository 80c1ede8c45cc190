package wallets

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"io"
	"net/http"
	"testing"

	sdjwt "github.com/MichaelFraser99/go-sd-jwt"
	disclosed "github.com/MichaelFraser99/go-sd-jwt/disclosure"
)

// A PID passes whose disclosures and key binding were made by a Go package that
// others wrote (go-sd-jwt), which has to read what the issuer signed for that.
func TestGoSDJWT(t *testing.T) {
	issuer := newAuthority(t)
	all := startAll(t, issuer)
	for _, f := range []form{formPID, formSignedPID, formBrowserPID} {
		for _, over := range []bool{true, false} {
			p := all[identityFor(f)].shop.shopper(18)
			a := newAnswer(p.question(f), issuer, newKey(t, elliptic.P256()))
			a.pid.byPackage(t, a, over)
			status, body := a.sending(p).post(p)
			want := map[bool]string{true: passed, false: pending}[over]
			if got := p.returns(); status != http.StatusOK || got != want {
				t.Errorf("%s, over 18 %t: %d %s, the session is %s", f, over, status, body, got)
			}
		}
	}
}

// byPackage lets the package make the disclosures and the key binding.
func (p *pid) byPackage(t *testing.T, a *answer, over bool) {
	t.Helper()
	age, err := disclosed.NewFromObject("18", over, nil)
	check(t, err)
	city, err := disclosed.NewFromObject("locality", "Köln", nil)
	check(t, err)
	state, err := disclosed.NewFromArrayElement("UT", nil)
	check(t, err)
	digest := func(d *disclosed.Disclosure) string { return string(d.Hash(sha256.New())) }
	p.claims["_sd_alg"] = "sha-256"
	p.claims[ageClaim] = map[string]any{"_sd": []any{digest(age)}}
	p.claims["address"] = map[string]any{"_sd": []any{digest(city)}}
	p.claims["nationalities"] = []any{map[string]any{"...": digest(state)}}
	p.disclosures = []string{age.EncodedValue, city.EncodedValue, state.EncodedValue}
	p.whole = func(presented, _ string) string {
		token, err := sdjwt.New(presented)
		check(t, err)
		check(t, token.AddKeyBindingJwt(rawSigner{a.holder}, crypto.SHA256, "ES256", p.bound["aud"].(string),
			p.bound["nonce"].(string)))
		text, err := token.Token()
		check(t, err)
		return *text
	}
}

// rawSigner signs messages as JWS says, which the package expects of its signers.
type rawSigner struct{ *ecdsa.PrivateKey }

// Sign implements crypto.Signer for a message that is not hashed yet.
func (s rawSigner) Sign(_ io.Reader, message []byte, _ crypto.SignerOpts) ([]byte, error) {
	return rawSignature(s.PrivateKey, message), nil
}
