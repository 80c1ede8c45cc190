package wallets

import (
	"bytes"
	"compress/flate"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// encryptionMisbehaviours are responses that are encrypted in another way than the
// request asks, or to another key.
func encryptionMisbehaviours() (all []misbehaviour) {
	add := func(name, want string, edit func(j *sealed)) {
		all = append(all, misbehaviour{name, "", func(a *answer) { a.jwe = edit }, want})
	}
	header := func(name, member string, value any, want string) {
		add(name, want, func(j *sealed) { j.header[member] = value })
	}
	header("another algorithm: RSA-OAEP-256", "alg", "RSA-OAEP-256", malformed)
	header("another algorithm: dir", "alg", "dir", malformed)
	header("another algorithm: ECDH-ES+A128KW", "alg", "ECDH-ES+A128KW", malformed)
	header("another algorithm: none", "alg", "none", malformed)
	header("an algorithm for signatures (alg confusion)", "alg", "ES256", malformed)
	header("an algorithm that is a number", "alg", 1, malformed)
	header("an algorithm that is null", "alg", nil, malformed)
	add("a password's algorithm with two thousand million rounds (p2c)", malformed, func(j *sealed) {
		j.header["alg"], j.header["p2c"], j.header["p2s"] = "PBES2-HS256+A128KW", 1<<31-1, "AAAAAAAAAAA"
	})
	header("another encryption: A128CBC-HS256", "enc", "A128CBC-HS256", malformed)
	header("another encryption: A192GCM", "enc", "A192GCM", malformed)
	header("no encryption named", "enc", nil, malformed)
	header("an encryption with another key's length", "enc", "A256GCM", encryption)
	header("an unknown critical header (crit)", "crit", []string{"exp"}, encryption)
	header("compressed by an unknown method", "zip", "GZ", encryption)
	header("said to be compressed, but not", "zip", "DEF", encryption)
	header("an ephemeral key on another curve", "epk", publicJWK(elliptic.P384()), encryption)
	header("an ephemeral key that is not on its curve", "epk",
		map[string]string{"kty": "EC", "crv": "P-256", "x": encode64(strings.Repeat("\x01", 32)),
			"y": encode64(strings.Repeat("\x01", 32))}, encryption)
	header("an ephemeral key at infinity", "epk",
		map[string]string{"kty": "EC", "crv": "P-256", "x": encode64(strings.Repeat("\x00", 32)),
			"y": encode64(strings.Repeat("\x00", 32))}, encryption)
	header("an ephemeral key of one byte", "epk", map[string]string{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
		encryption)
	header("an ephemeral key of 50,000 bytes", "epk",
		map[string]string{"kty": "EC", "crv": "P-256", "x": strings.Repeat("A", 25_000), "y": strings.Repeat("A", 25_000)},
		encryption)
	header("an RSA key as ephemeral key", "epk",
		map[string]string{"kty": "RSA", "n": strings.Repeat("A", 40_000), "e": "AQAB"}, encryption)
	header("an ephemeral key that is another one", "epk", publicJWK(elliptic.P256()), encryption)
	header("no ephemeral key", "epk", nil, encryption)
	header("a party's name of 50,000 bytes", "apu", strings.Repeat("A", 50_000), encryption)
	header("a header of 200,000 bytes", "kid", strings.Repeat("k", 200_000), notTaken400)
	add("another session's key", encryption, func(j *sealed) { j.to = &freshKey(elliptic.P256()).PublicKey })
	add("a payload that is empty", malformed, func(j *sealed) { j.plain = nil })
	add("a payload that is no JSON", malformed, func(j *sealed) { j.plain = []byte("vp_token") })
	add("a payload that is a list", malformed, func(j *sealed) { j.plain = []byte("[]") })
	add("a payload without vp_token", malformed, func(j *sealed) { j.plain = []byte("{}") })
	add("a payload nested 20,000 times", malformed, func(j *sealed) {
		j.plain = []byte(`{"vp_token":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}")
	})
	add("a payload compressed ten thousand times (zip bomb)", encryption, func(j *sealed) {
		j.header["zip"], j.plain = "DEF", deflated(bytes.Repeat([]byte{' '}, 20<<20))
	})
	for name, edit := range map[string]func(parts []string) string{
		"a response of three parts":             func(p []string) string { return strings.Join(p[:3], ".") },
		"a response of six parts":               func(p []string) string { return strings.Join(append(p, ""), ".") },
		"a response of a hundred thousand dots": func([]string) string { return strings.Repeat(".", 100_000) },
		"a response that is empty":              func([]string) string { return "" },
		"a response in JSON's serialisation": func(p []string) string {
			return string(mustJSON(map[string]string{"protected": p[0], "iv": p[2], "ciphertext": p[3], "tag": p[4]}))
		},
		"a response with an encrypted key": func(p []string) string {
			return strings.Join([]string{p[0], "AAAA", p[2], p[3],
				p[4]}, ".")
		},
		"a header that is no JSON": func(p []string) string { return strings.Join(append([]string{"AAAA"}, p[1:]...), ".") },
	} {
		add(name, malformed, func(j *sealed) { j.done = func(c string) string { return edit(strings.Split(c, ".")) } })
	}
	for part, name := range map[int]string{2: "nonce", 3: "text", 4: "tag"} {
		add("an altered "+name, encryption, func(j *sealed) { j.done = func(c string) string { return altered(c, part) } })
		add("a cut "+name, encryption, func(j *sealed) {
			j.done = func(c string) string {
				parts := strings.Split(c, ".")
				parts[part] = parts[part][:4]
				return strings.Join(parts, ".")
			}
		})
	}
	return sorted(all)
}

// altered flips a bit in a part of a compact serialisation.
func altered(compact string, part int) string {
	parts := strings.Split(compact, ".")
	b, err := base64.RawURLEncoding.DecodeString(parts[part])
	if err != nil {
		panic(err) // it was encoded here
	}
	b[0] ^= 1
	parts[part] = base64.RawURLEncoding.EncodeToString(b)
	return strings.Join(parts, ".")
}

func deflated(b []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	_, _ = w.Write(b) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

func freshKey(curve elliptic.Curve) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err) // never fails for these curves
	}
	return key
}

func publicJWK(curve elliptic.Curve) jose.JSONWebKey {
	return jose.JSONWebKey{Key: &freshKey(curve).PublicKey}
}
