package wallet

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/json"

	"github.com/fxamacker/cbor/v2"
	"github.com/veraison/go-cose"
)

// The protocol org-iso-mdoc of the Digital Credentials API: ISO/IEC 18013-7,
// Annex C.

// ProtocolMdoc is the name of the protocol of Annex C.
const ProtocolMdoc = "org-iso-mdoc"

// mdocRequest is the data of a request.
type mdocRequest struct {
	DeviceRequest  string `json:"deviceRequest"`  // base64url of CBOR
	EncryptionInfo string `json:"encryptionInfo"` // base64url of CBOR
}

type deviceRequest struct {
	Version   string            `cbor:"version"`
	Requests  []docRequest      `cbor:"docRequests"`
	ReaderAll []cbor.RawMessage `cbor:"readerAuthAll,omitempty"` // COSE_Sign1, detached; second edition
}

type docRequest struct {
	Items  cbor.RawMessage `cbor:"itemsRequest"`         // embedded
	Reader cbor.RawMessage `cbor:"readerAuth,omitempty"` // COSE_Sign1, detached
}

type itemsRequest struct {
	DocType    string                     `cbor:"docType"`
	NameSpaces map[string]map[string]bool `cbor:"nameSpaces"` // element names, each with whether it will be stored
	Info       *requestInfo               `cbor:"requestInfo,omitempty"`
}

// requestInfo belongs to the second edition of ISO/IEC 18013-5; wallets of the
// first edition ignore it.
type requestInfo struct {
	Alternatives []alternativeElements `cbor:"alternativeDataElements"`
}

type alternativeElements struct {
	Requested elementReference     `cbor:"requestedElement"`
	Sets      [][]elementReference `cbor:"alternativeElementSets"`
}

type elementReference struct {
	_         struct{} `cbor:",toarray"`
	NameSpace string
	Element   string
}

type encryptionParameters struct {
	Nonce     []byte    `cbor:"nonce"`
	Recipient publicKey `cbor:"recipientPublicKey"`
}

// publicKey is an EC2 COSE_Key to be written.
type publicKey struct {
	Type  int64  `cbor:"1,keyasint"`
	Curve int64  `cbor:"-1,keyasint"`
	X     []byte `cbor:"-2,keyasint"`
	Y     []byte `cbor:"-3,keyasint"`
}

const coordinateBytes = 32 // of P-256

func coseKey(key *ecdh.PublicKey) publicKey {
	point := key.Bytes() // uncompressed: 4, X, Y
	return publicKey{Type: keyTypeEC2, Curve: curveP256, X: point[1 : 1+coordinateBytes], Y: point[1+coordinateBytes:]}
}

// mdocRequest asks for the statement of the target age from one kind of document. The
// wallet answers with its nearest statement (ISO/IEC 18013-5, 7.2.5), or with an
// alternative that the request names. If there is an identity, it signs the request for
// pages of origin.
func (e Exchange) mdocRequest(docType string, targetAge int, origin string) (mdocRequest, error) {
	namespace := namespaces[docType]
	items := itemsRequest{DocType: docType,
		NameSpaces: map[string]map[string]bool{namespace: {ageElement(targetAge): false}}}
	if ages := alternatives(targetAge); len(ages) > 1 {
		others := alternativeElements{Requested: elementReference{NameSpace: namespace, Element: ageElement(targetAge)}}
		for _, age := range ages[1:] {
			others.Sets = append(others.Sets, []elementReference{{NameSpace: namespace, Element: ageElement(age)}})
		}
		items.Info = &requestInfo{[]alternativeElements{others}}
	}
	request := deviceRequest{Version: "1.0", Requests: []docRequest{{Items: embed(encode(items))}}}
	if e.identity != nil {
		if err := e.identity.authenticateReader(&request, transcriptMdocAPI(e.encryptionInfo(), origin)); err != nil {
			return mdocRequest{}, err
		}
	}
	return mdocRequest{DeviceRequest: encode64(encode(request)), EncryptionInfo: e.encryptionInfo()}, nil
}

// authenticateReader signs a request for one document in the session of a
// transcript, in the forms of both editions of ISO/IEC 18013-5 (9.1.4).
func (i Identity) authenticateReader(r *deviceRequest, transcript []byte) (err error) {
	session, items := cbor.RawMessage(transcript), r.Requests[0].Items
	if r.Requests[0].Reader, err = i.signDetached([]any{"ReaderAuthentication", session, items}); err != nil {
		return err
	}
	all, err := i.signDetached([]any{"ReaderAuthenticationAll", session, []cbor.RawMessage{items}, nil})
	r.Version, r.ReaderAll = "1.1", []cbor.RawMessage{all}
	return err
}

// signDetached returns a COSE_Sign1 over content that does not contain the content.
func (i Identity) signDetached(content []any) (cbor.RawMessage, error) {
	_, algorithm := i.algorithm()
	var chain any = i.Chain[0].Raw
	if len(i.Chain) > 1 {
		certificates := make([]any, len(i.Chain))
		for n, c := range i.Chain {
			certificates[n] = c.Raw
		}
		chain = certificates
	}
	signed, err := sign1(i.Key, algorithm, embed(encode(content)), cose.UnprotectedHeader{cose.HeaderLabelX5Chain: chain})
	if err != nil {
		return nil, err
	}
	return detach(signed)
}

func (e Exchange) encryptionInfo() string {
	return encode64(encode([]any{"dcapi", encryptionParameters{Nonce: e.nonce, Recipient: coseKey(e.key.PublicKey())}}))
}

type encryptedResponse struct {
	_    struct{} `cbor:",toarray"`
	Name string
	Data encryptedData
}

type encryptedData struct {
	Enc        []byte `cbor:"enc"`
	CipherText []byte `cbor:"cipherText"`
}

// openMdoc decrypts a wallet's answer to a page of origin.
func (e Exchange) openMdoc(origin string, data json.RawMessage) (Presentation, error) {
	answer, err := readTexts(data, "response")
	if err != nil {
		return Presentation{}, err
	}
	raw, err := decode64(answer["response"])
	if err != nil {
		return Presentation{}, err
	}
	var response encryptedResponse
	if decoder.Unmarshal(raw, &response) != nil || response.Name != "dcapi" {
		return Presentation{}, refuse(ReasonMalformed)
	}
	session := transcriptMdocAPI(e.encryptionInfo(), origin)
	key, err := hpke.NewDHKEMPrivateKey(e.key)
	if err != nil {
		return Presentation{}, err
	}
	recipient, err := hpke.NewRecipient(response.Data.Enc, key, hpke.HKDFSHA256(), hpke.AES128GCM(), session)
	if err != nil {
		return Presentation{}, refuse(ReasonEncryption)
	}
	plain, err := recipient.Open(nil, response.Data.CipherText)
	if err != nil {
		return Presentation{}, refuse(ReasonEncryption)
	}
	return Presentation{docTypes: e.mdocTypes(), response: plain, transcript: session, readerKey: e.key}, nil
}
