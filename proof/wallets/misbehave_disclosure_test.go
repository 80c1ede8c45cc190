package wallets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"agegate/internal/check/document/wallet"
)

// pidClaimMisbehaviours are signed by the issuer, but are no PID that is valid now,
// or bound to no key that can present it.
func pidClaimMisbehaviours(t *testing.T) []misbehaviour {
	t.Helper()
	var e edits
	claim := func(name, want, claim string, value any) {
		e.add(name, want, func(p *pid) { p.claims[claim] = value })
	}
	claim("another type than a PID (vct)", otherKind, "vct", "urn:eudi:pid:2")
	claim("a PID whose type is in capitals", otherKind, "vct", strings.ToUpper(wallet.DocTypePID))
	claim("a PID with a list of types", otherKind, "vct", []string{wallet.DocTypePID})
	e.add("a PID without its kind", otherKind, func(p *pid) { delete(p.claims, "vct") })
	claim("a PID that has expired", "expired", "exp", hours(-1).Unix())
	claim("a PID with an end that is a text", malformed, "exp", "2099-01-01")
	claim("a PID with an end below zero", malformed, "exp", -1)
	claim("a PID with an end beyond all times", malformed, "exp", 1e300)
	claim("a PID with an end that is null", malformed, "exp", nil)
	claim("a PID that is valid in an hour (nbf)", string(wallet.ReasonNotYetValid), "nbf", hours(1).Unix())
	claim("a PID that will be issued in an hour (iat)", string(wallet.ReasonNotYetValid), "iat", hours(1).Unix())
	claim("a PID issued before its issuer's certificate", notASigner, "iat", hours(-72).Unix())
	claim("a PID with a status of an unknown kind", noStatus, "status", map[string]any{"other": 1})
	claim("a PID with a status that is a text", malformed, "status", "valid")
	claim("a PID with a status that is null", malformed, "status", nil)
	claim("a PID with a place below zero in a status list", malformed, "status", statusList(-1, "https://127.0.0.1/list"))
	claim("a PID with a status list at this machine", noStatus, "status", statusList(0, "https://127.0.0.1/list"))
	claim("a PID with a status list at a cloud's metadata", noStatus, "status",
		statusList(0, "http://169.254.169.254/latest"))
	claim("a PID with a status list at no address", noStatus, "status", statusList(0, ""))
	key := newKey(t, elliptic.P256())
	cnf := func(name, want string, value any) { claim(name, want, "cnf", value) }
	jwk := func(name, want string, edit func(jwk map[string]any)) {
		e.add(name, want, func(p *pid) { edit(p.claims["cnf"].(map[string]any)["jwk"].(map[string]any)) })
	}
	e.add("a PID without a holder's key", algorithm, func(p *pid) { delete(p.claims, "cnf") })
	cnf("a PID with another holder's key", wrongDevice, map[string]any{"jwk": jwkOf(&key.PublicKey)})
	cnf("a PID with a holder's key by its name only", algorithm, map[string]any{"kid": "1"})
	cnf("a PID with a holder's key that is a text", algorithm, "key")
	cnf("a PID with a secret as the holder's key", algorithm,
		map[string]any{"jwk": map[string]any{"kty": "oct", "k": "AAAA"}})
	cnf("a PID with a holder's RSA key of 240,000 bits", algorithm,
		map[string]any{"jwk": map[string]any{"kty": "RSA", "n": strings.Repeat("A", 40_000), "e": "AQAB"}})
	cnf("a PID with a holder's key for encryption (X25519)", algorithm,
		map[string]any{"jwk": map[string]any{"kty": "OKP", "crv": "X25519", "x": encode64(strings.Repeat("\x01", 32))}})
	cnf("a PID with a holder's key on another curve", algorithm,
		map[string]any{"jwk": jwkOf(&newKey(t, elliptic.P224()).PublicKey)})
	jwk("a PID with a holder's key that is not on its curve", algorithm, func(j map[string]any) { j["y"] = j["x"] })
	jwk("a PID with a holder's key without y", algorithm, func(j map[string]any) { delete(j, "y") })
	jwk("a PID with a holder's key without its type", algorithm, func(j map[string]any) { delete(j, "kty") })
	jwk("a PID with a holder's private key", algorithm, func(j map[string]any) { maps.Copy(j, privateJWK(key)) })
	e.add("a PID with two types", malformed,
		func(p *pid) { p.payload = func(b []byte) []byte { return before(b, `"vct":"other"`) } })
	e.add("a PID with two ends", malformed,
		func(p *pid) { p.payload = func(b []byte) []byte { return before(b, `"exp":1`) } })
	e.add("a PID whose claims are a list", malformed,
		func(p *pid) { p.payload = func(b []byte) []byte { return []byte("[" + string(b) + "]") } })
	e.add("a PID whose claims are no JSON", malformed,
		func(p *pid) { p.payload = func(b []byte) []byte { return b[:len(b)-1] } })
	e.add("a PID with bytes after its claims", malformed,
		func(p *pid) { p.payload = func(b []byte) []byte { return append(b, '1') } })
	e.add("a PID nested 10,000 times", malformed, func(p *pid) {
		p.payload = func(b []byte) []byte {
			return before(b, `"a":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000))
		}
	})
	return e.all
}

func privateJWK(key *ecdsa.PrivateKey) map[string]any {
	d, err := key.Bytes()
	if err != nil {
		panic(err) // the key is good
	}
	all := jwkOf(&key.PublicKey)
	all["d"] = encode64(string(d))
	return all
}

// pidAgeMisbehaviours say nothing of the age asked for, or that the holder is too
// young.
func pidAgeMisbehaviours() []misbehaviour {
	var e edits
	states := func(name, want string, statements any) {
		e.add(name, want, func(p *pid) { p.states(ageClaim, statements) })
	}
	is := func(name string, value any) map[string]any { return map[string]any{name: value} }
	birth := func(name, want string, value any) {
		e.add(name, want, func(p *pid) { p.discloses(birthClaim, value) })
	}
	states("a PID of a holder who is too young", "under_age", is("18", false))
	states("a PID that states a lower age", noStatement, is("16", true))
	states("a PID that denies a higher age", noStatement, is("21", false))
	states("a PID whose statements contradict each other", malformed, map[string]any{"16": false, "21": true})
	states("a PID with a statement that is a text", malformed, is("18", "true"))
	states("a PID with a statement that is a number", malformed, is("18", 1))
	states("a PID with a statement that is null", malformed, is("18", nil))
	states("a PID with statements that are a list", malformed, []int{18})
	states("a PID with statements that are true", malformed, true)
	states("a PID with statements that are null", malformed, nil)
	for _, name := range []string{"018", "+18", "18.0", " 18", "１８", "-1", "", "18446744073709551634"} {
		states("a PID with a statement named `"+name+"`", malformed, is(name, true))
	}
	e.add("a PID with an age in years only", noStatement, func(p *pid) { p.states("age_in_years", 40) })
	e.add("a PID with a year of birth only", noStatement, func(p *pid) { p.states("age_birth_year", 1980) })
	e.add("a PID with a statement in another place", noStatement,
		func(p *pid) { p.states("address", map[string]any{ageClaim: is("18", true)}) })
	birth("a PID with the birth date of a holder of 17", "under_age", born(18, -2))
	birth("a PID with a birth date to come", noStatement, born(0, -400))
	birth("a PID with a year as birth date", malformed, "1980")
	birth("a PID with a date that does not exist", malformed, "1980-02-30")
	birth("a PID with a birth date in another order", malformed, "01.02.1980")
	birth("a PID with a time of birth", malformed, "1980-02-01T00:00:00Z")
	birth("a PID with a birth date that is a number", malformed, 19_800_201)
	birth("a PID with a birth date that is null", malformed, nil)
	e.add("a PID whose birth date contradicts its statement", malformed,
		func(p *pid) { p.claims[birthClaim] = born(10, 0) })
	e.add("a PID with the name of another claim for the birth date", noStatement,
		func(p *pid) { p.discloses("birth_date", born(30, 0)) })
	return e.all
}

// disclosureMisbehaviours disclose what the issuer did not sign so, or in another
// way than RFC 9901 says (7.1).
func disclosureMisbehaviours() []misbehaviour {
	var e edits
	text := func(name, want string, edit func(disclosure string) string) {
		e.add(name, want, func(p *pid) { p.disclosures[0] = edit(p.disclosures[0]) })
	}
	more := func(name, want string, disclosures ...string) {
		e.add(name, want, func(p *pid) { p.disclosures = append(p.disclosures, disclosures...) })
	}
	signed := func(name, want string, parts ...any) {
		e.add(name, want, func(p *pid) {
			p.disclosures = append(p.disclosures, disclosure(parts...))
			p.claims["_sd"] = []any{digestOf(disclosure(parts...))}
		})
	}
	claim := func(name, want, claim string, value any) {
		e.add(name, want, func(p *pid) { p.claims[claim] = value })
	}
	e.add("nothing disclosed (undisclosed digests)", noStatement, func(p *pid) { p.disclosures = nil })
	more("a disclosure without its digest", digest, disclosure("21", true))
	more("a disclosure of a birth date without its digest", digest, disclosure(birthClaim, "1980-01-01"))
	more("65 disclosures", malformed, slices.Repeat([]string{disclosure("a", 1)}, 64)...)
	more("an empty disclosure", malformed, "")
	e.add("a disclosure twice", malformed, func(p *pid) { p.disclosures = append(p.disclosures, p.disclosures[0]) })
	text("a disclosure altered", digest, func(string) string { return disclosure("18", false) })
	text("a disclosure with another salt", digest, func(string) string { return encode64(`["salt","18",true]`) })
	text("a disclosure in another encoding", digest,
		func(string) string { return encode64(`["salt of 128 bits", "18", true]`) })
	text("a disclosure with padding", malformed, func(d string) string { return d + "=" })
	text("a disclosure with a new line", digest, func(d string) string { return d + "\n" })
	text("a disclosure that is not encoded", malformed, func(string) string { return `["salt","18",true]` })
	text("a disclosure that is no JSON", malformed, func(string) string { return encode64("18") + "A" })
	text("a disclosure that is an object", malformed, func(string) string { return encode64(`{"18":true}`) })
	text("a disclosure nested 10,000 times", malformed,
		func(string) string { return encode64(strings.Repeat("[", 10_000)) })
	e.add("a digest twice in a list", malformed, func(p *pid) { p.claims["_sd"] = []any{"x", "x"} })
	e.add("a digest in two places", malformed, func(p *pid) { p.claims["_sd"] = []any{digestOf(p.disclosures[0])} })
	claim("a digest that is a number", malformed, "_sd", []any{1})
	claim("digests that are a text", malformed, "_sd", "x")
	claim("digests that are null", malformed, "_sd", nil)
	claim("an element's digest outside a list", malformed, "...", "x")
	claim("an element with more than its digest", malformed, "list", []any{map[string]any{"...": "x", "y": 1}})
	claim("an algorithm of digests below the top", malformed, "address", map[string]any{"_sd_alg": "sha-256"})
	claim("an unknown algorithm of a PID's digests", algorithm, "_sd_alg", "md5")
	claim("an algorithm of a PID's digests that is a number", algorithm, "_sd_alg", 256)
	claim("another algorithm of a PID's digests than named", digest, "_sd_alg", "sha-512")
	e.add("a PID's digests with SHA-1", algorithm, func(p *pid) {
		hash := sha1.Sum([]byte(p.disclosures[0]))
		p.claims["_sd_alg"], p.claims[ageClaim] = "sha-1", map[string]any{"_sd": []any{encode64(string(hash[:]))}}
	})
	e.add("a key binding's hash by another algorithm than the digests'", wrongDevice, func(p *pid) {
		hash := sha512.Sum512([]byte(p.disclosures[0]))
		p.claims["_sd_alg"], p.claims[ageClaim] = "sha-512", map[string]any{"_sd": []any{encode64(string(hash[:]))}}
	})
	signed("a disclosure of one part", malformed)
	signed("a disclosure of four parts", malformed, "a", 1, 2)
	signed("an element's disclosure among claims", malformed, true)
	signed("a disclosure whose name is a number", malformed, 18, true)
	signed("a disclosure of digests", malformed, "_sd", []any{})
	signed("a disclosure of an element's digest", malformed, "...", "x")
	signed("a disclosure of a claim that is there", malformed, ageClaim, map[string]any{"18": true})
	for _, name := range []string{"iss", "exp", "nbf", "cnf", "vct", "status"} {
		signed("a disclosure of `"+name+"`, which no issuer may hide", malformed, name, 1)
	}
	signed("a disclosure in which a member is twice", malformed, "a", json.RawMessage(`{"b":1,"b":2}`))
	e.add("a disclosure whose salt is a number", malformed, func(p *pid) {
		text := encode64(`[1,"18",true]`)
		p.disclosures, p.claims[ageClaim] = []string{text}, map[string]any{"_sd": []any{digestOf(text)}}
	})
	e.add("a claim's disclosure as an element", malformed, func(p *pid) {
		p.claims["list"] = []any{map[string]any{"...": digestOf(p.disclosures[0])}}
		delete(p.claims, ageClaim)
	})
	e.add("a nested disclosure whose parent is hidden", digest, func(p *pid) {
		inner := p.disclosures[0]
		p.discloses(ageClaim, map[string]any{"_sd": []any{digestOf(inner)}})
		p.disclosures = []string{inner}
	})
	e.add("a statement disclosed true and false", malformed, func(p *pid) {
		p.disclosures = append(p.disclosures, disclosure("18", false))
		p.claims[ageClaim] = map[string]any{"_sd": []any{digestOf(p.disclosures[0]), digestOf(p.disclosures[1])}}
	})
	return e.all
}
