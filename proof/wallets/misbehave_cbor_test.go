package wallets

import (
	"bytes"
	"cmp"
	"crypto"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

const hash256 = crypto.SHA256

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only values of types that can be encoded
	}
	return b
}

// sorted puts misbehaviours from a map in order.
func sorted(all []misbehaviour) []misbehaviour {
	slices.SortFunc(all, func(a, b misbehaviour) int { return cmp.Compare(a.name, b.name) })
	return all
}

// cborMisbehaviours are device responses that are not well-formed, not of the
// structure of ISO/IEC 18013-5, or made to cost much.
func cborMisbehaviours() (all []misbehaviour) {
	for name, edit := range map[string]func(response []byte) []byte{
		"an empty response":            func([]byte) []byte { return nil },
		"a response cut in the middle": func(b []byte) []byte { return b[:len(b)/2] },
		"a response cut by one byte":   func(b []byte) []byte { return b[:len(b)-1] },
		"bytes after the response":     func(b []byte) []byte { return append(b, 0) },
		"two responses in a row":       func(b []byte) []byte { return append(b, b...) },
		"a response in a list":         func(b []byte) []byte { return append([]byte{0x81}, b...) },
		"a response that is null":      func([]byte) []byte { return []byte{0xf6} },
		"a response that is a number":  func([]byte) []byte { return []byte{0x01} },
		"lists nested 10,000 times":    func([]byte) []byte { return bytes.Repeat([]byte{0x81}, 10_000) },
		"maps nested 10,000 times": func([]byte) []byte {
			return bytes.Repeat([]byte{0xa1, 0x61, 'a'},
				10_000)
		},
		"tags nested 10,000 times":         func([]byte) []byte { return bytes.Repeat([]byte{0xd8, 24}, 10_000) },
		"lists without a length nested":    func([]byte) []byte { return bytes.Repeat([]byte{0x9f}, 10_000) },
		"a list that claims 2^32 elements": func([]byte) []byte { return []byte{0x9a, 0xff, 0xff, 0xff, 0xff} },
		"a map that claims 2^62 pairs":     func([]byte) []byte { return []byte{0xbb, 0x40, 0, 0, 0, 0, 0, 0, 0} },
		"a text that claims 2^62 bytes":    func([]byte) []byte { return []byte{0x7b, 0x40, 0, 0, 0, 0, 0, 0, 0} },
		"a text without a length that never ends": func([]byte) []byte {
			return append([]byte{0x7f},
				bytes.Repeat([]byte{0x60}, 50_000)...)
		},
		"a list of 60,000 elements": func([]byte) []byte {
			return append([]byte{0x99, 0xea, 0x60},
				make([]byte, 60_000)...)
		},
		"a map of 20,000 pairs":               func([]byte) []byte { return manyPairs() },
		"a response larger than any document": func(b []byte) []byte { return append(b, make([]byte, 64<<10)...) },
		"duplicate members of the response":   func(b []byte) []byte { return twice(b, "status", 0) },
		"duplicate documents":                 func(b []byte) []byte { return twice(b, "documents", []any{}) },
		"a name that is not UTF-8": func(b []byte) []byte {
			return bytes.Replace(b, []byte("documents"),
				[]byte("\xff\xfeuments"), 1)
		},
		"a reserved additional information": func([]byte) []byte { return []byte{0x1c} },
		"a break without a beginning":       func([]byte) []byte { return []byte{0xff} },
		"a response that is text of JSON":   func([]byte) []byte { return []byte(`{"version":"1.0","documents":[]}`) },
		"a response embedded in a tag":      func(b []byte) []byte { return embed(b) },
		"a big number of 60,000 bytes as response": func([]byte) []byte {
			return append([]byte{0xc2, 0x59, 0xea, 0x60},
				make([]byte, 60_000)...)
		},
	} {
		all = append(all, misbehaviour{name, "", func(a *answer) { a.bytes = edit }, malformed})
	}
	for name, edit := range map[string]func(r map[string]any){
		"a response without documents": func(r map[string]any) { delete(r, "documents") },
		"an empty list of documents":   func(r map[string]any) { r["documents"] = []any{} },
		"two documents": func(r map[string]any) {
			r["documents"] = append(r["documents"].([]any),
				r["documents"].([]any)[0])
		},
		"a status that reports an error": func(r map[string]any) { r["status"] = 10 },
		"a status below zero":            func(r map[string]any) { r["status"] = -1 },
		"a status that is a text":        func(r map[string]any) { r["status"] = "0" },
		"a version of another structure": func(r map[string]any) { r["version"] = "2.0" },
		"no version":                     func(r map[string]any) { delete(r, "version") },
		"a version that is a number":     func(r map[string]any) { r["version"] = 1.0 },
		"documents that are a map":       func(r map[string]any) { r["documents"] = map[string]any{"a": 1} },
		"documents with zero knowledge only": func(r map[string]any) {
			r["zkDocuments"] = r["documents"]
			delete(r,
				"documents")
		},
		"documents that are encrypted only": func(r map[string]any) {
			r["encryptedDocuments"] = []any{[]byte{1}}
			delete(r,
				"documents")
		},
		"513 documents":             func(r map[string]any) { r["documents"] = slices.Repeat([]any{0}, 513) },
		"a document that is a list": func(r map[string]any) { r["documents"] = []any{[]any{1, 2}} },
		"documents that are a text": func(r map[string]any) { r["documents"] = strings.Repeat("x", 10) },
	} {
		all = append(all, misbehaviour{name, "", func(a *answer) { a.response = edit }, malformed})
	}
	all = append(all, misbehaviour{"a document that is null", "", func(a *answer) {
		a.response = func(r map[string]any) { r["documents"] = []any{nil} }
	}, otherKind})
	return sorted(all)
}

// manyPairs is a map with more pairs than any document has.
func manyPairs() []byte {
	b := []byte{0xb9, 0x4e, 0x20}
	for n := range 20_000 {
		b = append(b, 0x19, byte(n>>8), byte(n), 0)
	}
	return b
}

// twice returns an encoded map in which a member occurs twice.
func twice(encoded []byte, name string, value any) []byte {
	var members map[string]cbor.RawMessage
	if err := cbor.Unmarshal(encoded, &members); err != nil {
		panic(err) // it was encoded here
	}
	const mapOf = 0xa0
	all := []byte{mapOf + byte(len(members)) + 1}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		all = append(append(all, encode(key)...), members[key]...)
	}
	return append(append(all, encode(name)...), encode(value)...)
}
