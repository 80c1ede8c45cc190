package wallet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-jose/go-jose/v4"

	"agegate/internal/rules/credential"
)

// PresentPID issues a PID to a new wallet and presents it to an audience. It discloses
// the statement of age at path, or the birth date. It returns an SD-JWT with key
// binding.
func (i *SampleIssuer) PresentPID(
	s SampleDocument, path []string, audience, nonce string, now time.Time,
) (string, error) {
	holder, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	claims, disclosure := samplePID(s, path, now)
	claims["cnf"] = map[string]any{"jwk": jose.JSONWebKey{Key: &holder.PublicKey}}
	chain := []string{base64.StdEncoding.EncodeToString(i.signerDER)}
	issued, err := signJWT(i.signer, typeSDJWT, map[jose.HeaderKey]any{"x5c": chain}, claims)
	if err != nil {
		return "", err
	}
	presented := issued + "~" + disclosure + "~"
	binding, err := signJWT(holder, typeBinding, nil, map[string]any{
		"aud": audience, "nonce": nonce, "iat": now.Unix(), "sd_hash": digestOf(crypto.SHA256, presented),
	})
	return presented + binding, err
}

// samplePID returns the claims of a PID, and the disclosure of the one at path or
// of the birth date. All others stay hidden.
func samplePID(s SampleDocument, path []string, now time.Time) (claims map[string]any, disclosure string) {
	at := now
	if s.Expired {
		at = now.Add(-2 * sampleValidity)
	}
	var statements, hidden []string
	for age := 10; age < 100; age++ {
		text := disclosureOf(strconv.Itoa(age), s.Age >= age)
		statements = append(statements, digestOf(crypto.SHA256, text))
		if slices.Equal(path, []string{claimOver, strconv.Itoa(age)}) {
			disclosure = text
		}
	}
	for name, value := range map[string]string{"family_name": "Sample",
		claimBirth: now.AddDate(-s.Age, 0, 0).UTC().Format(time.DateOnly)} {
		text := disclosureOf(name, value)
		hidden = append(hidden, digestOf(crypto.SHA256, text))
		if name == claimBirth && s.born {
			disclosure = text
		}
	}
	claims = map[string]any{
		"vct": DocTypePID, "iss": "https://issuer.example", "iat": at.Add(-time.Minute).Unix(),
		"exp":     at.Add(sampleValidity).Unix(),
		"_sd_alg": "sha-256", "_sd": hidden,
	}
	if !s.born {
		claims[claimOver] = map[string]any{"_sd": statements}
	}
	if s.status != nil {
		claims["status"] = map[string]any{"status_list": map[string]any{"idx": s.status.Index, "uri": s.status.URI}}
	}
	return claims, disclosure
}

// disclosureOf returns the disclosure of a claim with a new salt.
func disclosureOf(name string, value any) string {
	encoded, err := json.Marshal([]any{rand.Text(), name, value})
	if err != nil {
		panic(err) // only strings and truth values are given
	}
	return base64.RawURLEncoding.EncodeToString(encoded)
}

// signJWT returns a JWT of a type over claims.
func signJWT(key *ecdsa.PrivateKey, typ jose.ContentType, header map[jose.HeaderKey]any, claims any) (string, error) {
	typed := map[jose.HeaderKey]any{jose.HeaderType: typ}
	maps.Copy(typed, header)
	return credential.SignJWS(jose.SigningKey{Algorithm: jose.ES256, Key: key}, typed, claims)
}
