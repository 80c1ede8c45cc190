package wallets

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hpke"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"agegate/internal/check/document/wallet"
	"agegate/internal/gatewaytest"

	"github.com/fxamacker/cbor/v2"
	"github.com/go-jose/go-jose/v4"
	josecipher "github.com/go-jose/go-jose/v4/cipher"
)

// form is the way by which a request arrives and is answered.
type form string

const (
	formLink       form = "link"           // openid4vp://, direct_post.jwt
	formProofOfAge form = "av link"        // av://, direct_post
	formSigned     form = "signed link"    // request_uri, direct_post.jwt, on another device
	formBrowser    form = "browser"        // openid4vp-v1-unsigned
	formMdoc       form = "browser (mdoc)" // org-iso-mdoc
	formPID        form = "link, PID"      // as formLink, answered by a PID; so do the others
	formSignedPID  form = "signed link, PID"
	formBrowserPID form = "browser, PID"
)

func (f form) asksPID() bool { return f == formPID || f == formSignedPID || f == formBrowserPID }

// inBrowser reports whether the page's script gets the answer.
func (f form) inBrowser() bool { return f == formBrowser || f == formMdoc || f == formBrowserPID }

// identityFor is how a gateway names itself in requests of a form.
func identityFor(f form) identity {
	if f == formSigned || f == formSignedPID {
		return byCertHash
	}
	return unsigned
}

// question is what a wallet reads in a request.
type question struct {
	form        form
	clientID    string
	nonce       string
	state       string
	responseURI string
	key         jose.JSONWebKey // to which the answer is encrypted
	recipient   []byte          // the same in Annex C, an uncompressed point
	info        string          // encryptionInfo
	transcript  []byte
}

// metadata is the part of a request that holds the key.
type metadata struct {
	Keys jose.JSONWebKeySet `json:"jwks"`
}

// question reads the shopper's request in a form.
func (p *shopper) question(f form) question {
	p.t.Helper()
	q := question{form: f}
	switch f {
	case formLink, formPID:
		q.readLink(p.t, p.links[wallet.SchemeOpenID])
	case formProofOfAge:
		q.readLink(p.t, p.links[wallet.SchemeProofOfAge])
	case formSigned, formSignedPID:
		q.fetch(p)
	case formBrowser, formBrowserPID:
		var data struct {
			Nonce    string   `json:"nonce"`
			Metadata metadata `json:"client_metadata"`
		}
		decode(p.t, p.request(wallet.ProtocolOpenID), &data)
		q.nonce, q.key = data.Nonce, data.Metadata.Keys.Keys[0]
		q.transcript = transcriptOf("OpenID4VPDCAPIHandover", verifyURL, q.nonce, q.thumbprint(p.t))
	case formMdoc:
		var data struct {
			Info string `json:"encryptionInfo"`
		}
		decode(p.t, p.request(wallet.ProtocolMdoc), &data)
		q.readInfo(p.t, data.Info)
	}
	return q
}

func decode(t testing.TB, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
}

// request returns the first request of the page for a protocol of the Digital
// Credentials API.
func (p *shopper) request(protocol string) json.RawMessage {
	p.t.Helper()
	var all []struct {
		Protocol string          `json:"protocol"`
		Data     json.RawMessage `json:"data"`
	}
	decode(p.t, p.requests, &all)
	for _, r := range all {
		if r.Protocol == protocol {
			return r.Data
		}
	}
	p.t.Fatalf("no request for %s", protocol)
	return nil
}

func (q *question) readLink(t testing.TB, link string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	values := u.Query()
	q.clientID, q.nonce, q.responseURI = values.Get("client_id"), values.Get("nonce"), values.Get("response_uri")
	var thumbprint any
	if q.form != formProofOfAge {
		var m metadata
		decode(t, []byte(values.Get("client_metadata")), &m)
		q.key = m.Keys.Keys[0]
		thumbprint = q.thumbprint(t)
	}
	q.transcript = transcriptOf("OpenID4VPHandover", q.clientID, q.nonce, thumbprint, q.responseURI)
}

