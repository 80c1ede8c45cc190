package wallet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/hpke"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/go-jose/go-jose/v4"
)

// errSampleRequest is returned for a request that the sample wallet does not
// understand.
var errSampleRequest = errors.New("the sample wallet does not understand the request")

// AnswerLink answers a request made as a link: it returns the form to post and
// the address to post it to.
func (i *SampleIssuer) AnswerLink(
	link string, s SampleDocument, now time.Time,
) (responseURI string, form url.Values, err error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", nil, errSampleRequest
	}
	values := u.Query()
	var request openIDRequest
	if json.Unmarshal([]byte(values.Get("dcql_query")), &request.Query) != nil {
		return "", nil, errSampleRequest
	}
	responseURI, request.Nonce = values.Get("response_uri"), values.Get("nonce")
	client := values.Get("client_id")
	if values.Get("response_mode") == "direct_post" {
		token, err := i.token(request, s, bond{transcriptOpenID(client, request.Nonce, nil, responseURI), client}, now)
		return responseURI, url.Values{"vp_token": {string(token)}}, err
	}
	if json.Unmarshal([]byte(values.Get("client_metadata")), &request.Metadata) != nil {
		return "", nil, errSampleRequest
	}
	response, err := i.encrypted(request, s, now, func(thumbprint []byte) bond {
		return bond{transcriptOpenID(client, request.Nonce, thumbprint, responseURI), client}
	})
	return responseURI, url.Values{"response": {response}}, err
}

// AnswerBrowser answers one request of a page of origin, given as JSON, like the
// Digital Credentials API.
func (i *SampleIssuer) AnswerBrowser(
	protocol string, data json.RawMessage, origin string, s SampleDocument, now time.Time,
) (json.RawMessage, error) {
	var response string
	var err error
	switch protocol {
	case ProtocolMdoc:
		response, err = i.answerMdoc(data, origin, s, now)
	case ProtocolOpenID, ProtocolSigned:
		request, readErr := readBrowser(protocol, data, origin, now)
		if readErr != nil {
			return nil, readErr
		}
		response, err = i.encrypted(request, s, now, func(thumbprint []byte) bond {
			return bond{transcriptOpenIDAPI(origin, request.Nonce, thumbprint), "origin:" + origin}
		})
	default:
		err = errSampleRequest
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"response": response})
}

// readBrowser reads a request of OpenID4VP on a page of origin.
func readBrowser(protocol string, data json.RawMessage, origin string, now time.Time) (openIDRequest, error) {
	var request openIDRequest
	if protocol == ProtocolOpenID {
		if json.Unmarshal(data, &request) != nil {
			return request, errSampleRequest
		}
		return request, nil
	}
	var signed signedRequest
	if json.Unmarshal(data, &signed) != nil {
		return request, errSampleRequest
	}
	object, err := readObject(signed.Request, now)
	if err != nil || !slices.Contains(object.Origins, origin) || object.State != "" {
		return request, errSampleRequest
	}
	return object.openIDRequest, nil
}

// readObject reads a signed request, like a wallet that trusts every verifier
// whose client identifier matches its certificate.
func readObject(object string, now time.Time) (r requestObject, err error) {
	signed, err := jose.ParseSignedCompact(object, []jose.SignatureAlgorithm{jose.ES256, jose.ES384})
	if err != nil {
		return r, errSampleRequest
	}
	var header struct {
		Type  string   `json:"typ"`
		Chain [][]byte `json:"x5c"`
	}
	protected, _, _ := strings.Cut(object, ".")
	raw, err := decode64(protected)
	if err != nil || json.Unmarshal(raw, &header) != nil || len(header.Chain) == 0 {
		return r, errSampleRequest
	}
	leaf, err := x509.ParseCertificate(header.Chain[0])
	if err != nil {
		return r, errSampleRequest
	}
	payload, err := signed.Verify(leaf.PublicKey)
	if err != nil || json.Unmarshal(payload, &r) != nil || header.Type != "oauth-authz-req+jwt" {
		return r, errSampleRequest
	}
	identity := Identity{Chain: []*x509.Certificate{leaf}}
	if host, ok := strings.CutPrefix(r.ClientID, "x509_san_dns:"); ok && slices.Contains(leaf.DNSNames, host) {
		identity.DNS = host
	}
	if r.ClientID != identity.ClientID() || r.Audience != audience || r.Expires < now.Unix() ||
		r.ResponseType != "vp_token" {
		return r, errSampleRequest
	}
	return r, nil
}

// AnswerObject answers a signed request that a wallet fetched through a link for
// clientID: it returns the form to post and the address to post it to.
func (i *SampleIssuer) AnswerObject(
	clientID, object string, s SampleDocument, now time.Time,
) (responseURI string, form url.Values, err error) {
	r, err := readObject(object, now)
	if err != nil || r.ClientID != clientID || r.ResponseMode != "direct_post.jwt" {
		return "", nil, errSampleRequest
	}
	response, err := i.encrypted(r.openIDRequest, s, now, func(thumbprint []byte) bond {
		return bond{transcriptOpenID(r.ClientID, r.Nonce, thumbprint, r.ResponseURI), r.ClientID}
	})
	return r.ResponseURI, url.Values{"response": {response}}, err
}

