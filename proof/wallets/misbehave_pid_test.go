package wallets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/wallet"
)

// pidMisbehaviours are presentations of a PID (SD-JWT).
func pidMisbehaviours(t *testing.T, issuer *authority) (all []misbehaviour) {
	t.Helper()
	all = append(all, bindingMisbehaviours(t)...)
	all = append(all, pidIssuerMisbehaviours(t, issuer)...)
	all = append(all, pidClaimMisbehaviours(t)...)
	all = append(all, pidAgeMisbehaviours()...)
	all = append(all, disclosureMisbehaviours()...)
	return append(all, pidTokenMisbehaviours()...)
}

// edits collects misbehaviours of PIDs by link.
type edits struct{ all []misbehaviour }

func (e *edits) add(name, want string, edit func(p *pid)) {
	e.all = append(e.all, misbehaviour{name, formPID, func(a *answer) { edit(a.pid) }, want})
}

// bindingMisbehaviours are key bindings that the holder did not make for this
// request.
func bindingMisbehaviours(t *testing.T) []misbehaviour {
	t.Helper()
	var e edits
	bind := func(name, claim string, value any) {
		e.add(name, wrongDevice, func(p *pid) { p.bound[claim] = value })
	}
	header := func(name, want, member string, value any) {
		e.add(name, want, func(p *pid) { p.boundHeader[member] = value })
	}
	made := func(name, want string, edit func(jwt string) string) {
		e.add(name, want, func(p *pid) { p.binding = edit })
	}
	stolen := newKey(t, elliptic.P256())
	made("the key binding's signature altered (InvalidKbJwtSignature)", wrongDevice,
		func(j string) string { return altered(j, 2) })
	made("the key binding's claims altered", wrongDevice, func(j string) string { return altered(j, 1) })
	bind("a key binding for another verifier (InvalidKbJwtAud)", "aud", "x509_hash:other")
	bind("a key binding for no verifier", "aud", nil)
	bind("a key binding for the browser's page, by link", "aud", "origin:"+verifyURL)
	e.add("a key binding for several verifiers", wrongDevice,
		func(p *pid) { p.bound["aud"] = []any{p.bound["aud"], "other"} })
	e.add("a key binding for the verifier without its prefix", wrongDevice, func(p *pid) {
		p.bound["aud"] = strings.TrimPrefix(p.bound["aud"].(string), "redirect_uri:")
	})
	e.all = append(e.all, misbehaviour{"a key binding for an unsigned request, to a signed one", formSignedPID,
		func(a *answer) {
			a.pid.bound["aud"] = "redirect_uri:" + a.request.responseURI
		}, wrongDevice})
	for name, audience := range map[string]string{
		"another page's": "origin:https://evil.example", "the page's without its prefix": verifyURL,
		"a link's": "redirect_uri:" + verifyURL,
	} {
		e.all = append(e.all, misbehaviour{"a key binding in the browser for an audience that is " + name, formBrowserPID,
			func(a *answer) { a.pid.bound["aud"] = audience }, unverified})
	}
	bind("a key binding with another nonce (InvalidKbJwtNonce)", "nonce", strings.Repeat("A", 32))
	bind("a key binding without a nonce", "nonce", nil)
	bind("a key binding with a nonce that is a number", "nonce", 1)
	bind("a key binding with another hash (InvalidKbJwtSdHash)", "sd_hash", digestOf("other"))
	bind("a key binding without a hash", "sd_hash", nil)
	e.add("a key binding with the hash of the issuer's JWT only", wrongDevice, func(p *pid) {
		p.issued = func(j string) string { p.bound["sd_hash"] = digestOf(j); return j }
	})
	e.add("a key binding with the hash of a presentation without disclosures", wrongDevice, func(p *pid) {
		p.issued = func(j string) string { p.bound["sd_hash"] = digestOf(j + "~"); return j }
	})
	bind("a key binding of last year (KbJwtIatInPast)", "iat", time.Now().AddDate(-1, 0, 0).Unix())
	bind("a key binding of half an hour ago", "iat", time.Now().Add(-30*time.Minute).Unix())
	clock := string(wallet.ReasonClock)
	e.add("a key binding of tomorrow (KbJwtIatInFuture)", clock, func(p *pid) { p.bound["iat"] = hours(24).Unix() })
	e.add("a key binding of the next hour", clock, func(p *pid) { p.bound["iat"] = hours(1).Unix() })
	e.add("a key binding that begins in the next hour", clock, func(p *pid) { p.bound["nbf"] = hours(1).Unix() })
	bind("a key binding that ended in 1970", "exp", 1)
	e.add("a key binding whose end is a text", malformed, func(p *pid) { p.bound["exp"] = "tomorrow" })
	bind("a key binding without a time", "iat", nil)
	e.add("a key binding with a time that is a text", malformed, func(p *pid) { p.bound["iat"] = "now" })
	e.add("a key binding with a time beyond all times", malformed, func(p *pid) { p.bound["iat"] = 1e300 })
	header("a key binding of type JWT", malformed, "typ", "JWT")
	header("a key binding without a type", malformed, "typ", nil)
	header("a key binding without a signature's algorithm (alg none)", algorithm, "alg", "none")
	header("a key binding with an unknown algorithm", algorithm, "alg", "ES999")
	header("a key binding with an algorithm for another curve", wrongDevice, "alg", "ES384")
	header("a key binding with an algorithm for RSA", algorithm, "alg", "RS256")
	header("a key binding with an unknown critical header", wrongDevice, "crit", []string{"exp"})
	e.all = append(e.all,
		misbehaviour{"a key binding with the holder's public key as a secret (alg confusion)", formPID, func(a *answer) {
			a.pid.boundHeader["alg"] = "HS256"
			a.pid.binding = func(j string) string { return hmacBy(mustJSON(jwkOf(&a.holder.PublicKey)), j) }
		}, algorithm},
		misbehaviour{"a key binding by a stranger's key, which its header holds", formPID, func(a *answer) {
			a.holder = stolen
			a.pid.boundHeader["jwk"] = jwkOf(&stolen.PublicKey)
		}, wrongDevice},
		misbehaviour{"a key binding by the issuer", formPID, func(a *answer) { a.holder = a.issuer.own }, wrongDevice},
	)
	e.add("no key binding", malformed, func(p *pid) { p.whole = func(presented, _ string) string { return presented } })
	e.add("no key binding and no separator", malformed,
		func(p *pid) { p.whole = func(presented, _ string) string { return strings.TrimSuffix(presented, "~") } })
	e.add("two key bindings", malformed, func(p *pid) {
		p.whole = func(presented, binding string) string { return presented + binding + "~" + binding }
	})
	e.add("a key binding before the disclosures", malformed, func(p *pid) {
		p.whole = func(presented, binding string) string { return strings.Replace(presented, "~", "~"+binding+"~", 1) }
	})
	made("a key binding of two parts", algorithm, func(j string) string { return j[:strings.LastIndexByte(j, '.')] })
	made("a key binding of four parts", algorithm, func(j string) string { return j + ".AAAA" })
	made("a key binding without its signature", wrongDevice,
		func(j string) string { return j[:strings.LastIndexByte(j, '.')+1] })
	made("a key binding signed in DER", wrongDevice, func(j string) string {
		at := strings.LastIndexByte(j, '.') + 1
		raw, _ := base64.RawURLEncoding.DecodeString(j[at:])
		return j[:at] + encode64(string(der(raw)))
	})
	e.add("a key binding that is a list", malformed,
		func(p *pid) { p.kbClaim = func(b []byte) []byte { return []byte("[" + string(b) + "]") } })
	e.add("a key binding with two nonces", malformed,
		func(p *pid) { p.kbClaim = func(b []byte) []byte { return before(b, `"nonce":"other"`) } })
	return sorted(e.all)
}

