package wallet

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/json"

	"github.com/fxamacker/cbor/v2"
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
	Version  string       `cbor:"version"`
	Requests []docRequest `cbor:"docRequests"`
}

type docRequest struct {
	Items cbor.RawMessage `cbor:"itemsRequest"` // embedded
}

type itemsRequest struct {
	DocType    string                     `cbor:"docType"`
	NameSpaces map[string]map[string]bool `cbor:"nameSpaces"` // elements, and whether they will be kept
	Info       *requestInfo               `cbor:"requestInfo,omitempty"`
}

// requestInfo is of the second edition of ISO/IEC 18013-5; other wallets ignore
// it.
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

// publicKey is an EC2 COSE_Key as it is written.
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

// mdocRequest asks for the statement of the target age from one kind of
// document. The wallet answers with the nearest statement that it has
// (ISO/IEC 18013-5, 7.2.5), or with an alternative that the request names.
func (e Exchange) mdocRequest(docType string, targetAge int) mdocRequest {
	namespace := namespaces[docType]
	items := itemsRequest{DocType: docType, NameSpaces: map[string]map[string]bool{namespace: {ageElement(targetAge): false}}}
	if ages := alternatives(targetAge); len(ages) > 1 {
		others := alternativeElements{Requested: elementReference{NameSpace: namespace, Element: ageElement(targetAge)}}
		for _, age := range ages[1:] {
			others.Sets = append(others.Sets, []elementReference{{NameSpace: namespace, Element: ageElement(age)}})
		}
		items.Info = &requestInfo{[]alternativeElements{others}}
	}
	request := encode(deviceRequest{Version: "1.0", Requests: []docRequest{{embed(encode(items))}}})
	return mdocRequest{DeviceRequest: encode64(request), EncryptionInfo: e.encryptionInfo()}
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

// openMdoc decrypts the answer of a wallet on a page of origin.
func (e Exchange) openMdoc(origin string, data json.RawMessage) (Presentation, error) {
	var answer struct {
		Response string `json:"response"`
	}
	if json.Unmarshal(data, &answer) != nil {
		return Presentation{}, refuse(ReasonMalformed)
	}
	raw, err := decode64(answer.Response)
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
	return Presentation{e.docTypes, plain, session, e.key}, nil
}
