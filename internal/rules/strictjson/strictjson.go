// Package strictjson reads JSON that others send, and refuses what two readers could
// read differently.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Errors of Read. They contain nothing of the text.
var (
	ErrNotJSON   = errors.New("not one JSON value in UTF-8")
	ErrDuplicate = errors.New("duplicate member name")
	ErrTooDeep   = errors.New("nested too deeply")
)

// Read reads exactly one JSON value as a map[string]any, a []any, a string, a
// json.Number, a bool or nil. Unlike encoding/json, it refuses duplicate member
// names, trailing data, invalid UTF-8, lone surrogates, and arrays and objects nested
// more than maxDepth deep. Look members up by their exact names: decoding to a struct
// ignores their case.
func Read(data []byte, maxDepth int) (any, error) {
	if !utf8.Valid(data) || !json.Valid(data) || hasLoneSurrogate(data) {
		return nil, ErrNotJSON
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return readValue(dec, maxDepth)
}

// readValue reads the next value, nested at most depth deep.
func readValue(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, ErrNotJSON
	}
	open, nested := token.(json.Delim)
	switch {
	case !nested:
		return token, nil
	case depth == 0:
		return nil, ErrTooDeep
	case open == '{':
		return readObject(dec, depth-1)
	}
	return readArray(dec, depth-1)
}

func readObject(dec *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, ErrNotJSON
		}
		name, ok := token.(string)
		if !ok {
			return nil, ErrNotJSON
		}
		if _, ok := object[name]; ok {
			return nil, ErrDuplicate
		}
		if object[name], err = readValue(dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token() // the closing brace
	return object, err
}

func readArray(dec *json.Decoder, depth int) (any, error) {
	array := []any{}
	for dec.More() {
		value, err := readValue(dec, depth)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := dec.Token() // the closing bracket
	return array, err
}

// hasLoneSurrogate reports whether valid JSON escapes one half of a UTF-16
// surrogate pair without the other.
func hasLoneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++ // the escaped character
		first, ok := escapedUnit(data[i:])
		if !ok || !utf16.IsSurrogate(first) {
			continue
		}
		i += 5 // of uXXXX, to the next character
		if i == len(data) || data[i] != '\\' {
			return true
		}
		second, ok := escapedUnit(data[i+1:])
		if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		i += 5
	}
	return false
}

// escapedUnit returns the UTF-16 unit of data that begins with uXXXX.
func escapedUnit(data []byte) (rune, bool) {
	if data[0] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(data[1:5]), 16, 16)
	return rune(unit), err == nil
}
