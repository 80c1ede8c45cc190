package wallet

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// OpenID for Verifiable Presentations 1.0: the Digital Credentials API
// (Appendix A) and links (sections 5 and 8.2), both with a DCQL query.

// ProtocolOpenID is OpenID4VP's name in the Digital Credentials API for
// requests that are not signed.
const ProtocolOpenID = "openid4vp-v1-unsigned"

// Schemes of links to wallets.
const (
	SchemeOpenID     = "openid4vp" // any wallet
	SchemeHAIP       = "haip-vp"   // wallets of the HAIP profile, which require signed requests
	SchemeProofOfAge = "av"        // the EU's age verification app
)

// Members of OpenID4VP's requests.
type (
	openIDRequest struct {
		ResponseType string         `json:"response_type"`
		ResponseMode string         `json:"response_mode"`
		Nonce        string         `json:"nonce"`
		Query        dcqlQuery      `json:"dcql_query"`
		Metadata     clientMetadata `json:"client_metadata"`
	}
	dcqlQuery struct {
		Credentials []dcqlCredential `json:"credentials"`
		Sets        []dcqlSet        `json:"credential_sets,omitempty"`
	}
	dcqlCredential struct {
		ID        string      `json:"id"`
		Format    string      `json:"format"`
		Meta      dcqlMeta    `json:"meta"`
		Trusted   []dcqlTrust `json:"trusted_authorities,omitempty"`
		Claims    []dcqlClaim `json:"claims"`
		ClaimSets [][]string  `json:"claim_sets,omitempty"` // alternatives, the preferred one first
	}
	dcqlMeta struct {
		DocType string   `json:"doctype_value,omitempty"`
		Types   []string `json:"vct_values,omitempty"` // of SD-JWTs
	}
	dcqlTrust struct {
		Type   string   `json:"type"`
		Values []string `json:"values"`
	}
	dcqlClaim struct {
		ID   string   `json:"id,omitempty"`
		Path []string `json:"path"` // namespace and element, or the members of an SD-JWT
	}
	dcqlSet struct {
		Options [][]string `json:"options"`
	}
	clientMetadata struct {
		Keys      jose.JSONWebKeySet       `json:"jwks"`
		Encodings []jose.ContentEncryption `json:"encrypted_response_enc_values_supported"`
		VPFormats vpFormats                `json:"vp_formats_supported"`
		Google    string                   `json:"gw_rp_metadata_bytes,omitempty"` // see EncodeMetadata
	}
	vpFormats struct {
		Mdoc  *mdocFormat  `json:"mso_mdoc,omitempty"`
		SDJWT *sdJWTFormat `json:"dc+sd-jwt,omitempty"`
	}
	sdJWTFormat struct {
		Issued  []jose.SignatureAlgorithm `json:"sd-jwt_alg_values"`
		Binding []jose.SignatureAlgorithm `json:"kb-jwt_alg_values"`
	}
	mdocFormat struct {
		IssuerAuth []int64 `json:"issuerauth_alg_values"`
		DeviceAuth []int64 `json:"deviceauth_alg_values"`
	}
)

const (
	formatMdoc  = "mso_mdoc"
	formatSDJWT = "dc+sd-jwt"
)

var encodings = []jose.ContentEncryption{jose.A128GCM, jose.A256GCM}

func (e Exchange) metadata() (clientMetadata, error) {
	key, err := e.publicJWK()
	m := clientMetadata{Keys: jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}}, Encodings: encodings}
	if len(e.mdocTypes()) > 0 {
		algorithms := make([]int64, len(signAlgorithms))
		for i, a := range signAlgorithms {
			algorithms[i] = int64(a)
		}
		m.VPFormats.Mdoc = &mdocFormat{algorithms, algorithms}
	}
	if e.AsksPID() {
		m.VPFormats.SDJWT = &sdJWTFormat{jwtAlgorithms, jwtAlgorithms}
	}
	return m, err
}

// AsksPID reports whether the exchange asks for a PID, of which a wallet may
// disclose the birth date.
func (e Exchange) AsksPID() bool { return slices.Contains(e.docTypes, DocTypePID) }

// mdocTypes returns the kinds of documents that the exchange asks for, except those
// that are SD-JWTs.
func (e Exchange) mdocTypes() []string {
	return slices.DeleteFunc(slices.Clone(e.docTypes), func(docType string) bool { return docType == DocTypePID })
}

