package wallets

import (
	"bytes"
	"crypto/elliptic"
	"encoding/asn1"
	"maps"
	"math"
	"math/big"
	"testing"

	"agegate/internal/check/document/wallet"

	"github.com/fxamacker/cbor/v2"
)

const (
	digest      = string(wallet.ReasonDigest)
	noStatement = string(wallet.ReasonNoStatement)
)

func tagged(number uint64, content any) cbor.Tag { return cbor.Tag{Number: number, Content: content} }

// documentMisbehaviours disclose what the issuer did not sign, or statements that
// do not prove the age.
func documentMisbehaviours() (all []misbehaviour) {
	add := func(name, want string, edit func(a *answer)) { all = append(all, misbehaviour{name, "", edit, want}) }
	states := func(name, want string, elements ...element) {
		add(name, want, func(a *answer) { a.elements = elements })
	}
	item := func(name, want string, edit func(n int, b []byte) []byte) {
		add(name, want, func(a *answer) { a.item = edit })
	}
	states("a holder who is too young", "under_age", element{"age_over_18", false})
	states("a statement without a value", noStatement, element{"age_over_18", nil})
	states("a statement of a lower age", noStatement, element{"age_over_16", true})
	states("a statement that is a number", malformed, element{"age_over_18", 1})
	states("a statement that is a text", malformed, element{"age_over_18", "true"})
	states("a statement that is a list", malformed, element{"age_over_18", []any{true}})
	states("a statement in a tag", malformed, element{"age_over_18", tagged(24, []byte{0xf5})})
	states("a statement that is not a number", malformed, element{"age_over_18", math.NaN()})
	states("statements that contradict each other", malformed, element{"age_over_18", false}, element{"age_over_21", true})
	states("the same statement twice, true and false", malformed, element{"age_over_18", true},
		element{"age_over_18", false})
	states("no statement at all", noStatement)
	states("a birth date only", noStatement, element{"birth_date", tagged(1004, "1970-01-01")})
	states("an age in years only", noStatement, element{"age_in_years", 40})
	for _, name := range []string{"age_over_018", "age_over_1", "age_over_ 18", "age_over_+18", "AGE_OVER_18",
		"age_over_18 ", "age_over_１８", "age_over_"} {
		states("a statement named `"+name+"`", noStatement, element{name, true})
	}
	states("600 statements", malformed, many(600)...)
	inside := func(name string, old, replacement []byte) {
		item(name, digest, func(_ int, b []byte) []byte { return embed(bytes.Replace(contentOf(b), old, replacement, 1)) })
	}
	number := []byte("\x68digestID")
	inside("a statement altered (digest mismatch)", []byte("age_over_18"), []byte("age_over_19"))
	inside("a statement's salt altered", []byte("0123456789abcdef"), []byte("0123456789abcdeg"))
	inside("a statement's digest number altered", append(number, 0), append(number, 1))
	inside("a statement encoded in another way", append(number, 0), append(number, 0x18, 0))
	item("a statement that is not embedded", malformed,
		func(int, []byte) []byte { return encode(map[string]any{"digestID": 0}) })
	item("a statement in another tag", malformed,
		func(_ int, b []byte) []byte { return append([]byte{0xd8, 25}, b[2:]...) })
	item("a statement that is empty", malformed, func(int, []byte) []byte { return embed(nil) })
	item("a statement nested 10,000 times", malformed,
		func(int, []byte) []byte { return embed(bytes.Repeat([]byte{0x81}, 10_000)) })
	item("a duplicate member of a statement", malformed, func(_ int, b []byte) []byte {
		return embed(twice(contentOf(b), "elementValue", true))
	})
	add("statements in a namespace of the holder", digest, func(a *answer) {
		a.spaces = func(s map[string]any) { s["own"] = s[a.space] }
	})
	add("statements in another namespace only", digest, func(a *answer) {
		a.spaces = func(s map[string]any) { s["org.iso.18013.5.2"] = s[a.space]; delete(s, a.space) }
	})
	add("the issuer's statements in another kind's namespace", noStatement,
		func(a *answer) { a.space = namespaces[wallet.DocTypeProofOfAge] })
	add("a statement disclosed twice", malformed, func(a *answer) {
		a.spaces = func(s map[string]any) { s[a.space] = append(s[a.space].([]any), s[a.space].([]any)...) }
	})
	add("a namespace that is a map", malformed,
		func(a *answer) { a.spaces = func(s map[string]any) { s[a.space] = map[string]any{} } })
	add("six hundred namespaces", malformed, func(a *answer) {
		a.spaces = func(s map[string]any) {
			for n := range 600 {
				s[string(rune('a'+n))] = []any{}
			}
		}
	})
	add("a document of a kind that nobody asked for", otherKind, func(a *answer) { a.kind(wallet.DocTypePhotoID) })
	add("a document of an unknown kind", otherKind, func(a *answer) { a.docType = "org.example" })
	for name, edit := range map[string]func(d map[string]any){
		"another kind named than signed":      func(d map[string]any) { d["docType"] = wallet.DocTypeMDL + "x" },
		"the kind's name in capitals":         func(d map[string]any) { d["docType"] = "ORG.ISO.18013.5.1.MDL" },
		"a document without a kind":           func(d map[string]any) { delete(d, "docType") },
		"a document with errors in its place": func(d map[string]any) { clear(d); d["errors"] = map[string]any{} },
	} {
		add(name, otherKind, func(a *answer) { a.document = edit })
	}
	add("a document without the issuer's part", malformed,
		func(a *answer) { a.document = func(d map[string]any) { delete(d, "issuerSigned") } })
	return sorted(all)
}

