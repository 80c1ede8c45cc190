package wallets

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"time"

	"agegate/internal/check/document/wallet"

	"github.com/fxamacker/cbor/v2"
)

// answer is a wallet's answer in the making. An honest one is made of its fields as
// newAnswer sets them; a misbehaviour changes fields, or parts as they are made. The
// functions get a part that is ready and return what takes its place; nil changes
// nothing.
type answer struct {
	request  question
	queryID  string // member of the vp_token
	docType  string
	elements []element // that the issuer signs and the wallet discloses
	space    string    // namespace of the elements
	holder   *ecdsa.PrivateKey
	issuer   *authority
	chain    any // x5chain
	signer   *ecdsa.PrivateKey
	alg      int64 // of the issuer's signature
	session  []byte
	pid      *pid // in the place of the elements, if the request's form asks for it

	item      func(n int, encoded []byte) []byte
	object    func(mso map[string]any) // before it is signed
	security  func(mso []byte) []byte
	issued    func(cose []any) any
	spaces    func(spaces map[string]any)
	signed    any // namespaces that the wallet signs, embedded
	payload   func(authentication []byte) []byte
	presented func(cose []any) any // device signature
	auth      func(auth map[string]any)
	document  func(document map[string]any)
	response  func(response map[string]any)
	bytes     func(response []byte) []byte
	token     func(token map[string]any) any
	plain     func(payload map[string]any)
	jwe       func(j *sealed)
	whole     func(response []any) []any // of Annex C
	send      func(s *sending)
}

type element struct {
	name  string
	value any
}

// COSE's labels and numbers (RFC 9052, RFC 9053, RFC 9360).
const (
	coseAlgorithm = 1
	coseKeyID     = 4
	coseChain     = 33
	algES256      = -7
)

// newAnswer returns the honest answer to a question.
func newAnswer(q question, issuer *authority, holder *ecdsa.PrivateKey) *answer {
	a := &answer{
		request: q, queryID: "licence", docType: wallet.DocTypeMDL, elements: []element{{"age_over_18", true}},
		holder: holder, issuer: issuer, chain: issuer.signer.Raw, signer: issuer.own, alg: algES256, session: q.transcript,
	}
	if q.form == formProofOfAge {
		a.queryID, a.docType = "age", wallet.DocTypeProofOfAge
	}
	a.space = namespaces[a.docType]
	if q.form.asksPID() {
		a.queryID, a.docType = "pid", wallet.DocTypePID
		a.pid = newPID(a)
	}
	return a
}

var cborMode = func() cbor.EncMode {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}()

func encode(v any) []byte {
	b, err := cborMode.Marshal(v)
	if err != nil {
		panic(err) // only values of types that can be encoded
	}
	return b
}

// embed returns encoded CBOR as an embedded item.
func embed(content []byte) cbor.RawMessage { return encode(cbor.Tag{Number: 24, Content: content}) }

func tdate(t time.Time) cbor.Tag {
	return cbor.Tag{Number: 0, Content: t.UTC().Format(time.RFC3339)}
}

// transcriptOf is a session transcript of the second edition of ISO/IEC 18013-5's
// form for other protocols.
func transcriptOf(name string, info ...any) []byte {
	hash := sha256.Sum256(encode(info))
	return encode([]any{nil, nil, []any{name, hash[:]}})
}

// sign1 returns a COSE_Sign1 over payload.
func sign1(key *ecdsa.PrivateKey, alg int64, unprotected map[any]any, payload []byte) []any {
	protected := encode(map[int]any{coseAlgorithm: alg})
	return []any{protected, unprotected, payload,
		rawSignature(key, encode([]any{"Signature1", protected, []byte{}, payload}))}
}

// rawSignature returns a signature as r and s with SHA-256, whatever the curve.
func rawSignature(key *ecdsa.PrivateKey, message []byte) []byte {
	hash := crypto.SHA256.New()
	hash.Write(message)
	r, s, err := ecdsa.Sign(rand.Reader, key, hash.Sum(nil))
	if err != nil {
		panic(err) // the key is good
	}
	size := (key.Curve.Params().BitSize + 7) / 8
	return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
}

