package wallet

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// Answers that prove the age, in JSON that two readers could read differently, are
// refused.
func TestAmbiguousAnswers(t *testing.T) {
	e, issuer := newExchange(t, 1), newIssuer(t, 2)
	token := answered(t, e, issuer, SchemeProofOfAge, func(url.Values) {}).Get("vp_token")
	var members struct {
		Age []string `json:"age"`
	}
	if err := json.Unmarshal([]byte(token), &members); err != nil {
		t.Fatal(err)
	}
	honest := `"age":["` + members.Age[0] + `"]`
	for _, tt := range []struct {
		token string
		want  Reason
	}{
		{"{" + honest + "}", ""},
		{" {\n" + honest + "}\t", ""},
		{"{" + honest + "," + honest + "}", ReasonMalformed},
		{`{"age":["AAAA"],` + honest + "}", ReasonMalformed},
		{`{"\u0061ge":["AAAA"],` + honest + "}", ReasonMalformed},
		{`{"other":["AAAA"],` + honest + "}", ReasonMalformed},
		{"{" + honest + "}{}", ReasonMalformed},
		{"{" + honest + ",}", ReasonMalformed},
		{"{" + honest + "]", ReasonMalformed},
		{"{" + honest, ReasonMalformed},
		{strings.Replace("{"+honest+"}", "age", "Age", 1), ReasonMalformed},
		{`{"age":[["` + members.Age[0] + `"]]}`, ReasonMalformed},
		{`{"age":[null]}`, ReasonMalformed},
		{`{"age":{}}`, ReasonMalformed},
		{"null", ReasonMalformed},
		{"", ReasonMalformed},
		{strings.Repeat(`{"age":`, 40) + "1" + strings.Repeat("}", 40), ReasonMalformed},
	} {
		p, err := e.OpenPost(SchemeProofOfAge, responseURI, url.Values{"vp_token": {tt.token}})
		if err == nil {
			err = Verifier{Issuers: issuer.Trusted()}.Verify(bg, p, 18, now)
		}
		if ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%.60s: %v, want %q", tt.token, err, tt.want)
		}
	}
	for _, data := range []string{
		`{"error":"access_denied","error":"access_denied"}`, `{"response":"","error":1}`, `{"response":[]}`, `[]`, `{`, ``,
	} {
		for _, protocol := range []string{ProtocolOpenID, ProtocolSigned, ProtocolMdoc} {
			if _, err := e.OpenBrowser(origin, protocol, json.RawMessage(data)); ReasonOf(err) != ReasonMalformed {
				t.Errorf("%s to %s: %v", data, protocol, err)
			}
		}
	}
}

// Text that two readers could read differently is refused in every member.
func TestReadJSON(t *testing.T) {
	for raw, good := range map[string]bool{
		`{"a":["\ud83d\ude00",1.5,null]}`: true,
		`{"a":"\ud800"}`:                  false, // encoding/json reads U+FFFD
		"{\"a\":\"\xff\"}":                false,
		`{"\udfff":1}`:                    false,
		`{"a":1,"a":1}`:                   false,
		`{"a":1} {}`:                      false,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth):     true,
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1): false,
	} {
		if _, err := readJSON([]byte(raw)); (err == nil) != good || err != nil && ReasonOf(err) != ReasonMalformed {
			t.Errorf("%q: %v", raw, err)
		}
	}
}
