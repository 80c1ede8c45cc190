package wallettest

import (
	"crypto"
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/go-jose/go-jose/v4"
)

// Issuer issues sample documents, described by a D, and presents them.
// wallet.SampleIssuer is one; this package cannot import it.
type Issuer[D any] interface {
	AnswerLink(link string, d D, now time.Time) (responseURI string, form url.Values, err error)
	Present(d D, docType string, ages []int, transcript []byte, now time.Time) ([]byte, error)
	PresentPID(d D, path []string, audience, nonce string, now time.Time) (string, error)
}

// errRequest is returned for a request that a wallet would not answer.
var errRequest = errors.New("the sample wallet does not understand the request")

// Request is a request of OpenID4VP.
type Request struct {
	ClientID     string          `json:"client_id"`
	ResponseType string          `json:"response_type"`
	ResponseMode string          `json:"response_mode"`
	ResponseURI  string          `json:"response_uri"`
	Nonce        string          `json:"nonce"`
	Query        json.RawMessage `json:"dcql_query"`
	Metadata     json.RawMessage `json:"client_metadata"`
	Audience     string          `json:"aud"`
	Expires      int64           `json:"exp"`
	Origins      []string        `json:"expected_origins"`
	State        string          `json:"state"`
	WalletNonce  string          `json:"wallet_nonce"`
}

// ReadObject reads a signed request, like a wallet that trusts every verifier
// whose client identifier matches its certificate.
func ReadObject(object string, now time.Time) (r Request, err error) {
	signed, err := jose.ParseSignedCompact(object, []jose.SignatureAlgorithm{jose.ES256, jose.ES384})
	if err != nil {
		return r, errRequest
	}
	var header struct {
		Type  string   `json:"typ"`
		Chain [][]byte `json:"x5c"`
	}
	protected, _, _ := strings.Cut(object, ".")
	raw, err := base64.RawURLEncoding.DecodeString(protected)
	if err != nil || json.Unmarshal(raw, &header) != nil || len(header.Chain) == 0 {
		return r, errRequest
	}
	leaf, err := x509.ParseCertificate(header.Chain[0])
	if err != nil {
		return r, errRequest
	}
	payload, err := signed.Verify(leaf.PublicKey)
	if err != nil || json.Unmarshal(payload, &r) != nil || header.Type != "oauth-authz-req+jwt" {
		return r, errRequest
	}
	hash := sha256.Sum256(leaf.Raw)
	host, byHost := strings.CutPrefix(r.ClientID, "x509_san_dns:")
	if byHost && !slices.Contains(leaf.DNSNames, host) || !byHost && r.ClientID != "x509_hash:"+encode64(hash[:]) {
		return r, errRequest
	}
	if r.Audience != "https://self-issued.me/v2" || r.Expires < now.Unix() || r.ResponseType != "vp_token" {
		return r, errRequest
	}
	return r, nil
}

// AnswerObject answers a signed request that a wallet fetched through a link for
// clientID: it returns the form to post and the address to post it to.
func AnswerObject[D any](
	i Issuer[D], clientID, object string, d D, now time.Time,
) (responseURI string, form url.Values, err error) {
	r, err := ReadObject(object, now)
	if err != nil || r.ClientID != clientID || r.ResponseMode != "direct_post.jwt" {
		return "", nil, errRequest
	}
	same := url.Values{
		"client_id": {r.ClientID}, "response_mode": {r.ResponseMode}, "response_uri": {r.ResponseURI}, "nonce": {r.Nonce},
		"dcql_query": {string(r.Query)}, "client_metadata": {string(r.Metadata)},
	}
	return i.AnswerLink("openid4vp://?"+same.Encode(), d, now)
}

// AnswerBrowser answers one request of a page of origin, given as JSON, like the
// Digital Credentials API.
func AnswerBrowser[D any](
	i Issuer[D], protocol string, data json.RawMessage, origin string, d D, now time.Time,
) (json.RawMessage, error) {
	if protocol == "org-iso-mdoc" {
		return answerMdoc(i, data, origin, d, now)
	}
	var r Request
	if protocol == "openid4vp-v1-signed" {
		var signed struct {
			Request string `json:"request"`
		}
		if json.Unmarshal(data, &signed) != nil {
			return nil, errRequest
		}
		var err error
		if r, err = ReadObject(signed.Request, now); err != nil || !slices.Contains(r.Origins, origin) || r.State != "" {
			return nil, errRequest
		}
	} else if json.Unmarshal(data, &r) != nil {
		return nil, errRequest
	}
	var metadata struct {
		Keys jose.JSONWebKeySet `json:"jwks"`
	}
	if json.Unmarshal(r.Metadata, &metadata) != nil || len(metadata.Keys.Keys) != 1 {
		return nil, errRequest
	}
	key := metadata.Keys.Keys[0]
	thumbprint, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, err
	}
	token, err := present(i, r, origin, transcript("OpenID4VPDCAPIHandover", origin, r.Nonce, thumbprint), d, now)
	if err != nil {
		return nil, err
	}
	encrypter, err := jose.NewEncrypter(jose.A128GCM,
		jose.Recipient{Algorithm: jose.ECDH_ES, Key: key.Key, KeyID: key.KeyID}, nil)
	if err != nil {
		return nil, err
	}
	message, err := encrypter.Encrypt(token)
	if err != nil {
		return nil, err
	}
	response, err := message.CompactSerialize()
	return respond(response), err
}

