package wallet

import (
	"bytes"
	"encoding/json"
	"io"
)

// maxDepth is how deeply JSON of a wallet may be nested.
const maxDepth = 16

// readJSON reads one JSON value as a map[string]any, a []any, a string, a
// json.Number, a bool or nil. Unlike encoding/json, it refuses an object that
// has a member twice: two readers could choose differently (RFC 8259, 4). For the
// same reason callers look members up by their exact names, which decoding to
// structs does not.
func readJSON(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	value, err := readValue(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, refuse(ReasonMalformed)
	}
	return value, nil
}

// readJSONObject is readJSON for an object.
func readJSONObject(raw []byte) (map[string]any, error) {
	value, err := readJSON(raw)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, refuse(ReasonMalformed)
	}
	return object, nil
}

// readTexts reads an object's members that are texts, "" where there is none.
func readTexts(raw []byte, names ...string) (map[string]string, error) {
	object, err := readJSONObject(raw)
	if err != nil {
		return nil, err
	}
	return textsOf(object, names...)
}

// textsOf is readTexts for an object that was read.
func textsOf(object map[string]any, names ...string) (map[string]string, error) {
	texts := map[string]string{}
	for _, name := range names {
		text, ok := object[name].(string)
		if !ok && object[name] != nil {
			return nil, refuse(ReasonMalformed)
		}
		texts[name] = text
	}
	return texts, nil
}

func readValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil || depth > maxDepth {
		return nil, refuse(ReasonMalformed)
	}
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, refuse(ReasonMalformed)
			}
			key, _ := name.(string)
			if _, twice := object[key]; twice {
				return nil, refuse(ReasonMalformed)
			}
			if object[key], err = readValue(decoder, depth+1); err != nil {
				return nil, err
			}
		}
		return object, closed(decoder)
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := readValue(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, closed(decoder)
	default:
		return token, nil
	}
}

// closed reads the end of an object or a list.
func closed(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != nil {
		return refuse(ReasonMalformed)
	}
	return nil
}