// before returns an object with a member put before all others.
func before(object []byte, member string) []byte {
	return []byte("{" + member + "," + string(object[1:]))
}

// hmacBy replaces a JWT's signature by a MAC.
func hmacBy(secret []byte, jwt string) string {
	at := strings.LastIndexByte(jwt, '.')
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(jwt[:at]))
	return jwt[:at+1] + encode64(string(mac.Sum(nil)))
}

// pidIssuerMisbehaviours are not signed by a trusted issuer.
func pidIssuerMisbehaviours(t *testing.T, issuer *authority) []misbehaviour {
	t.Helper()
	var e edits
	header := func(name, want, member string, value any) {
		e.add(name, want, func(p *pid) { p.header[member] = value })
	}
	made := func(name, want string, edit func(jwt string) string) {
		e.add(name, want, func(p *pid) { p.issued = edit })
	}
	signed := func(name, want string, by *ecdsa.PrivateKey, chain []string) {
		e.all = append(e.all, misbehaviour{name, formPID, func(a *answer) { a.signer, a.pid.header["x5c"] = by, chain },
			want})
	}
	made("the PID's signature altered (InvalidCredentialSignature)", wrongIssuer,
		func(j string) string { return altered(j, 2) })
	made("the PID's claims altered", wrongIssuer, func(j string) string { return altered(j, 1) })
	made("the PID's signature left out", wrongIssuer, func(j string) string { return j[:strings.LastIndexByte(j, '.')+1] })
	made("a PID in JSON's serialisation", malformed, func(j string) string {
		parts := strings.Split(j, ".")
		return string(mustJSON(map[string]any{"protected": parts[0], "payload": parts[1], "signature": parts[2]}))
	})
	made("a PID whose issuer's JWT is empty", malformed, func(string) string { return "" })
	header("a PID that is not signed (alg none)", algorithm, "alg", "none")
	header("a PID with an unknown algorithm", algorithm, "alg", "ES256K")
	header("a PID with an algorithm for RSA", algorithm, "alg", "PS256")
	header("a PID of type JWT", malformed, "typ", "JWT")
	header("a PID of an earlier draft's type", malformed, "typ", "vc+sd-jwt")
	header("a PID without a type", malformed, "typ", nil)
	header("a PID with an unknown critical header", wrongIssuer, "crit", []string{"exp"})
	header("a PID with claims that are not encoded (b64)", wrongIssuer, "b64", false)
	header("a PID without certificates", malformed, "x5c", nil)
	header("a PID with certificates that are a text", malformed, "x5c", "AAAA")
	header("a PID with a certificate of nothing", malformed, "x5c", []string{""})
	header("a PID with no certificate in the list", malformed, "x5c", []string{})
	header("a PID with a certificate in base64url", malformed, "x5c", []string{"-" + encode64(string(issuer.signer.Raw))})
	header("a PID with a chain of a hundred certificates", malformed, "x5c", x5c(encodings(repeat(issuer.signer, 100))...))
	stranger, own := newAuthority(t), newKey(t, elliptic.P256())
	signed("a PID of a stranger with the authority's name", unknownIssuer, stranger.own, x5c(stranger.signer.Raw))
	signed("a PID of a stranger with the authority's certificate", unknownIssuer, stranger.own,
		x5c(stranger.signer.Raw, issuer.root.Raw))
	signed("a PID signed by a stranger with the issuer's certificate", wrongIssuer, stranger.own, x5c(issuer.signer.Raw))
	signed("a PID of an issuer that has expired", expiredIssuer, own,
		x5c(issuer.sign(t, &own.PublicKey, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = hours(-48),
				hours(-24)
		}).Raw))
	signed("a PID of an issuer that may not sign", notASigner, own,
		x5c(issuer.sign(t, &own.PublicKey, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement }).Raw))
	signed("a PID of an issuer with an RSA key of 16,384 bits", algorithm, own,
		x5c(issuer.sign(t, rsaKey(16_384, 65537), nil).Raw))
	e.all = append(e.all,
		misbehaviour{"a PID signed by its holder, whose key its header holds", formPID, func(a *answer) {
			a.signer = a.holder
			a.pid.header["jwk"] = jwkOf(&a.holder.PublicKey)
			delete(a.pid.header, "x5c")
		}, malformed},
		misbehaviour{"a PID with the issuer's certificate as a secret (alg confusion)", formPID, func(a *answer) {
			a.pid.header["alg"] = "HS256"
			a.pid.issued = func(j string) string { return hmacBy(a.issuer.signer.Raw, j) }
		}, algorithm},
	)
	return e.all
}

