package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"mime"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deeply arrays and objects of a body may be nested. The
// contract's requests need 1.
const maxDepth = 32

var (
	errNotJSON   = errors.New("not one JSON value in UTF-8")
	errDuplicate = errors.New("duplicate member name")
	errTooDeep   = errors.New("nested too deeply")
)

// jsonType is the media type of every request body.
const jsonType = "application/json"

// decodeBody returns the value of a body, or the type of a violation: missing
// for no body, json_invalid, or a type of checkContentType.
func decodeBody(data []byte, contentTypes []string) (value any, violation string) {
	if len(data) == 0 {
		return nil, "missing"
	}
	if violation := checkContentType(contentTypes); violation != "" {
		return nil, violation
	}
	value, err := decodeJSON(data)
	if err != nil {
		return nil, "json_invalid"
	}
	return value, ""
}

// checkContentType returns the violation type of a body's Content-Type headers,
// or "": model_attributes_type for a type other than JSON, json_invalid for a
// charset other than UTF-8 or an ambiguous header.
func checkContentType(values []string) string {
	if len(values) > 1 {
		return "json_invalid"
	}
	bare, _, _ := strings.Cut(strings.Join(values, ""), ";")
	if !strings.EqualFold(strings.TrimSpace(bare), jsonType) {
		return "model_attributes_type"
	}
	_, parameters, err := mime.ParseMediaType(values[0])
	charset, given := parameters["charset"]
	if err != nil || given && !strings.EqualFold(charset, "utf-8") {
		return "json_invalid"
	}
	return ""
}

// decodeJSON decodes exactly one JSON value and, unlike encoding/json, refuses
// duplicate member names, trailing data, invalid UTF-8 and lone surrogates.
// Numbers become json.Number, see canonical.
func decodeJSON(data []byte) (any, error) {
	if !utf8.Valid(data) || !json.Valid(data) || hasLoneSurrogate(data) {
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

// canonical rewrites 18.0 and 1.8e1 as 18, which is how a binder recognizes an
// integer. A fraction too small for a float64 becomes the next greater float64,
// so that the number stays fractional. From 2^53 on, float64 cannot distinguish
// all integers: such numbers are left as written. A number beyond float64
// becomes the nearest one, so that it is out of range and not of a wrong type.
func canonical(n json.Number) json.Number {
	f, err := strconv.ParseFloat(string(n), 64)
	switch {
	case err != nil: // f is an infinity
		return json.Number(strconv.FormatFloat(math.Copysign(math.MaxFloat64, f), 'g', -1, 64))
	case f != math.Trunc(f) || math.Abs(f) >= 1<<53:
		return n
	case !isIntegral(string(n)):
		return json.Number(strconv.FormatFloat(math.Nextafter(f, math.Inf(1)), 'g', -1, 64))
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}

// isIntegral reports whether a JSON number has no fraction, exactly.
func isIntegral(n string) bool {
	mantissa, exponent := n, 0
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		mantissa = n[:i]
		exponent, _ = strconv.Atoi(n[i+1:]) // an exponent out of range becomes the nearest int
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.Trim(whole+fraction, "-0")
	zeros := len(whole+fraction) - len(strings.TrimRight(whole+fraction, "0"))
	return digits == "" || zeros+exponent >= len(fraction)
}