// contentOf returns the content of an embedded item.
func contentOf(embedded []byte) []byte {
	var tag cbor.Tag
	if err := cbor.Unmarshal(embedded, &tag); err != nil {
		panic(err) // it was encoded here
	}
	return tag.Content.([]byte)
}

func many(n int) (all []element) {
	for range n {
		all = append(all, element{"x", true})
	}
	return all
}

// deviceMisbehaviours are not presented by the wallet to which the document was
// issued, or not for this request.
func deviceMisbehaviours(t *testing.T) (all []misbehaviour) {
	t.Helper()
	add := func(name, want string, edit func(a *answer)) { all = append(all, misbehaviour{name, "", edit, want}) }
	presented := func(name, want string, edit func(c []any) any) {
		add(name, want, func(a *answer) { a.presented = edit })
	}
	auth := func(name, want string, edit func(auth map[string]any)) {
		add(name, want, func(a *answer) { a.auth = edit })
	}
	key := func(name, want string, deviceKey any) {
		add(name, want, func(a *answer) {
			a.object = func(o map[string]any) { o["deviceKeyInfo"] = map[string]any{"deviceKey": deviceKey} }
		})
	}
	stolen := newKey(t, elliptic.P256())
	add("a document of somebody else (another device key)", wrongDevice, func(a *answer) {
		a.object = func(o map[string]any) { o["deviceKeyInfo"] = map[string]any{"deviceKey": coseKey(&stolen.PublicKey)} }
	})
	presented("the holder's signature altered", wrongDevice, func(c []any) any { return flip(c, 3) })
	presented("a holder's signature of zeros", wrongDevice, func(c []any) any { c[3] = make([]byte, 64); return c })
	presented("no holder's signature", malformed, func(c []any) any { c[3] = []byte{}; return c })
	presented("the holder's signature in DER", wrongDevice, func(c []any) any { c[3] = der(c[3].([]byte)); return c })
	presented("the holder's signature with its payload", malformed, func(c []any) any { c[2] = []byte{1}; return c })
	presented("no holder's algorithm", algorithm, func(c []any) any { c[0] = []byte{}; return c })
	presented("the holder's algorithm for a MAC", algorithm,
		func(c []any) any { c[0] = encode(map[int]any{1: 5}); return c })
	presented("a holder's signature that is a text", malformed, func([]any) any { return "signature" })
	auth("no authentication of the holder", wrongDevice, func(a map[string]any) { clear(a) })
	auth("a signature and a MAC of the holder", wrongDevice,
		func(a map[string]any) { a["deviceMac"] = a["deviceSignature"] })
	mac := func(alg int) []any { return []any{encode(map[int]any{1: alg}), map[any]any{}, nil, make([]byte, 32)} }
	auth("a MAC with another key", wrongDevice, func(a map[string]any) { clear(a); a["deviceMac"] = mac(5) })
	auth("a MAC of 64 bits", algorithm, func(a map[string]any) { clear(a); a["deviceMac"] = mac(4) })
	auth("a MAC with the algorithm of a signature", algorithm,
		func(a map[string]any) { clear(a); a["deviceMac"] = mac(algES256) })
	auth("a MAC with its payload", malformed,
		func(a map[string]any) { clear(a); m := mac(5); m[2] = []byte{1}; a["deviceMac"] = m })
	add("the holder's signature over another label", wrongDevice, func(a *answer) {
		a.payload = func(b []byte) []byte {
			return bytes.Replace(b, []byte("DeviceAuthentication"), []byte("ReaderAuthentication"), 1)
		}
	})
	add("the holder's signature over another kind", wrongDevice, func(a *answer) {
		a.payload = func(b []byte) []byte { return bytes.Replace(b, []byte("mDL"), []byte("mDX"), 1) }
	})
	add("the holder's signature over what is not embedded", wrongDevice, func(a *answer) {
		a.payload = func(b []byte) []byte { return b[4:] }
	})
	add("a session transcript of nothing", wrongDevice, func(a *answer) { a.session = encode(nil) })
	add("statements of the holder only", noStatement, func(a *answer) {
		a.elements = nil
		a.signed = embed(encode(map[string]any{a.space: map[string]any{"age_over_18": true}}))
	})
	add("statements of the holder against the issuer's", "under_age", func(a *answer) {
		a.elements = []element{{"age_over_18", false}}
		a.signed = embed(encode(map[string]any{a.space: map[string]any{"age_over_18": true}}))
	})
	add("the holder's namespaces not embedded", malformed, func(a *answer) { a.signed = map[string]any{} })
	point := coseKey(&stolen.PublicKey)
	change := func(label int, value any) map[int]any {
		changed := maps.Clone(point)
		changed[label] = value
		return changed
	}
	key("a device key that is not on its curve", algorithm, change(-3, bytes.Repeat([]byte{1}, 32)))
	key("a device key at infinity", algorithm, map[int]any{1: 2, -1: 1, -2: make([]byte, 32), -3: make([]byte, 32)})
	key("a device key of 40,000 bytes", algorithm, change(-2, make([]byte, 40_000)))
	key("a compressed device key", algorithm, change(-3, true))
	key("a device key without y (MinimalCnfJwk)", algorithm, map[int]any{1: 2, -1: 1, -2: point[-2]})
	key("a device key on an unknown curve", algorithm, change(-1, 8))
	key("a device key for encryption (X25519)", algorithm, map[int]any{1: 1, -1: 4, -2: make([]byte, 32)})
	key("an Ed25519 key of 31 bytes", algorithm, map[int]any{1: 1, -1: 6, -2: make([]byte, 31)})
	key("an RSA device key", malformed, map[int]any{1: 3, -1: make([]byte, 40_000), -2: []byte{1, 0, 1}})
	key("a symmetric device key", malformed, map[int]any{1: 4, -1: make([]byte, 32)})
	key("a device key that is a text", malformed, "key")
	key("a device key with a type as text", malformed, change(1, "EC"))
	return all
}