// BrowserRequest is one of the requests that the page offers to the Digital
// Credentials API.
type BrowserRequest struct {
	Protocol string `json:"protocol"`
	Data     any    `json:"data"`
}

// BrowserRequests returns the requests for a page at the given origin. The browser
// uses the first one that a wallet can answer.
func (e Exchange) BrowserRequests(targetAge int, origin string, now time.Time) ([]BrowserRequest, error) {
	requests := []BrowserRequest{}
	if len(e.docTypes) == 0 {
		return requests, nil
	}
	metadata, err := e.metadata()
	if err != nil {
		return nil, err
	}
	for _, docType := range e.mdocTypes() {
		request, err := e.mdocRequest(docType, targetAge, origin)
		if err != nil {
			return nil, err
		}
		requests = append(requests, BrowserRequest{ProtocolMdoc, request})
	}
	if e.identity != nil {
		signed, err := e.browserObject(targetAge, origin, now)
		if err != nil {
			return nil, err
		}
		requests = append(requests, BrowserRequest{ProtocolSigned, signedRequest{signed}})
	}
	return append(requests, BrowserRequest{ProtocolOpenID, openIDRequest{
		ResponseType: "vp_token", ResponseMode: "dc_api.jwt", Nonce: e.Nonce(),
		Query: e.query(targetAge), Metadata: metadata,
	}}), nil
}

type signedRequest struct {
	Request string `json:"request"`
}

// OpenBrowser reads the Digital Credentials API's result on a page of origin.
func (e Exchange) OpenBrowser(origin, protocol string, data json.RawMessage) (Presentation, error) {
	switch protocol {
	case ProtocolMdoc:
		return e.openMdoc(origin, data)
	case ProtocolOpenID, ProtocolSigned: // both are answered in the same form
		answer, err := readTexts(data, "response", "error")
		if err != nil {
			return Presentation{}, err
		}
		if code := answer["error"]; code != "" {
			return Presentation{}, walletError(code)
		}
		// A key binding names the origin, also in answers to signed requests (Appendix A.4).
		return e.decrypt(answer["response"], bond{transcriptOpenIDAPI(origin, e.Nonce(), e.thumbprint), "origin:" + origin})
	default:
		return Presentation{}, refuse(ReasonMalformed)
	}
}

// clientID is the verifier's identifier in an unsigned request (OpenID4VP 1.0,
// 5.9.3).
func clientID(responseURI string) string { return "redirect_uri:" + responseURI }

// Schemes returns the schemes of links that can ask for a document of the
// exchange.
func (e Exchange) Schemes() (schemes []string) {
	if slices.Contains(e.docTypes, DocTypeProofOfAge) {
		schemes = append(schemes, SchemeProofOfAge)
	}
	if len(e.docTypes) > 0 {
		schemes = append(schemes, SchemeOpenID)
		if e.IsSigned() {
			schemes = append(schemes, SchemeHAIP)
		}
	}
	return schemes
}

// Link returns a request as a link or QR code for a scheme. The wallet posts its
// answer to responseURI, which must differ between schemes. The request does not name
// the trusted issuers: they are only a hint, and cameras read a shorter code better.
func (e Exchange) Link(scheme string, targetAge int, responseURI string) (string, error) {
	values := url.Values{
		"client_id": {clientID(responseURI)}, "response_uri": {responseURI},
		"response_type": {"vp_token"}, "nonce": {e.Nonce()},
	}
	asked := query(targetAge, e.docTypes...)
	if scheme == SchemeProofOfAge {
		values.Set("response_mode", "direct_post")
		asked = query(targetAge, proofOfAge...)
	} else {
		metadata, err := e.metadata()
		if err != nil {
			return "", err
		}
		encoded, err := json.Marshal(metadata)
		if err != nil {
			return "", err
		}
		values.Set("response_mode", "direct_post.jwt")
		values.Set("client_metadata", string(encoded))
	}
	encoded, err := json.Marshal(asked)
	if err != nil {
		return "", err
	}
	values.Set("dcql_query", string(encoded))
	return scheme + "://?" + lightly.Replace(values.Encode()), nil
}

