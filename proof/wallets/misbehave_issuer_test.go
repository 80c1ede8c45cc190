package wallets

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"agegate/internal/check/document/wallet"
	"agegate/internal/check/document/wallet/wallettest"
)

// Reasons that concern the issuer.
const (
	unknownIssuer = string(wallet.ReasonIssuerUnknown)
	expiredIssuer = string(wallet.ReasonIssuerExpired)
	notASigner    = string(wallet.ReasonIssuerCertificate)
	wrongIssuer   = string(wallet.ReasonIssuerSignature)
	noStatus      = string(wallet.ReasonStatus)
)

// issuerMisbehaviours are documents that no trusted issuer signed as they are.
func issuerMisbehaviours(t *testing.T, issuer *authority) []misbehaviour {
	t.Helper()
	return append(append(signatureMisbehaviours(), chainMisbehaviours(t, issuer)...), objectMisbehaviours()...)
}

// signatureMisbehaviours change the issuer's signature.
func signatureMisbehaviours() (all []misbehaviour) {
	add := func(name, want string, edit func(cose []any) any) {
		all = append(all, misbehaviour{name, "", func(a *answer) { a.issued = edit }, want})
	}
	protected := func(header any) func([]any) any {
		return func(c []any) any { c[0] = encode(header); return c }
	}
	add("the issuer's signature altered (InvalidCredentialSignature)", wrongIssuer,
		func(c []any) any { return flip(c, 3) })
	add("no issuer's signature", malformed, func(c []any) any { c[3] = []byte{}; return c })
	add("an issuer's signature of zeros", wrongIssuer, func(c []any) any { c[3] = make([]byte, 64); return c })
	add("an issuer's signature of 60,000 bytes", wrongIssuer, func(c []any) any { c[3] = make([]byte, 50_000); return c })
	add("the issuer's signed object altered", wrongIssuer, func(c []any) any {
		c[2] = bytes.Replace(c[2].([]byte), []byte("SHA-256"), []byte("SHA-512"), 1)
		return c
	})
	add("the issuer's object left out", wrongIssuer, func(c []any) any { c[2] = nil; return c })
	add("the issuer's algorithm not protected", algorithm, func(c []any) any {
		c[0], c[1] = []byte{}, with2(c[1].(map[any]any), coseAlgorithm, algES256)
		return c
	})
	add("no issuer's algorithm", algorithm, protected(map[int]any{}))
	add("the issuer's algorithm for a MAC (alg confusion)", algorithm, protected(map[int]any{coseAlgorithm: 5}))
	add("the issuer's algorithm for RSA", algorithm, protected(map[int]any{coseAlgorithm: -37}))
	add("the issuer's algorithm for another curve", wrongIssuer, protected(map[int]any{coseAlgorithm: -35}))
	add("the issuer's algorithm for Ed25519", algorithm, protected(map[int]any{coseAlgorithm: -8}))
	add("an unknown algorithm of the issuer", algorithm, protected(map[int]any{coseAlgorithm: -65535}))
	add("the issuer's algorithm as a text", algorithm, protected(map[int]any{coseAlgorithm: "none"}))
	add("an unknown critical header of the issuer", malformed,
		protected(map[int]any{coseAlgorithm: algES256, 2: []any{-70_000}}))
	add("a protected header that is no map", malformed, func(c []any) any { c[0] = encode([]any{1}); return c })
	add("the issuer's signature in a list of three", malformed, func(c []any) any { return c[:3] })
	add("a MAC in place of the issuer's signature", malformed, func(c []any) any { return tagged(17, c) })
	add("the issuer's signature is null", malformed, func([]any) any { return nil })
	add("signed by the holder with the issuer's certificate", wrongIssuer, nil)
	all[len(all)-1].edit = func(a *answer) { a.signer = a.holder }
	return sorted(all)
}

func with2(m map[any]any, key, value any) map[any]any {
	m[key] = value
	return m
}

// flip flips a bit in a part of a COSE structure.
func flip(c []any, part int) []any {
	b := bytes.Clone(c[part].([]byte))
	b[len(b)/2] ^= 1
	c[part] = b
	return c
}