// present returns the answer to the first credential in a request's query.
func present[D any](i Issuer[D], r Request, origin string, session []byte, d D, now time.Time) ([]byte, error) {
	var query struct {
		Credentials []struct {
			ID     string `json:"id"`
			Format string `json:"format"`
			Meta   struct {
				DocType string `json:"doctype_value"`
			} `json:"meta"`
			Claims []struct {
				Path []string `json:"path"`
			} `json:"claims"`
		} `json:"credentials"`
	}
	if json.Unmarshal(r.Query, &query) != nil || len(query.Credentials) == 0 || len(query.Credentials[0].Claims) == 0 {
		return nil, errRequest
	}
	asked := query.Credentials[0]
	path := asked.Claims[0].Path
	var presented string
	if asked.Format == "dc+sd-jwt" {
		var err error
		if presented, err = i.PresentPID(d, path, "origin:"+origin, r.Nonce, now); err != nil {
			return nil, err
		}
	} else {
		response, err := i.Present(d, asked.Meta.DocType, agesOf(path[len(path)-1]), session, now)
		if err != nil {
			return nil, err
		}
		presented = encode64(response)
	}
	return json.Marshal(map[string]map[string][]string{"vp_token": {asked.ID: {presented}}})
}

// answerMdoc answers a request of ISO/IEC 18013-7, Annex C.
func answerMdoc[D any](
	i Issuer[D], data json.RawMessage, origin string, d D, now time.Time,
) (json.RawMessage, error) {
	var request struct{ DeviceRequest, EncryptionInfo string }
	if json.Unmarshal(data, &request) != nil {
		return nil, errRequest
	}
	docType, ages, err := readItems(request.DeviceRequest)
	if err != nil {
		return nil, err
	}
	recipient, err := readRecipient(request.EncryptionInfo)
	if err != nil {
		return nil, err
	}
	session := transcript("dcapi", request.EncryptionInfo, origin)
	response, err := i.Present(d, docType, ages, session, now)
	if err != nil {
		return nil, err
	}
	enc, sender, err := hpke.NewSender(recipient, hpke.HKDFSHA256(), hpke.AES128GCM(), session)
	if err != nil {
		return nil, err
	}
	cipherText, err := sender.Seal(nil, response)
	if err != nil {
		return nil, err
	}
	return respond(encode64(encode([]any{"dcapi", map[string][]byte{"enc": enc, "cipherText": cipherText}}))), nil
}

// readItems returns the kind of document that a request asks for, and the ages of the
// statements that it asks for.
func readItems(encoded string) (docType string, ages []int, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", nil, err
	}
	var request struct {
		Requests []struct {
			Items cbor.Tag `cbor:"itemsRequest"`
		} `cbor:"docRequests"`
	}
	if cbor.Unmarshal(raw, &request) != nil || len(request.Requests) != 1 {
		return "", nil, errRequest
	}
	var items struct {
		DocType    string                     `cbor:"docType"`
		NameSpaces map[string]map[string]bool `cbor:"nameSpaces"`
	}
	content, ok := request.Requests[0].Items.Content.([]byte)
	if !ok || cbor.Unmarshal(content, &items) != nil || len(items.NameSpaces) != 1 {
		return "", nil, errRequest
	}
	for _, elements := range items.NameSpaces {
		for element := range elements {
			ages = append(ages, agesOf(element)...)
		}
	}
	return items.DocType, ages, nil
}

// readRecipient reads the key to which the answer is encrypted.
func readRecipient(encoded string) (hpke.PublicKey, error) {
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	var info []cbor.RawMessage
	var parameters struct {
		Recipient struct {
			X []byte `cbor:"-2,keyasint"`
			Y []byte `cbor:"-3,keyasint"`
		} `cbor:"recipientPublicKey"`
	}
	if cbor.Unmarshal(raw, &info) != nil || len(info) != 2 || cbor.Unmarshal(info[1], &parameters) != nil {
		return nil, errRequest
	}
	point, err := ecdh.P256().NewPublicKey(slices.Concat([]byte{4}, parameters.Recipient.X, parameters.Recipient.Y))
	if err != nil {
		return nil, err
	}
	return hpke.NewDHKEMPublicKey(point)
}

// agesOf returns the age of an element that states one, such as age_over_18.
func agesOf(element string) []int {
	if age, err := strconv.Atoi(element[strings.LastIndex(element, "_")+1:]); err == nil {
		return []int{age}
	}
	return nil
}

// transcript returns a session transcript: [null, null, [name, SHA-256 of info]].
func transcript(name string, info ...any) []byte {
	hash := sha256.Sum256(encode(info))
	return encode([]any{nil, nil, []any{name, hash[:]}})
}

// respond returns what the browser hands to the page.
func respond(response string) json.RawMessage {
	text, err := json.Marshal(map[string]string{"response": response})
	if err != nil {
		panic(err) // a text can be encoded
	}
	return text
}

func encode(v any) []byte {
	text, err := cbor.Marshal(v)
	if err != nil {
		panic(err) // only texts, bytes and lists of them are given
	}
	return text
}

func encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