func encodings(certificates []*x509.Certificate) (all [][]byte) {
	for _, c := range certificates {
		all = append(all, c.Raw)
	}
	return all
}

// pidTokenMisbehaviours answer the wrong query, or in another form.
func pidTokenMisbehaviours() (all []misbehaviour) {
	add := func(name string, f form, want string, edit func(a *answer)) {
		all = append(all, misbehaviour{name, f, edit, want})
	}
	add("a PID under the licence's query", formPID, malformed, func(a *answer) { a.queryID = "licence" })
	add("a PID under its type's name", formPID, malformed, func(a *answer) { a.queryID = wallet.DocTypePID })
	add("a licence under the PID's query", "", malformed, func(a *answer) { a.queryID = "pid" })
	add("a PID to av://", formProofOfAge, malformed, func(a *answer) { a.pid = newPID(a) })
	add("a PID that is not encrypted", formPID, malformed, func(a *answer) {
		a.send = func(s *sending) { s.form = map[string][]string{"vp_token": {string(mustJSON(a.vpToken()))}} }
	})
	add("two PIDs", formPID, malformed, func(a *answer) {
		a.token = func(t map[string]any) any {
			return map[string]any{"pid": []any{t["pid"].([]any)[0], t["pid"].([]any)[0]}}
		}
	})
	add("a PID that is an object", formPID, malformed, func(a *answer) {
		a.token = func(map[string]any) any { return map[string]any{"pid": []any{map[string]any{}}} }
	})
	add("a PID without its list", formPID, malformed, func(a *answer) {
		a.token = func(t map[string]any) any { return map[string]any{"pid": t["pid"].([]any)[0]} }
	})
	for name, text := range map[string]string{
		"nothing": "", "a hundred thousand separators": strings.Repeat("~", 100_000), "no separator": "a.b",
		"other characters": "\x00~\u2028~é",
	} {
		add("a PID of "+name, formPID, malformed,
			func(a *answer) { a.pid.whole = func(string, string) string { return text } })
	}
	return sorted(all)
}