// lightly replaces the escapes of characters that a query may contain (RFC 3986, 3.4)
// by these characters, so that links are short enough for QR codes.
var lightly = strings.NewReplacer("%3A", ":", "%2C", ",", "%2F", "/")

// proofOfAge is the only kind of document that a link with SchemeProofOfAge asks
// for.
var proofOfAge = []string{DocTypeProofOfAge}

// OpenPost reads what a wallet posted to responseURI in answer to the link with a
// scheme. It refuses an answer in another response mode than the link's.
func (e Exchange) OpenPost(scheme, responseURI string, form url.Values) (Presentation, error) {
	parameter := "response"
	if scheme == SchemeProofOfAge {
		parameter = "vp_token"
	}
	switch code := form.Get("error"); {
	case code != "":
		return Presentation{}, walletError(code)
	case len(form[parameter]) != 1 || form.Has("response") && form.Has("vp_token"):
		return Presentation{}, refuse(ReasonMalformed)
	case scheme == SchemeProofOfAge:
		token, err := readJSON([]byte(form.Get(parameter)))
		if err != nil {
			return Presentation{}, err
		}
		return e.onlyDocument(token, proofOfAge,
			bond{transcriptOpenID(clientID(responseURI), e.Nonce(), nil, responseURI), clientID(responseURI)})
	default:
		client := clientID(responseURI)
		if e.identity != nil {
			client = e.identity.ClientID()
		}
		return e.decrypt(form.Get(parameter), bond{transcriptOpenID(client, e.Nonce(), e.thumbprint, responseURI), client})
	}
}

// walletError returns the refusal for an error reported by a wallet (OpenID4VP
// 1.0, 8.5).
func walletError(code string) error {
	if code == "access_denied" {
		return refuse(ReasonDeclined)
	}
	return refuse(ReasonUnable)
}

// bond is what a presentation must be bound to: in documents of ISO/IEC 18013-5 a
// session transcript, in SD-JWTs an audience.
type bond struct {
	transcript []byte
	audience   string
}

// decrypt opens an encrypted response. The library limits the size of
// decompressed responses.
func (e Exchange) decrypt(response string, to bond) (Presentation, error) {
	if len(response) > 2*MaxResponseBytes {
		return Presentation{}, refuse(ReasonMalformed)
	}
	message, err := jose.ParseEncryptedCompact(response, []jose.KeyAlgorithm{jose.ECDH_ES}, encodings)
	// With ECDH-ES, the agreed key is used directly (RFC 7516, 5.2).
	if parts := strings.Split(response, "."); err != nil || parts[1] != "" {
		return Presentation{}, refuse(ReasonMalformed)
	}
	key, err := signatureKey(e.key)
	if err != nil {
		return Presentation{}, err
	}
	plain, err := message.Decrypt(key)
	if err != nil {
		return Presentation{}, refuse(ReasonEncryption)
	}
	payload, err := readJSONObject(plain)
	if err != nil {
		return Presentation{}, err
	}
	texts, err := textsOf(payload, "error", "state")
	if err != nil || texts["state"] != "" && texts["state"] != e.state {
		return Presentation{}, refuse(ReasonMalformed)
	}
	if code := texts["error"]; code != "" {
		return Presentation{}, walletError(code)
	}
	return e.onlyDocument(payload["vp_token"], e.docTypes, to)
}

// onlyDocument reads a vp_token with one presentation. The token's member names a kind
// of document, and the presentation must answer the query for that kind (OpenID4VP 1.0,
// 8.1).
func (e Exchange) onlyDocument(token any, asked []string, to bond) (Presentation, error) {
	answers, _ := token.(map[string]any)
	if len(answers) != 1 {
		return Presentation{}, refuse(ReasonMalformed)
	}
	for _, docType := range asked {
		presentations, _ := answers[credentialID[docType]].([]any)
		if len(presentations) != 1 {
			continue
		}
		text, ok := presentations[0].(string)
		if !ok {
			continue
		}
		p := Presentation{docTypes: []string{docType}, transcript: to.transcript, readerKey: e.key, audience: to.audience,
			nonce: e.Nonce()}
		if docType == DocTypePID {
			p.response = []byte(text)
			return p, nil
		}
		var err error
		p.response, err = decode64(text)
		return p, err
	}
	return Presentation{}, refuse(ReasonMalformed)
}