// encrypted returns the answer to a request as a JWE for the request's key.
func (i *SampleIssuer) encrypted(
	request openIDRequest, s SampleDocument, now time.Time, to func(thumbprint []byte) bond,
) (string, error) {
	keys := request.Metadata.Keys.Keys
	if len(keys) != 1 {
		return "", errSampleRequest
	}
	thumbprint, err := keys[0].Thumbprint(crypto.SHA256)
	if err != nil {
		return "", err
	}
	token, err := i.token(request, s, to(thumbprint), now)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(map[string]json.RawMessage{"vp_token": token})
	if err != nil {
		return "", err
	}
	encrypter, err := jose.NewEncrypter(jose.A128GCM,
		jose.Recipient{Algorithm: jose.ECDH_ES, Key: keys[0].Key, KeyID: keys[0].KeyID}, nil)
	if err != nil {
		return "", err
	}
	message, err := encrypter.Encrypt(payload)
	if err != nil {
		return "", err
	}
	return message.CompactSerialize()
}

// token returns the vp_token that answers the first credential in a request's query.
func (i *SampleIssuer) token(request openIDRequest, s SampleDocument, to bond, now time.Time) (json.RawMessage, error) {
	asked := request.Query.Credentials
	if len(asked) == 0 || len(asked[0].Claims) == 0 {
		return nil, errSampleRequest
	}
	credential := asked[0]
	if credential.Format == formatSDJWT {
		presented, err := i.presentPID(s, credential.Claims[0].Path, to.audience, request.Nonce, now)
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string][]string{credential.ID: {presented}})
	}
	path := credential.Claims[0].Path
	age, ok := statementAge(path[len(path)-1])
	if !ok || namespaces[credential.Meta.DocType] == "" {
		return nil, errSampleRequest
	}
	response, err := i.present(s, credential.Meta.DocType, []int{age}, to.transcript, now)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string][]string{credential.ID: {encode64(response)}})
}

// answerMdoc answers a request of ISO/IEC 18013-7, Annex C.
func (i *SampleIssuer) answerMdoc(
	data json.RawMessage, origin string, s SampleDocument, now time.Time,
) (string, error) {
	var request mdocRequest
	if json.Unmarshal(data, &request) != nil {
		return "", errSampleRequest
	}
	docType, ages, err := readItems(request.DeviceRequest)
	if err != nil {
		return "", err
	}
	recipient, err := readRecipient(request.EncryptionInfo)
	if err != nil {
		return "", err
	}
	session := transcriptMdocAPI(request.EncryptionInfo, origin)
	response, err := i.present(s, docType, ages, session, now)
	if err != nil {
		return "", err
	}
	enc, sender, err := hpke.NewSender(recipient, hpke.HKDFSHA256(), hpke.AES128GCM(), session)
	if err != nil {
		return "", err
	}
	cipherText, err := sender.Seal(nil, response)
	if err != nil {
		return "", err
	}
	return encode64(encode(encryptedResponse{Name: "dcapi", Data: encryptedData{enc, cipherText}})), nil
}

func readItems(encoded string) (docType string, ages []int, err error) {
	raw, err := decode64(encoded)
	if err != nil {
		return "", nil, err
	}
	var request deviceRequest
	if decoder.Unmarshal(raw, &request) != nil || len(request.Requests) != 1 {
		return "", nil, errSampleRequest
	}
	content, err := embedded(request.Requests[0].Items)
	if err != nil {
		return "", nil, err
	}
	var items itemsRequest
	if decoder.Unmarshal(content, &items) != nil || namespaces[items.DocType] == "" {
		return "", nil, errSampleRequest
	}
	for element := range items.NameSpaces[namespaces[items.DocType]] {
		if age, ok := statementAge(element); ok {
			ages = append(ages, age)
		}
	}
	return items.DocType, ages, nil
}

func readRecipient(encoded string) (hpke.PublicKey, error) {
	raw, err := decode64(encoded)
	if err != nil {
		return nil, err
	}
	var info []cbor.RawMessage
	var parameters struct {
		Recipient deviceKey `cbor:"recipientPublicKey"`
	}
	if decoder.Unmarshal(raw, &info) != nil || len(info) != 2 || decoder.Unmarshal(info[1], &parameters) != nil {
		return nil, errSampleRequest
	}
	public, err := parameters.Recipient.public()
	if err != nil {
		return nil, err
	}
	key, ok := public.(*ecdsa.PublicKey)
	if !ok {
		return nil, errSampleRequest
	}
	point, err := key.ECDH()
	if err != nil {
		return nil, err
	}
	return hpke.NewDHKEMPublicKey(point)
}