// chainMisbehaviours come with certificates that do not lead to a trusted
// authority, or are not those of document signers.
func chainMisbehaviours(t *testing.T, issuer *authority) (all []misbehaviour) {
	t.Helper()
	key := newKey(t, elliptic.P256())
	chain := func(name, want string, x5chain any) {
		all = append(all, misbehaviour{name, "", func(a *answer) { a.chain, a.signer = x5chain, key }, want})
	}
	signer := func(name, want string, edit func(*x509.Certificate)) {
		chain(name, want, issuer.sign(t, &key.PublicKey, edit).Raw)
	}
	good := issuer.sign(t, &key.PublicKey, nil)
	stranger := newAuthority(t) // of the same name
	chain("a signer of a stranger with the authority's name", unknownIssuer, stranger.sign(t, &key.PublicKey, nil).Raw)
	chain("a stranger's signer with the authority's certificate", unknownIssuer,
		chainOf(stranger.sign(t, &key.PublicKey, nil), issuer.root))
	chain("a signer that certified itself", unknownIssuer,
		certify(t, &x509.Certificate{Subject: pkix.Name{CommonName: "self"}, KeyUsage: x509.KeyUsageDigitalSignature}, nil,
			&key.PublicKey, key).Raw)
	chain("a signer certified by a signer", unknownIssuer,
		chainOf(certify(t, &x509.Certificate{KeyUsage: x509.KeyUsageDigitalSignature}, issuer.signer, &key.PublicKey,
			issuer.own), issuer.signer))
	signer("a signer without the usage of signers", notASigner, func(c *x509.Certificate) { c.UnknownExtKeyUsage = nil })
	signer("a signer with the usage of readers", notASigner,
		func(c *x509.Certificate) { c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{wallet.UsageReader} })
	signer("a signer that may not sign", notASigner, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement })
	signer("a signer that has expired", expiredIssuer,
		func(c *x509.Certificate) { c.NotBefore, c.NotAfter = hours(-48), hours(-24) })
	signer("a signer that is not valid yet", expiredIssuer,
		func(c *x509.Certificate) { c.NotBefore, c.NotAfter = hours(24), hours(48) })
	signer("a signer valid only after it signed", notASigner,
		func(c *x509.Certificate) { c.NotBefore = time.Now().Add(-time.Minute) })
	signer("an unknown critical extension of the signer", notASigner, func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
	})
	chain("no certificate", malformed, []any{})
	chain("a certificate that is a text", malformed, "certificate")
	chain("a certificate of nothing", malformed, []byte{})
	chain("bytes after the certificate", malformed, append(bytes.Clone(good.Raw), 0))
	chain("a certificate cut in the middle", malformed, good.Raw[:len(good.Raw)/2])
	chain("five certificates", malformed, chainOf(good, good, good, good, good))
	chain("a chain of a hundred certificates", malformed, chainOf(repeat(good, 100)...))
	one, other := loop(t, key)
	chain("certificates that certify each other", unknownIssuer, chainOf(one, other, one))
	chain("a key on a curve that is not supported", algorithm,
		issuer.sign(t, &newKey(t, elliptic.P224()).PublicKey, nil).Raw)
	chain("an RSA key of 1,024 bits", algorithm, issuer.sign(t, rsaKey(1024, 65537), nil).Raw)
	chain("an RSA key of 16,384 bits", algorithm, issuer.sign(t, rsaKey(16_384, 65537), nil).Raw)
	chain("an RSA key whose exponent is large", algorithm, issuer.sign(t, rsaKey(4096, 1<<31-1), nil).Raw)
	huge := wallettest.Chain(t, wallettest.HugeKey(wallettest.HugeBits))
	chain("an authority's RSA key of 176,000 bits", algorithm, []any{huge[0], huge[1]})
	return all
}

func hours(n int) time.Time { return time.Now().Add(time.Duration(n) * time.Hour) }

func repeat(c *x509.Certificate, n int) (all []*x509.Certificate) {
	for range n {
		all = append(all, c)
	}
	return all
}

// loop returns two certificates, each certified by the other's key.
func loop(t *testing.T, key *ecdsa.PrivateKey) (one, other *x509.Certificate) {
	t.Helper()
	second := newKey(t, elliptic.P256())
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	}
	one = certify(t, template("one"), template("other"), &key.PublicKey, second)
	other = certify(t, template("other"), template("one"), &second.PublicKey, key)
	return one, other
}