// requestObject is the part of a signed request that a wallet needs.
type requestObject struct {
	ClientID    string   `json:"client_id"`
	Nonce       string   `json:"nonce"`
	State       string   `json:"state"`
	ResponseURI string   `json:"response_uri"`
	Metadata    metadata `json:"client_metadata"`
}

// fetch reads the signed request for a wallet on another device: its address in
// the code differs from the link's, and names the request only.
func (q *question) fetch(p *shopper) {
	p.t.Helper()
	here := p.fetch(mustQuery(p.t, p.links[wallet.SchemeOpenID]).Get("request_uri"))
	_, id, _ := strings.Cut(strings.TrimSuffix(here.ResponseURI, "/here"), "/wallet/")
	r := p.fetch(verifyURL + codePath + id + "/r")
	q.clientID, q.nonce, q.state, q.responseURI, q.key = r.ClientID, r.Nonce, r.State, r.ResponseURI,
		r.Metadata.Keys.Keys[0]
	q.transcript = transcriptOf("OpenID4VPHandover", q.clientID, q.nonce, q.thumbprint(p.t), q.responseURI)
}

// codePath is the path of the addresses in codes.
const codePath = "/v/w/"

// fetch fetches a signed request like a wallet.
func (p *shopper) fetch(at string) (r requestObject) {
	p.t.Helper()
	status, object := p.send(http.MethodGet, at, nil)
	parts := strings.Split(object, ".")
	if status != http.StatusOK || len(parts) != 3 {
		p.t.Fatalf("the signed request: %d %.100s", status, object)
	}
	decode(p.t, unbase64(p.t, parts[1]), &r)
	return r
}

