package wallets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/wallet"
)

// pid is a PID as SD-JWT with key binding (RFC 9901) in the making, like answer: an
// honest one is made of its fields as newPID sets them. The functions get a part
// that is ready and return what takes its place; nil changes nothing.
type pid struct {
	claims      map[string]any // that the issuer signs
	header      map[string]any
	disclosures []string
	bound       map[string]any // claims of the key binding; those of nil are left out
	boundHeader map[string]any

	named   func(header []byte) []byte
	payload func(claims []byte) []byte
	issued  func(jwt string) string
	kbNamed func(header []byte) []byte
	kbClaim func(claims []byte) []byte
	binding func(jwt string) string
	whole   func(presented, binding string) string
}

// newPID returns the PID of a holder of 30, who discloses that they are over 18.
func newPID(a *answer) *pid {
	now := time.Now()
	over := disclosure("18", true)
	audience := a.request.clientID
	if a.request.form == formBrowserPID {
		audience = "origin:" + verifyURL
	}
	return &pid{
		header: map[string]any{"alg": "ES256", "typ": "dc+sd-jwt", "x5c": x5c(a.issuer.signer.Raw)},
		claims: map[string]any{
			"vct": wallet.DocTypePID, "iss": "https://issuer.example", "iat": now.Add(-time.Hour).Unix(),
			"exp": now.Add(time.Hour).Unix(),
			"cnf": map[string]any{"jwk": jwkOf(&a.holder.PublicKey)}, ageClaim: map[string]any{"_sd": []any{digestOf(over)}},
		},
		disclosures: []string{over},
		boundHeader: map[string]any{"alg": "ES256", "typ": "kb+jwt"},
		bound:       map[string]any{"aud": audience, "nonce": a.request.nonce, "iat": now.Unix()},
	}
}

const (
	ageClaim   = "age_equal_or_over"
	birthClaim = "birthdate"
)

// x5c is the header with certificates (RFC 7515, 4.1.6).
func x5c(certificates ...[]byte) (all []string) {
	for _, der := range certificates {
		all = append(all, base64.StdEncoding.EncodeToString(der))
	}
	return all
}

// jwkOf is a public key with no more than what a JWK must have (MinimalCnfJwk).
func jwkOf(key *ecdsa.PublicKey) map[string]any {
	point, err := key.Bytes()
	if err != nil {
		panic(err) // the key is good
	}
	size := (len(point) - 1) / 2
	return map[string]any{
		"kty": "EC", "crv": key.Params().Name, "x": encode64(string(point[1 : 1+size])),
		"y": encode64(string(point[1+size:])),
	}
}

// disclosure is the disclosure of a claim, or of an element of a list.
func disclosure(parts ...any) string {
	return encode64(string(mustJSON(append([]any{"salt of 128 bits"}, parts...))))
}

func digestOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return encode64(string(hash[:]))
}

// jwt signs claims by ECDSA with SHA-256, whatever the header says.
func jwt(key *ecdsa.PrivateKey, header, claims []byte) string {
	input := encode64(string(header)) + "." + encode64(string(claims))
	return input + "." + encode64(string(rawSignature(key, []byte(input))))
}

// presentation makes the SD-JWT with its key binding.
func (p *pid) presentation(a *answer) string {
	issued := jwt(a.signer, changed(mustJSON(p.header), p.named), changed(mustJSON(p.claims), p.payload))
	if p.issued != nil {
		issued = p.issued(issued)
	}
	presented := strings.Join(append([]string{issued}, p.disclosures...), "~") + "~"
	bound := map[string]any{"sd_hash": digestOf(presented)}
	maps.Copy(bound, p.bound)
	maps.DeleteFunc(bound, func(_ string, v any) bool { return v == nil })
	binding := jwt(a.holder, changed(mustJSON(p.boundHeader), p.kbNamed), changed(mustJSON(bound), p.kbClaim))
	if p.binding != nil {
		binding = p.binding(binding)
	}
	if p.whole != nil {
		return p.whole(presented, binding)
	}
	return presented + binding
}