// rsaKey is an RSA key whose factors nobody knows.
func rsaKey(bits uint, exponent int) *rsa.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), bits)
	return &rsa.PublicKey{N: n.Sub(n, big.NewInt(1)), E: exponent}
}

// objectMisbehaviours have a signed object that does not fit the document, or is
// not valid now.
func objectMisbehaviours() (all []misbehaviour) {
	add := func(name, want string, edit func(o map[string]any)) {
		all = append(all, misbehaviour{name, "", func(a *answer) { a.object = edit }, want})
	}
	member := func(name, want, of string, value any) { add(name, want, func(o map[string]any) { o[of] = value }) }
	validity := func(name, want string, from, until any) {
		add(name, want, func(o map[string]any) {
			o["validityInfo"] = map[string]any{"signed": tdate(hours(-1)), "validFrom": from, "validUntil": until}
		})
	}
	member("an object for another kind of document", otherKind, "docType", wallet.DocTypeProofOfAge)
	member("an object of another version", malformed, "version", "2.0")
	member("an object without a version", malformed, "version", nil)
	member("digests with SHA-1", algorithm, "digestAlgorithm", "SHA-1")
	member("digests with an unknown algorithm", algorithm, "digestAlgorithm", "")
	member("digests with another algorithm than named", digest, "digestAlgorithm", "SHA-512")
	member("no digests", digest, "valueDigests", map[string]any{})
	member("digests that are a list", malformed, "valueDigests", []any{})
	member("no device key", algorithm, "deviceKeyInfo", map[string]any{})
	member("no validity", malformed, "validityInfo", map[string]any{})
	validity("a document that has expired", "expired", tdate(hours(-2)), tdate(hours(-1)))
	validity("a document that is valid in an hour", string(wallet.ReasonNotYetValid), tdate(hours(1)), tdate(hours(2)))
	validity("a document valid until it begins", string(wallet.ReasonNotYetValid), tdate(hours(2)), tdate(hours(1)))
	validity("validity as numbers", malformed, time.Now().Unix(), time.Now().Unix()+3600)
	validity("validity as texts without a tag", malformed, "2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z")
	validity("validity in the year 10,000", malformed, tdate(hours(-1)), tagged(0, "10000-01-01T00:00:00Z"))
	add("signed before the signer's certificate began", notASigner, func(o map[string]any) {
		o["validityInfo"] = map[string]any{"signed": tdate(hours(-72)), "validFrom": tdate(hours(-72)),
			"validUntil": tdate(hours(1))}
	})
	member("a status of a kind that is not known", noStatus, "status", map[string]any{"other": 1})
	member("a status by a list of identifiers only", noStatus, "status",
		map[string]any{"identifier_list": map[string]any{"id": []byte{1}, "uri": "https://list.example"}})
	for name, uri := range map[string]string{
		"this machine": "https://127.0.0.1/list", "a cloud's metadata": "http://169.254.169.254/latest",
		"a file":            "file:///etc/passwd",
		"a private network": "https://10.0.0.1/list", "no address": "",
	} {
		member("a status list at "+name, noStatus, "status", statusList(0, uri))
	}
	member("a status list at an address of 40,000 bytes", noStatus, "status",
		statusList(0, "https://127.0.0.1/"+string(bytes.Repeat([]byte{'a'}, 40_000))))
	member("a place below zero in a status list", malformed, "status", statusList(-1, "https://127.0.0.1/list"))
	all = append(all,
		misbehaviour{"duplicate members of the issuer's object", "",
			func(a *answer) { a.security = func(b []byte) []byte { return twice(b, "docType", a.docType) } }, malformed},
		misbehaviour{"bytes after the issuer's object", "",
			func(a *answer) { a.security = func(b []byte) []byte { return append(b, 0) } }, malformed},
		misbehaviour{"the issuer's object embedded twice", "",
			func(a *answer) { a.security = func(b []byte) []byte { return embed(b) } }, malformed},
	)
	return sorted(all)
}

func statusList(index int, uri string) map[string]any {
	return map[string]any{"status_list": map[string]any{"idx": index, "uri": uri}}
}