func coseKey(key *ecdsa.PublicKey) map[int]any {
	point, err := key.Bytes()
	if err != nil {
		panic(err) // the key is good
	}
	size := (len(point) - 1) / 2
	curve := map[elliptic.Curve]int{elliptic.P256(): 1, elliptic.P384(): 2, elliptic.P521(): 3}[key.Curve]
	return map[int]any{1: 2, -1: curve, -2: point[1 : 1+size], -3: point[1+size:]}
}

// deviceResponse makes the device response.
func (a *answer) deviceResponse() []byte {
	items, digests := []any{}, map[int]any{}
	for n, e := range a.elements {
		encoded := []byte(embed(encode(map[string]any{
			"digestID": n, "random": []byte("0123456789abcdef"), "elementIdentifier": e.name, "elementValue": e.value,
		})))
		digest := sha256.Sum256(encoded)
		digests[n] = digest[:]
		if a.item != nil {
			encoded = a.item(n, encoded)
		}
		if encoded != nil {
			items = append(items, cbor.RawMessage(encoded))
		}
	}
	spaces := map[string]any{a.space: items}
	if a.spaces != nil {
		a.spaces(spaces)
	}
	document := map[string]any{
		"docType":      a.docType,
		"issuerSigned": map[string]any{"nameSpaces": spaces, "issuerAuth": a.issuerAuth(digests)},
		"deviceSigned": a.deviceSigned(),
	}
	if a.document != nil {
		a.document(document)
	}
	response := map[string]any{"version": "1.0", "status": 0, "documents": []any{document}}
	if a.response != nil {
		a.response(response)
	}
	encoded := encode(response)
	if a.bytes != nil {
		encoded = a.bytes(encoded)
	}
	return encoded
}

func (a *answer) issuerAuth(digests map[int]any) any {
	now := time.Now()
	object := map[string]any{
		"version": "1.0", "digestAlgorithm": "SHA-256", "docType": a.docType,
		"valueDigests":  map[string]any{a.space: digests},
		"deviceKeyInfo": map[string]any{"deviceKey": coseKey(&a.holder.PublicKey)},
		"validityInfo": map[string]any{
			"signed": tdate(now.Add(-time.Hour)), "validFrom": tdate(now.Add(-time.Hour)),
			"validUntil": tdate(now.Add(time.Hour)),
		},
	}
	if a.object != nil {
		a.object(object)
	}
	encoded := encode(object)
	if a.security != nil {
		encoded = a.security(encoded)
	}
	signed := sign1(a.signer, a.alg, map[any]any{coseChain: a.chain}, embed(encoded))
	if a.issued != nil {
		return a.issued(signed)
	}
	return signed
}

func (a *answer) deviceSigned() map[string]any {
	names := a.signed
	if names == nil {
		names = embed(encode(map[string]any{}))
	}
	payload := []byte(embed(encode([]any{"DeviceAuthentication", cbor.RawMessage(a.session), a.docType, names})))
	if a.payload != nil {
		payload = a.payload(payload)
	}
	signed := sign1(a.holder, algES256, map[any]any{}, payload)
	signed[2] = nil
	auth := map[string]any{"deviceSignature": signed}
	if a.presented != nil {
		auth["deviceSignature"] = a.presented(signed)
	}
	if a.auth != nil {
		a.auth(auth)
	}
	return map[string]any{"nameSpaces": names, "deviceAuth": auth}
}

// vpToken makes the vp_token.
func (a *answer) vpToken() any {
	token := map[string]any{}
	if a.pid != nil {
		token[a.queryID] = []any{a.pid.presentation(a)}
	} else {
		token[a.queryID] = []any{base64.RawURLEncoding.EncodeToString(a.deviceResponse())}
	}
	if a.token != nil {
		return a.token(token)
	}
	return token
}

// chainOf returns certificates as an x5chain.
func chainOf(certificates ...*x509.Certificate) any {
	var chain []any
	for _, c := range certificates {
		chain = append(chain, c.Raw)
	}
	return chain
}