func changed(part []byte, edit func([]byte) []byte) []byte {
	if edit == nil {
		return part
	}
	return edit(part)
}

// discloses puts a disclosure in the place of those of an honest PID, and its digest
// among the issuer's claims.
func (p *pid) discloses(parts ...any) {
	text := disclosure(parts...)
	p.disclosures, p.claims["_sd"] = []string{text}, []any{digestOf(text)}
	delete(p.claims, ageClaim)
}

// states puts statements that are always disclosed in the place of those of an
// honest PID.
func (p *pid) states(name string, value any) {
	p.disclosures = nil
	delete(p.claims, ageClaim)
	p.claims[name] = value
}

// born is the birth date of a holder who was so many years old some days ago, or
// will be, for negative days.
func born(years, days int) string {
	return time.Now().AddDate(-years, 0, -days).Format(time.DateOnly)
}

// Presentations of a PID that look unusual, but are as RFC 9901 and SD-JWT VC
// allow, pass.
func TestUnusualPIDs(t *testing.T) {
	issuer := newAuthority(t)
	all := startAll(t, issuer)
	for _, row := range []struct {
		name string
		edit func(p *pid)
	}{
		{"a holder's key of four members (MinimalCnfJwk)", func(*pid) {}},
		{"a holder's key of many members", func(p *pid) {
			jwk := p.claims["cnf"].(map[string]any)["jwk"].(map[string]any)
			jwk["kid"], jwk["use"], jwk["alg"], jwk["other"] = "1", "sig", "ES256", []any{}
		}},
		{"decoy digests", func(p *pid) {
			p.claims["_sd"] = []any{digestOf("a"), digestOf("b")}
			p.claims["nationalities"] = []any{map[string]any{"...": digestOf("c")}, "UT"}
			p.claims[ageClaim].(map[string]any)["_sd"] = []any{digestOf("d"), digestOf(p.disclosures[0]), digestOf("e")}
		}},
		{"the algorithm of digests named", func(p *pid) { p.claims["_sd_alg"] = "sha-256" }},
		{"an element of a list", func(p *pid) {
			element := disclosure("UT")
			p.claims["nationalities"] = []any{map[string]any{"...": digestOf(element)}}
			p.disclosures = append(p.disclosures, element)
		}},
		{"nested disclosures in another order", func(p *pid) {
			inner := p.disclosures[0]
			p.discloses(ageClaim, map[string]any{"_sd": []any{digestOf(inner)}})
			p.disclosures = append([]string{inner}, p.disclosures...)
		}},
		{"the same name in two places", func(p *pid) {
			other := disclosure("18", "a house number")
			p.claims["address"] = map[string]any{"_sd": []any{digestOf(other)}}
			p.disclosures = append(p.disclosures, other)
		}},
		{"a birth date", func(p *pid) { p.discloses(birthClaim, born(18, 2)) }},
		{"no end of validity", func(p *pid) { delete(p.claims, "exp") }},
		{"a beginning of validity", func(p *pid) { p.claims["nbf"] = time.Now().Add(-time.Minute).Unix() }},
		{"unknown claims of the key binding", func(p *pid) { p.bound["jti"], p.bound["other"] = "1", 1 }},
		{"an end of the key binding in an hour", func(p *pid) { p.bound["exp"] = time.Now().Add(time.Hour).Unix() }},
		{"the long type of the key binding, in capitals", func(p *pid) { p.boundHeader["typ"] = "application/KB+JWT" }},
		{"unknown members of headers", func(p *pid) { p.header["other"], p.boundHeader["kid"] = []any{}, "1" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, f := range []form{formPID, formSignedPID, formBrowserPID} {
				s := shop{t, all[identityFor(f)].shop.g, all[identityFor(f)].shop.key}
				p := s.shopper(18)
				a := newAnswer(p.question(f), issuer, newKey(t, elliptic.P256()))
				row.edit(a.pid)
				status, body := a.sending(p).post(p)
				if got := p.returns(); status != http.StatusOK || got != passed {
					t.Errorf("%s: %d %s, the session is %s", f, status, body, got)
				}
			}
		})
	}
}