// der returns a raw signature in DER.
func der(raw []byte) []byte {
	b, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:])})
	if err != nil {
		panic(err) // two numbers
	}
	return b
}

// browserMisbehaviours are results of the Digital Credentials API.
func browserMisbehaviours() (all []misbehaviour) {
	add := func(f form, name, want string, edit func(a *answer)) {
		all = append(all, misbehaviour{name, f, edit, want})
	}
	body := func(name, want, body string) {
		add(formBrowser, name, want, func(a *answer) { a.send = func(s *sending) { s.body = []byte(body) } })
	}
	mdoc := func(name string, edit func(whole []any) []any) {
		add(formMdoc, name, unverified, func(a *answer) { a.whole = edit })
	}
	other := "https://evil.example"
	thumb := func(a *answer) []byte {
		b, err := a.request.key.Thumbprint(hash256)
		if err != nil {
			panic(err) // the key is good
		}
		return b
	}
	add(formBrowser, "a presentation for another origin", unverified, func(a *answer) {
		a.session = transcriptOf("OpenID4VPDCAPIHandover", other, a.request.nonce, thumb(a))
	})
	add(formBrowser, "a presentation for the origin with a slash", unverified, func(a *answer) {
		a.session = transcriptOf("OpenID4VPDCAPIHandover", verifyURL+"/", a.request.nonce, thumb(a))
	})
	add(formBrowser, "the link's transcript in the browser", unverified, func(a *answer) {
		a.session = transcriptOf("OpenID4VPHandover", "origin:"+verifyURL, a.request.nonce, thumb(a), verifyURL)
	})
	add(formBrowser, "another session's nonce in the browser", unverified, func(a *answer) {
		a.session = transcriptOf("OpenID4VPDCAPIHandover", verifyURL, "nonce", thumb(a))
	})
	add(formBrowser, "the browser's answer without its document", unverified,
		func(a *answer) { a.token = func(map[string]any) any { return nil } })
	add(formBrowser, "an expired document in the browser", "expired", func(a *answer) {
		a.object = func(o map[string]any) {
			o["validityInfo"] = map[string]any{"signed": tdate(hours(-2)), "validFrom": tdate(hours(-2)),
				"validUntil": tdate(hours(-1))}
		}
	})
	add(formBrowser, "a page of another origin", notTaken+" (403)",
		func(a *answer) { a.send = func(s *sending) { s.origin = other } })
	add(formBrowser, "a page without an origin", notTaken+" (403)",
		func(a *answer) { a.send = func(s *sending) { s.origin = "null" } })
	body("a browser's answer that is no JSON", notTaken400, "{")
	body("a browser's answer nested 100,000 times", notTaken400, `{"data":`+string(bytes.Repeat([]byte{'['}, 100_000)))
	body("a browser's answer without data", unverified, `{"protocol":"openid4vp-v1-unsigned"}`)
	body("a browser's answer with data that is a number", unverified, `{"protocol":"openid4vp-v1-unsigned","data":1}`)
	body("a browser's answer of an unknown protocol", unverified, `{"protocol":"preview","data":{}}`)
	body("a browser's answer of no protocol", unverified, `{"data":{}}`)
	body("an unencrypted vp_token in the browser", unverified,
		`{"protocol":"openid4vp-v1-unsigned","data":{"vp_token":{}}}`)
	body("a wallet's error in the browser", "unable",
		`{"protocol":"openid4vp-v1-unsigned","data":{"error":"invalid_request"}}`)
	body("a holder who declines in the browser", "declined",
		`{"protocol":"openid4vp-v1-unsigned","data":{"error":"access_denied"}}`)
	body("a browser's answer of 10 MiB", notTaken400, `{"data":"`+string(bytes.Repeat([]byte{'a'}, 10<<20))+`"}`)
	add(formMdoc, "Annex C's answer for another origin", unverified,
		func(a *answer) { a.session = transcriptOf("dcapi", a.request.info, other) })
	add(formMdoc, "Annex C's answer to another request", unverified,
		func(a *answer) { a.session = transcriptOf("dcapi", a.request.info+"A", verifyURL) })
	mdoc("Annex C's answer of another name", func(w []any) []any { w[0] = "arf"; return w })
	mdoc("Annex C's answer without its text", func(w []any) []any { return w[:1] })
	mdoc("Annex C's text altered", func(w []any) []any { flipMember(w[1], "cipherText"); return w })
	mdoc("Annex C's key altered", func(w []any) []any { flipMember(w[1], "enc"); return w })
	mdoc("Annex C's key of one byte", func(w []any) []any { w[1].(map[string]any)["enc"] = []byte{4}; return w })
	mdoc("Annex C's key at infinity", func(w []any) []any { w[1].(map[string]any)["enc"] = make([]byte, 65); return w })
	mdoc("Annex C's text left out", func(w []any) []any { w[1].(map[string]any)["cipherText"] = []byte{}; return w })
	return all
}

func flipMember(m any, name string) {
	b := m.(map[string]any)[name].([]byte)
	b[len(b)-1] ^= 1
}
