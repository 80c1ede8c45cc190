package wallet

import (
	"crypto"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// The structures of ISO/IEC 18013-5, 8.3.2.1.2.2 (device response) and 9.1.2.4 (mobile
// security object). Parts that are signed or digested are kept as received, because a
// wallet may encode them differently from this package.

type deviceResponse struct {
	Version   string     `cbor:"version"`
	Documents []document `cbor:"documents,omitempty"`
	Status    uint64     `cbor:"status"`
}

type document struct {
	DocType      string       `cbor:"docType"`
	IssuerSigned issuerSigned `cbor:"issuerSigned"`
	DeviceSigned deviceSigned `cbor:"deviceSigned"`
}

type issuerSigned struct {
	NameSpaces map[string][]cbor.RawMessage `cbor:"nameSpaces,omitempty"` // embedded items
	IssuerAuth cbor.RawMessage              `cbor:"issuerAuth"`           // COSE_Sign1 over the embedded security object
}

type deviceSigned struct {
	NameSpaces cbor.RawMessage `cbor:"nameSpaces"` // embedded; never read
	DeviceAuth deviceAuth      `cbor:"deviceAuth"`
}

// deviceAuth has exactly one of its members.
type deviceAuth struct {
	Signature cbor.RawMessage `cbor:"deviceSignature,omitempty"` // COSE_Sign1, detached
	MAC       cbor.RawMessage `cbor:"deviceMac,omitempty"`       // COSE_Mac0, detached
}

type item struct {
	DigestID uint64          `cbor:"digestID"`
	Random   []byte          `cbor:"random"`
	Element  string          `cbor:"elementIdentifier"`
	Value    cbor.RawMessage `cbor:"elementValue"`
}

type securityObject struct {
	Version         string                       `cbor:"version"`
	DigestAlgorithm string                       `cbor:"digestAlgorithm"`
	ValueDigests    map[string]map[uint64][]byte `cbor:"valueDigests"`
	DeviceKeyInfo   deviceKeyInfo                `cbor:"deviceKeyInfo"`
	DocType         string                       `cbor:"docType"`
	ValidityInfo    validityInfo                 `cbor:"validityInfo"`
	Status          *objectStatus                `cbor:"status,omitempty"`
}

type deviceKeyInfo struct {
	DeviceKey deviceKey `cbor:"deviceKey"`
}

type validityInfo struct {
	Signed     dateTime `cbor:"signed"`
	ValidFrom  dateTime `cbor:"validFrom"`
	ValidUntil dateTime `cbor:"validUntil"`
}

// dateTime is a tdate (RFC 8949, 3.4.1): a time of RFC 3339 as text. Its letters may
// be small, and a leap second has the number 60 (RFC 3339, 5.6), which [time.Parse]
// does not read.
type dateTime struct{ time.Time }

// UnmarshalCBOR implements [cbor.Unmarshaler].
func (d *dateTime) UnmarshalCBOR(raw []byte) error {
	var tag cbor.RawTag
	var text string
	if decoder.Unmarshal(raw, &tag) != nil || tag.Number != 0 || decoder.Unmarshal(tag.Content, &text) != nil {
		return refuse(ReasonMalformed)
	}
	text = strings.ToUpper(text)
	const secondsAt = len("2006-01-02T15:04")
	leap := time.Duration(0)
	if len(text) > secondsAt && strings.HasPrefix(text[secondsAt:], ":60") {
		text, leap = text[:secondsAt]+":59"+text[secondsAt+len(":60"):], time.Second
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return refuse(ReasonMalformed)
	}
	d.Time = at.Add(leap)
	return nil
}

// objectStatus says where to look up whether the document was revoked: a token
// status list (draft-ietf-oauth-status-list, 6.3.1) or an identifier list (ISO/IEC
// 18013-5 second edition, 12.3.6).
type objectStatus struct {
	List        *StatusEntry    `cbor:"status_list,omitempty"`
	Identifiers cbor.RawMessage `cbor:"identifier_list,omitempty"` // read only without a List
}

// StatusEntry is a document's place in a list: its index in a token status list, or
// its ID in an identifier list.
type StatusEntry struct {
	Index uint64          `cbor:"idx,omitempty"`
	ID    cbor.ByteString `cbor:"id,omitempty"` // empty: a token status list
	URI   string          `cbor:"uri"`
}

// maxIdentifier bounds the ID of a document in an identifier list.
const maxIdentifier = 256

// entry returns the document's place in the list that decides. If there are both kinds
// of lists, it is the token status list.
func (s objectStatus) entry() (e StatusEntry, err error) {
	if s.List != nil {
		return StatusEntry{Index: s.List.Index, URI: s.List.URI}, nil
	}
	if decoder.Unmarshal(s.Identifiers, &e) != nil || e.ID == "" || len(e.ID) > maxIdentifier {
		return e, refuse(ReasonStatus)
	}
	return StatusEntry{ID: e.ID, URI: e.URI}, nil
}

// digestAlgorithms are those of 9.1.2.5.
var digestAlgorithms = map[string]crypto.Hash{
	"SHA-256": crypto.SHA256, "SHA-384": crypto.SHA384, "SHA-512": crypto.SHA512,
}

// parseResponse returns the only document of a device response.
func parseResponse(raw []byte) (document, error) {
	documents, err := parseDocuments(raw)
	if err != nil {
		return document{}, err
	}
	if len(documents) != 1 {
		return document{}, refuse(ReasonMalformed)
	}
	return documents[0], nil
}

func parseDocuments(raw []byte) ([]document, error) {
	if len(raw) > MaxResponseBytes {
		return nil, refuse(ReasonMalformed)
	}
	var response deviceResponse
	if err := decoder.Unmarshal(raw, &response); err != nil || response.Status != 0 ||
		!strings.HasPrefix(response.Version, "1.") {
		return nil, refuse(ReasonMalformed)
	}
	return response.Documents, nil
}

// elements returns the elements of a namespace. Before that, it compares every item of
// the document with its digest.
func (d document) elements(object securityObject, namespace string) (map[string]cbor.RawMessage, error) {
	algorithm, ok := digestAlgorithms[object.DigestAlgorithm]
	if !ok {
		return nil, refuse(ReasonAlgorithm)
	}
	found := map[string]cbor.RawMessage{}
	for name, items := range d.IssuerSigned.NameSpaces {
		for _, raw := range items {
			digest := algorithm.New()
			digest.Write(raw)
			content, err := embedded(raw)
			if err != nil {
				return nil, err
			}
			var i item
			if err := decoder.Unmarshal(content, &i); err != nil {
				return nil, refuse(ReasonMalformed)
			}
			want, listed := object.ValueDigests[name][i.DigestID]
			if !listed || string(want) != string(digest.Sum(nil)) {
				return nil, refuse(ReasonDigest)
			}
			if _, twice := found[i.Element]; twice && name == namespace {
				return nil, refuse(ReasonMalformed)
			}
			if name == namespace {
				found[i.Element] = i.Value
			}
		}
	}
	return found, nil
}
