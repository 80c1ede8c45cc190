package wallet

import (
	"github.com/fxamacker/cbor/v2"
)

// maxNesting and maxElements limit what a decoder builds from hostile CBOR. Proofs of
// age are nested a dozen levels deep, and a mobile driving licence has about sixty
// elements.
const (
	maxNesting  = 20
	maxElements = 512
)

var (
	decoder     = must(decOptions(maxElements).DecMode())
	listDecoder = must(decOptions(maxIdentifiers).DecMode())
	encoder     = must(cbor.CoreDetEncOptions().EncMode())
)

// decOptions returns options for reading CBOR whose maps have at most the given number
// of pairs.
func decOptions(pairs int) cbor.DecOptions {
	return cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:   maxNesting,
		MaxArrayElements:  maxElements,
		MaxMapPairs:       pairs,
		TimeTag:           cbor.DecTagRequired,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
	}
}

func must[T any](mode T, err error) T {
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}

// tagEmbedded marks a byte string that holds encoded CBOR (RFC 8949, 3.4.5.1).
const tagEmbedded = 24

// embedded returns the content of an embedded item: #6.24(bstr .cbor x).
func embedded(raw cbor.RawMessage) ([]byte, error) {
	var tag cbor.RawTag
	if err := decoder.Unmarshal(raw, &tag); err != nil || tag.Number != tagEmbedded {
		return nil, refuse(ReasonMalformed)
	}
	var content []byte
	if err := decoder.Unmarshal(tag.Content, &content); err != nil {
		return nil, refuse(ReasonMalformed)
	}
	return content, nil
}

// embed returns content, which is encoded CBOR, as an embedded item.
func embed(content []byte) cbor.RawMessage {
	return encode(cbor.Tag{Number: tagEmbedded, Content: content})
}

// encode returns v as CBOR. v must be of types that can be encoded.
func encode(v any) []byte { return must(encoder.Marshal(v)) }
