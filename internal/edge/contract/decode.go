package contract

import (
	"encoding/json"
	"math"
	"mime"
	"slices"
	"strconv"
	"strings"

	"agegate/internal/rules/strictjson"
)

// maxDepth is how deeply arrays and objects of a body may be nested. The
// contract's requests need 1.
const maxDepth = 32

// jsonType is the media type of every request body.
const jsonType = "application/json"

// decodeBody returns the value of a body, or the type of its violation: missing if
// there is no body, json_invalid, or a result of checkContentType.
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

// checkContentType returns the type and cause of violation of a body's Content-Type headers, or
// "". The type is model_attributes_type for a type other than JSON, and json_invalid for a
// charset other than UTF-8 or an ambiguous header.
func checkContentType(values []string) string {
	if len(values) > 1 {
		return "json_invalid"
	}
	bare, _, _ := strings.Cut(strings.Join(values, ""), ";")
	if !strings.EqualFold(strings.TrimSpace(bare), jsonType) {
		return "model_attributes_type.content_type"
	}
	_, parameters, err := mime.ParseMediaType(values[0])
	charset, given := parameters["charset"]
	names := []string{"utf-8", "utf8"} // common clients send the alias (WHATWG Encoding Standard, 4.2)
	if err != nil || given && !slices.Contains(names, strings.ToLower(charset)) {
		return "json_invalid"
	}
	return ""
}

// decodeJSON decodes exactly one JSON value as strictjson does, with numbers in
// their canonical form.
func decodeJSON(data []byte) (any, error) {
	value, err := strictjson.Read(data, maxDepth)
	return canonicalNumbers(value), err
}

// canonicalNumbers rewrites the numbers of a value, in place.
func canonicalNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		return canonical(value)
	case map[string]any:
		for name, member := range value {
			value[name] = canonicalNumbers(member)
		}
	case []any:
		for i, element := range value {
			value[i] = canonicalNumbers(element)
		}
	}
	return value
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

// isIntegral reports exactly whether a JSON number has no fraction.
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