func mustQuery(t testing.TB, link string) url.Values {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

func unbase64(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (q *question) readInfo(t testing.TB, info string) {
	t.Helper()
	var parts []cbor.RawMessage
	var parameters struct {
		Recipient struct {
			X []byte `cbor:"-2,keyasint"`
			Y []byte `cbor:"-3,keyasint"`
		} `cbor:"recipientPublicKey"`
	}
	if err := cbor.Unmarshal(unbase64(t, info), &parts); err != nil || len(parts) != 2 {
		t.Fatal(err, len(parts))
	}
	if err := cbor.Unmarshal(parts[1], &parameters); err != nil {
		t.Fatal(err)
	}
	q.info, q.recipient = info, slices.Concat([]byte{4}, parameters.Recipient.X, parameters.Recipient.Y)
	q.transcript = transcriptOf("dcapi", info, verifyURL)
}

func (q *question) thumbprint(t testing.TB) []byte {
	t.Helper()
	thumbprint, err := q.key.Thumbprint(crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return thumbprint
}

// sealed is an encrypted answer in the making: a JWE in compact serialisation, with
// ECDH-ES and A128GCM.
type sealed struct {
	header map[string]any
	to     *ecdsa.PublicKey
	plain  []byte
	named  func(header []byte) []byte  // nil changes nothing
	done   func(compact string) string // nor here
}

// compact returns the JWE.
func (j *sealed) compact(t testing.TB) string {
	t.Helper()
	own, err := ecdsa.GenerateKey(j.to.Curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, given := j.header["epk"]; !given {
		j.header["epk"] = jose.JSONWebKey{Key: &own.PublicKey}
	}
	header, err := json.Marshal(j.header)
	if err != nil {
		t.Fatal(err)
	}
	if j.named != nil {
		header = j.named(header)
	}
	protected := base64.RawURLEncoding.EncodeToString(header)
	const keyBytes = 16
	block, err := aes.NewCipher(josecipher.DeriveECDHES("A128GCM", nil, nil, own, j.to, keyBytes))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, gcm.NonceSize())
	text := gcm.Seal(nil, nonce, j.plain, []byte(protected))
	at := len(text) - gcm.Overhead()
	parts := []string{protected, ""}
	for _, part := range [][]byte{nonce, text[:at], text[at:]} {
		parts = append(parts, base64.RawURLEncoding.EncodeToString(part))
	}
	compact := strings.Join(parts, ".")
	if j.done != nil {
		compact = j.done(compact)
	}
	return compact
}

// sending is the HTTP request with an answer.
type sending struct {
	method, to, contentType string
	origin                  string // by a browser's page
	header                  http.Header
	form                    url.Values // the body, unless there is one
	body                    []byte
}

// sending makes the answer and the request that sends it.
func (a *answer) sending(p *shopper) *sending {
	p.t.Helper()
	s := &sending{method: http.MethodPost, to: a.request.responseURI, contentType: "application/x-www-form-urlencoded",
		header: http.Header{}}
	switch a.request.form {
	case formProofOfAge:
		s.form = url.Values{"vp_token": {a.json(p.t, a.vpToken())}}
	case formLink, formSigned, formPID, formSignedPID:
		s.form = url.Values{"response": {a.encrypted(p.t)}}
	case formBrowser, formBrowserPID:
		s.inBrowser(p, wallet.ProtocolOpenID, a.encrypted(p.t))
	case formMdoc:
		s.inBrowser(p, wallet.ProtocolMdoc, a.hpke(p.t))
	}
	if a.send != nil {
		a.send(s)
	}
	return s
}

func (s *sending) inBrowser(p *shopper, protocol, response string) {
	s.to, s.contentType, s.origin = p.created.VerificationURL+"/wallet/browser", "application/json", verifyURL
	s.body = encodeJSON(p.t, map[string]any{"protocol": protocol, "data": map[string]any{"response": response}})
}

func encodeJSON(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (*answer) json(t testing.TB, v any) string { return string(encodeJSON(t, v)) }

func (a *answer) encrypted(t testing.TB) string {
	t.Helper()
	payload := map[string]any{"vp_token": a.vpToken()}
	if a.request.state != "" {
		payload["state"] = a.request.state
	}
	if a.plain != nil {
		a.plain(payload)
	}
	to, ok := a.request.key.Key.(*ecdsa.PublicKey)
	if !ok || to.Curve != elliptic.P256() {
		t.Fatal("the request's key is not on P-256")
	}
	j := &sealed{header: map[string]any{"alg": "ECDH-ES", "enc": "A128GCM", "kid": a.request.key.KeyID}, to: to,
		plain: encodeJSON(t, payload)}
	if a.jwe != nil {
		a.jwe(j)
	}
	return j.compact(t)
}

// hpke encrypts the response as Annex C says.
func (a *answer) hpke(t testing.TB) string {
	t.Helper()
	key, err := hpke.DHKEM(ecdh.P256()).NewPublicKey(a.request.recipient)
	if err != nil {
		t.Fatal(err)
	}
	enc, sender, err := hpke.NewSender(key, hpke.HKDFSHA256(), hpke.AES128GCM(), a.session)
	if err != nil {
		t.Fatal(err)
	}
	text, err := sender.Seal(nil, a.deviceResponse())
	if err != nil {
		t.Fatal(err)
	}
	whole := []any{"dcapi", map[string]any{"enc": enc, "cipherText": text}}
	if a.whole != nil {
		whole = a.whole(whole)
	}
	return base64.RawURLEncoding.EncodeToString(encode(whole))
}

// post sends the answer from a browser without cookies, like a wallet, or from the
// shopper's own.
func (s *sending) post(p *shopper) (status int, body string) {
	p.t.Helper()
	sent := s.body
	if sent == nil {
		sent = []byte(s.form.Encode())
	}
	req, err := http.NewRequestWithContext(p.t.Context(), s.method, p.g.URL+strings.TrimPrefix(s.to, verifyURL),
		bytes.NewReader(sent))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header = s.header
	req.Header.Set("Content-Type", s.contentType)
	browser := gatewaytest.Browser()
	if s.origin != "" {
		req.Header.Set("Origin", s.origin)
		browser = p.browser
	}
	res, body := p.ask(browser, req)
	return res.StatusCode, body
}
