package wallet

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/veraison/go-cose"

	"agegate/internal/rules/credential"
)

// Identity is the key with which a verifier signs its requests, as some wallets
// require, with the certificates that name the verifier.
type Identity struct {
	Key   *ecdsa.PrivateKey   // P-256 or P-384
	Chain []*x509.Certificate // the key's own first, without the trust anchor
	// DNS is the host name that identifies the verifier in requests
	// (x509_san_dns); if empty, the certificate's hash identifies it (x509_hash).
	DNS string
	// Metadata is what Google Wallet shows about the verifier, as EncodeMetadata
	// returns it; nil for none.
	Metadata []byte
	// Registration is the registration certificate that goes with signed OpenID4VP
	// requests (ETSI TS 119 475, 5.2), a JWT; empty for none.
	Registration string
}

// ClientID is the verifier's identifier in requests (OpenID4VP 1.0, 5.9.3).
func (i Identity) ClientID() string {
	if i.DNS != "" {
		return "x509_san_dns:" + i.DNS
	}
	hash := sha256.Sum256(i.Chain[0].Raw)
	return "x509_hash:" + encode64(hash[:])
}

// UsageReader is the extended key usage of verifiers' certificates (ISO/IEC
// 18013-5, B.1.7).
var UsageReader = asn1.ObjectIdentifier{1, 0, 18013, 5, 1, 6}

// UsageMetadata is the extension of a verifier's certificate that holds the hash
// of the metadata for Google Wallet.
var UsageMetadata = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 10, 1}

// Display is what Google Wallet shows about a verifier.
type Display struct {
	Name       string `cbor:"display_name"`
	LogoURI    string `cbor:"logo_uri,omitempty"`
	PrivacyURI string `cbor:"privacy_policy_uri,omitempty"`
}

// EncodeMetadata returns Google's metadata of a verifier: CBOR embedded in CBOR.
func EncodeMetadata(d Display) []byte {
	return embed(encode(struct {
		Version string  `cbor:"schema_version"`
		Display Display `cbor:"display"`
	}{"v1", d}))
}

// DecodeMetadata returns what EncodeMetadata was given, or nil for no metadata.
func DecodeMetadata(metadata []byte) (*Display, error) {
	if metadata == nil {
		return nil, nil //nolint:nilnil // none is none
	}
	content, err := embedded(metadata)
	if err != nil {
		return nil, err
	}
	var m struct {
		Display Display `cbor:"display"`
	}
	err = decoder.Unmarshal(content, &m)
	return &m.Display, err
}

// MetadataExtension returns the value of UsageMetadata.
func MetadataExtension(metadata []byte) ([]byte, error) {
	hash := sha256.Sum256(metadata)
	return asn1.Marshal(hash[:])
}

// Signed returns the exchange with requests that the identity signs. Links with
// SchemeProofOfAge stay unsigned, because the EU's app refuses identities.
func (e Exchange) Signed(i Identity) Exchange {
	e.identity = &i
	return e
}

// Unsigned returns the exchange without an identity.
func (e Exchange) Unsigned() Exchange {
	e.identity = nil
	return e
}

// IsSigned reports whether requests are signed.
func (e Exchange) IsSigned() bool { return e.identity != nil }

// ProtocolSigned is OpenID4VP's name in the Digital Credentials API for signed
// requests.
const ProtocolSigned = "openid4vp-v1-signed"

// RequestObjectType is the media type of a signed request.
const RequestObjectType = "application/oauth-authz-req+jwt"

// requestObject is the payload of a signed request (RFC 9101; OpenID4VP 1.0, 5).
type requestObject struct {
	ClientID string   `json:"client_id"`
	Audience string   `json:"aud"`
	IssuedAt int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	Origins  []string `json:"expected_origins,omitempty"` // only for requests in the browser
	openIDRequest
	ResponseURI string `json:"response_uri,omitempty"`
	State       string `json:"state,omitempty"`
	WalletNonce string `json:"wallet_nonce,omitempty"`
	// Attested is what others attest of the verifier (OpenID4VP 1.0, 5.11).
	Attested []attestation `json:"verifier_info,omitempty"`
}

type attestation struct {
	Format string `json:"format"`
	Data   string `json:"data"`
}

// formatRegistration is the format of a registration certificate (ETSI TS 119
// 472-2, 6.3).
const formatRegistration = "registration_cert"

// audience is the audience of requests to any wallet (OpenID4VP 1.0, 5.8).
const audience = "https://self-issued.me/v2"

// requestLife is how long a signed request may be used. A wallet that fetches the
// request again gets a later end.
const requestLife = 10 * time.Minute

// MaxWalletNonce is the maximum length of a wallet's nonce, which the signed
// request repeats.
const MaxWalletNonce = 512

// SignedLink returns a short link to a signed request, which the wallet fetches
// from requestURI.
func (e Exchange) SignedLink(scheme, requestURI string) string {
	return scheme + "://?client_id=" + e.identity.ClientID() + "&request_uri=" +
		lightly.Replace(url.QueryEscape(requestURI)) + "&request_uri_method=post"
}

// RequestObject returns the signed request whose answer goes to responseURI. It
// repeats the wallet's nonce, if there is one.
func (e Exchange) RequestObject(targetAge int, responseURI, walletNonce string, now time.Time) (string, error) {
	request, err := e.signable("direct_post.jwt", targetAge, now)
	if err != nil {
		return "", err
	}
	request.ResponseURI = responseURI
	request.State = e.state
	request.WalletNonce = walletNonce
	return e.identity.sign(request)
}

// browserObject returns the signed request for a page of the given origin.
func (e Exchange) browserObject(targetAge int, origin string, now time.Time) (string, error) {
	request, err := e.signable("dc_api.jwt", targetAge, now)
	if err != nil {
		return "", err
	}
	request.Origins = []string{origin}
	return e.identity.sign(request)
}

func (e Exchange) signable(mode string, targetAge int, now time.Time) (requestObject, error) {
	metadata, err := e.metadata()
	if e.identity.Metadata != nil {
		metadata.Google = encode64(e.identity.Metadata)
	}
	var attested []attestation
	if e.identity.Registration != "" {
		attested = []attestation{{formatRegistration, e.identity.Registration}}
	}
	return requestObject{
		ClientID: e.identity.ClientID(), Audience: audience, Attested: attested,
		IssuedAt: now.Unix(), Expires: now.Add(requestLife).Unix(),
		openIDRequest: openIDRequest{
			ResponseType: "vp_token", ResponseMode: mode, Nonce: e.Nonce(), Query: e.query(targetAge), Metadata: metadata,
		},
	}, err
}

// algorithm returns the identity's signature algorithm for JWS and for COSE.
func (i Identity) algorithm() (jose.SignatureAlgorithm, cose.Algorithm) {
	if i.Key.Curve.Params().BitSize == 384 {
		return jose.ES384, cose.AlgorithmES384
	}
	return jose.ES256, cose.AlgorithmES256
}

func (i Identity) sign(request requestObject) (string, error) {
	chain := make([]string, len(i.Chain))
	for n, c := range i.Chain {
		chain[n] = base64.StdEncoding.EncodeToString(c.Raw)
	}
	algorithm, _ := i.algorithm()
	header := map[jose.HeaderKey]any{jose.HeaderType: jose.ContentType("oauth-authz-req+jwt"), "x5c": chain}
	return credential.SignJWS(jose.SigningKey{Algorithm: algorithm, Key: i.Key}, header, request)
}
