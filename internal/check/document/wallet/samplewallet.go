package wallet

import (
	"crypto"
	"encoding/json"
	"errors"
	"net/url"
	"time"

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
	response, err := i.encrypted(request, s, client, responseURI, now)
	return responseURI, url.Values{"response": {response}}, err
}

// encrypted returns the answer to a request as a JWE for the request's key.
func (i *SampleIssuer) encrypted(
	request openIDRequest, s SampleDocument, client, responseURI string, now time.Time,
) (string, error) {
	keys := request.Metadata.Keys.Keys
	if len(keys) != 1 {
		return "", errSampleRequest
	}
	thumbprint, err := keys[0].Thumbprint(crypto.SHA256)
	if err != nil {
		return "", err
	}
	session := transcriptOpenID(client, request.Nonce, thumbprint, responseURI)
	token, err := i.token(request, s, bond{session, client}, now)
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
		presented, err := i.PresentPID(s, credential.Claims[0].Path, to.audience, request.Nonce, now)
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
	response, err := i.Present(s, credential.Meta.DocType, []int{age}, to.transcript, now)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string][]string{credential.ID: {encode64(response)}})
}
