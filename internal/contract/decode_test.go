package contract

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestDecodeJSON(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, good := range []struct{ in, number string }{
		{"18", "18"}, {"18.0", "18"}, {"1.8e1", "18"}, {"180e-1", "18"}, {"-0.0", "0"}, {"18.5", "18.5"},
		{"9007199254740993", "9007199254740993"}, {"9e99", "9e99"},
		{"9e999", "1.7976931348623157e+308"}, {"-1" + strings.Repeat("0", 309), "-1.7976931348623157e+308"},
	} {
		got, err := decodeJSON([]byte(good.in))
		if err != nil || got != json.Number(good.number) {
			t.Errorf("%s: got %v, %v", good.in, got, err)
		}
	}
	for in, want := range map[string]error{
		"": errNotJSON, " ": errNotJSON, "{": errNotJSON, `{"a"}`: errNotJSON, `{1:2}`: errNotJSON, "[1 2]": errNotJSON,
		"1 2": errNotJSON, "01": errNotJSON, "+1": errNotJSON, "'a'": errNotJSON, "\"\xff\"": errNotJSON, "\"\n\"": errNotJSON,
		`{"a":1,"a":1}`:              errDuplicate,
		`{"a":{"b":1,"\u0062":2}}`:   errDuplicate,
		`[{"a":1},{"a":1,"b":{}}]`:   nil,
		`{"a":1,"A":1}`:              nil,
		nested(maxDepth):             nil,
		nested(maxDepth + 1):         errTooDeep,
		strings.Repeat("[", 100_000): errNotJSON,
	} {
		if _, err := decodeJSON([]byte(in)); err != want {
			t.Errorf("%.40q: got %v, want %v", in, err, want)
		}
	}
}

// FuzzDecodeJSON holds the decoder against encoding/json: whatever ours takes,
// theirs takes with the same meaning; whatever ours refuses is not JSON,
// repeats a name, or is too deep.
func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{
		`{"target_age":18}`, `{"target_age":18.0,"success_url":"https://a.example"}`, `{"a":1,"a":2}`, `[[[1e1]]]`,
		"\"\\ud800\"", "\"\xff\"", `{"a":[{"b":null},true]} `, "9e999", "-0.0", "{}{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeJSON(data)
		if err == nil {
			sameMeaning(t, data, got)
			return
		}
		if err == errNotJSON && json.Valid(data) && bytes.Equal(data, bytes.ToValidUTF8(data, nil)) {
			t.Errorf("%q is JSON, but was refused as none", data)
		}
	})
}

// sameMeaning compares got, written out again, with what encoding/json reads
// in data, by value.
func sameMeaning(t *testing.T, data []byte, got any) {
	t.Helper()
	var want, again any
	if err := json.Unmarshal(data, &want); err != nil {
		if strings.Contains(err.Error(), "cannot unmarshal number") {
			return // beyond float64, where ours takes the nearest
		}
		t.Fatalf("%q was taken, but is not JSON", data)
	}
	encoded, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &again); err != nil || !reflect.DeepEqual(want, again) {
		t.Errorf("%q became %s", data, encoded)
	}
}
