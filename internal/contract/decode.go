package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

// maxDepth is how deep arrays and objects of a body may nest. The contract's
// requests need 1.
const maxDepth = 32

var (
	errNotJSON   = errors.New("not one JSON value in UTF-8")
	errDuplicate = errors.New("duplicate member name")
	errTooDeep   = errors.New("nested too deeply")
)

// decodeBody is the validator's decoder for JSON bodies. Any failure is a
// ParseError with a fixed cause.
func decodeBody(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	data, err := io.ReadAll(body)
	if err == nil {
		var value any
		if value, err = decodeJSON(data); err == nil {
			return value, nil
		}
	}
	return nil, &openapi3filter.ParseError{Kind: openapi3filter.KindInvalidFormat, Cause: err}
}

// decodeJSON decodes exactly one JSON value and refuses what encoding/json
// lets pass: duplicate member names, trailing data, invalid UTF-8. Numbers
// become json.Number, an integral one written without point or exponent.
func decodeJSON(data []byte) (any, error) {
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, errNotJSON
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return decodeValue(dec, 0)
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, errNotJSON
	}
	switch token := token.(type) {
	case json.Number:
		return canonical(token), nil
	case json.Delim:
		if depth == maxDepth {
			return nil, errTooDeep
		}
		if token == '{' {
			return decodeObject(dec, depth+1)
		}
		return decodeArray(dec, depth+1)
	default:
		return token, nil
	}
}

func decodeObject(dec *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, errNotJSON
		}
		name, ok := token.(string)
		if !ok {
			return nil, errNotJSON
		}
		if _, ok := object[name]; ok {
			return nil, errDuplicate
		}
		if object[name], err = decodeValue(dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token() // the closing brace
	return object, err
}

func decodeArray(dec *json.Decoder, depth int) (any, error) {
	array := []any{}
	for dec.More() {
		value, err := decodeValue(dec, depth)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := dec.Token() // the closing bracket
	return array, err
}

// canonical rewrites 18.0 and 1.8e1 as 18, which is how a binder recognizes an
// integer. From 2^53 on a float64 no longer tells integers apart: such numbers
// stay as they are written. What is beyond float64 becomes the nearest one, so
// that it is out of range and not of a wrong type.
func canonical(n json.Number) json.Number {
	f, err := strconv.ParseFloat(string(n), 64)
	switch {
	case err != nil: // f is an infinity
		return json.Number(strconv.FormatFloat(math.Copysign(math.MaxFloat64, f), 'g', -1, 64))
	case f != math.Trunc(f) || math.Abs(f) >= 1<<53:
		return n
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}
