package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"agegate/internal/rules/strictjson"
)

func TestDecodeJSON(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, good := range []struct{ in, number string }{
		{"18", "18"}, {"18.0", "18"}, {"1.8e1", "18"}, {"180e-1", "18"}, {"-0.0", "0"}, {"18.5", "18.5"},
		{"0e-99999999999999999999", "0"}, {"1800000000000000000000e-20", "18"}, {"0.00018e+5", "18"},
		// Fractions that are too close to an integer for a float64.
		{"18.0000000000000000001", "18.000000000000004"}, {"17.99999999999999999999", "18.000000000000004"},
		{"180000000000000000001e-19", "18.000000000000004"}, {"1e-99999999999999999999", "5e-324"},
		{"9007199254740993", "9007199254740993"}, {"9e99", "9e99"},
		{"9e999", "1.7976931348623157e+308"}, {"-1" + strings.Repeat("0", 309), "-1.7976931348623157e+308"},
	} {
		got, err := decodeJSON([]byte(good.in))
		if err != nil || got != json.Number(good.number) {
			t.Errorf("%s: got %v, %v", good.in, got, err)
		}
	}
	notJSON, duplicate := strictjson.ErrNotJSON, strictjson.ErrDuplicate
	for in, want := range map[string]error{
		"": notJSON, " ": notJSON, "{": notJSON, `{"a"}`: notJSON, `{1:2}`: notJSON, "[1 2]": notJSON,
		"1 2": notJSON, "01": notJSON, "+1": notJSON, "'a'": notJSON, "\"\xff\"": notJSON,
		"\"\n\"":   notJSON,
		`"\ud83d"`: notJSON, `"\ude00"`: notJSON, `"\ude00\ud83d"`: notJSON, `"\ud83d\u0041"`: notJSON,
		`"\ud83dx"`:       notJSON,
		`"\ud83d\\ude00"`: notJSON, `{"\uDFFF":1}`: notJSON, `["\ud83d\n"]`: notJSON,
		`"\ud83d\ude00"`: nil, `"\\ud83d"`: nil, `"\\\\ud83d\u0041"`: nil, `"\\\ud83d"`: notJSON,
		`{"a":1,"a":1}`:              duplicate,
		`{"a":{"b":1,"\u0062":2}}`:   duplicate,
		`[{"a":1},{"a":1,"b":{}}]`:   nil,
		`{"a":1,"A":1}`:              nil,
		nested(maxDepth):             nil,
		nested(maxDepth + 1):         strictjson.ErrTooDeep,
		strings.Repeat("[", 100_000): notJSON,
	} {
		if _, err := decodeJSON([]byte(in)); err != want {
			t.Errorf("%.40q: got %v, want %v", in, err, want)
		}
	}
}

// FuzzDecodeJSON compares the decoder with encoding/json: what this decoder
// accepts, encoding/json accepts with the same meaning; what it refuses is not
// JSON, repeats a name, or is nested too deeply.
func FuzzDecodeJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeJSON(data)
		if err == nil {
			sameMeaning(t, data, got)
			return
		}
		if err == strictjson.ErrNotJSON && json.Valid(data) && bytes.Equal(data, bytes.ToValidUTF8(data, nil)) && !hasReplacement(data) {
			t.Errorf("%q is JSON, but was refused as none", data)
		}
	})
}

// hasReplacement reports whether encoding/json reads U+FFFD anywhere, which it
// substitutes for a lone surrogate.
func hasReplacement(data []byte) bool {
	var value any
	_ = json.Unmarshal(data, &value)
	return strings.ContainsRune(fmt.Sprint(value), '\ufffd')
}

// sameMeaning encodes got and compares it by value with what encoding/json reads
// in data.
func sameMeaning(t *testing.T, data []byte, got any) {
	t.Helper()
	var want, again any
	if err := json.Unmarshal(data, &want); err != nil {
		if strings.Contains(err.Error(), "cannot unmarshal number") {
			return // beyond float64, where this decoder takes the nearest value
		}
		t.Fatalf("%q was taken, but is not JSON", data)
	}
	encoded, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &again); err != nil || !equal(want, again) {
		t.Errorf("%q became %s", data, encoded)
	}
}

// equal compares two decoded values. A number may be the float64 next to the
// other one, as decoding chooses for fractions too small for a float64.
func equal(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.Nextafter(a, math.Inf(1)) == b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	return a == b
}
