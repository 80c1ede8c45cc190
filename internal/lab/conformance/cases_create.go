package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

var createCases = []testCase{
	{
		Name: "create.created", Title: "A creation with the age alone is 201 with exactly session_id, verification_url and " +
			"expires_at",
		Cites: []string{"SPEC 2.3", "SPEC 3", "SPEC 4.1", "openapi.yaml createSession 201"}, sessions: 1,
		run: func(t *trial) {
			first, second := t.pending(), t.create(t.test, `{"target_age":18}`, nil)
			t.check(first.ID != second.ID && first.VerificationURL != second.VerificationURL,
				"two creations have the same session_id or verification_url")
			t.check(first.ID == strings.ToLower(first.ID), "the session_id has capitals, which those of webhooks and redirects "+
				"have not")
			t.check(!strings.ContainsAny(second.VerificationURL, "?#"),
				"the verification_url has a query or fragment, to which no force can be appended")
			t.check(!strings.Contains(second.VerificationURL, second.ID),
				"the verification_url can be derived from the session_id")
			t.check(second.ExpiresAt.After(second.date), "expires_at is not after the creation")
			t.check(second.ExpiresAt.Sub(second.date) < 24*time.Hour+clockTolerance,
				"expires_at is more than 24 hours after the creation")
		},
	},
	{
		Name: "create.request_id", Title: "Every answer has its own X-Request-ID",
		Cites: []string{"openapi.yaml Errors", "openapi.yaml RequestID"},
		run: func(t *trial) {
			seen := map[string]bool{}
			for _, c := range operations {
				c.header = http.Header{"X-Request-ID": {canary}} // no answer may repeat it
				for range 2 {
					id := t.call(c).header.Get("X-Request-ID")
					t.check(id != "" && !seen[id], "an X-Request-ID is missing or repeated")
					seen[id] = true
				}
			}
		},
	},
	{
		Name: "create.age_accepted", Title: "target_age may be 13, 99, and written as 18.0", sessions: 3,
		Cites: []string{"SPEC 2.2", "SPEC 8", "openapi.yaml CreateSessionRequest"},
		run: func(t *trial) {
			for _, age := range []string{"13", "99", "18.0"} {
				t.create(t.test, `{"target_age":`+age+`}`, nil)
			}
		},
	},
	{
		Name: "create.age_refused", Title: "Any other target_age is 422 at body, target_age",
		Cites: []string{"SPEC 2.2", "SPEC 7", "SPEC 8", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			t.expect(call{operation: createSession, keys: t.test, body: `{"target_age":12}`}, http.StatusUnprocessableEntity,
				"outOfRange")
			for _, tt := range []struct{ value, kind string }{
				{"12", "greater_than_equal"}, {"0", "greater_than_equal"}, {"-18", "greater_than_equal"},
				{"100", "less_than_equal"},
				{"9223372036854775808", "less_than_equal"}, {"1e300", "less_than_equal"}, {"18.5", "int_from_float"},
				{"18.0000000000000000001", "int_from_float"}, {"1.85e1", "int_from_float"},
				{`"18"`, "int_type"}, {`"` + canary + `"`, "int_type"}, {"true", "int_type"}, {"null", "int_type"},
				{"[18]", "int_type"}, {`{"age":18}`, "int_type"},
			} {
				t.invalid("target_age "+tt.value, call{operation: createSession, keys: t.test, body: `{"target_age":` + tt.value +
					`}`}, at(tt.kind, "body", "target_age"))
			}
		},
	},
	{
		Name: "create.removed_field", Title: "The removed field webhook_url is 422",
		Cites: []string{"SPEC 4.1 rule 2", "SPEC 7", "SPEC 9", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			t.expect(call{operation: createSession, keys: t.test, body: `{"webhook_url":"https://` + canary + `.example/"}`},
				http.StatusUnprocessableEntity, "removedField")
			t.invalid("webhook_url", call{operation: createSession, keys: t.test,
				body: `{"target_age":18,"webhook_url":"https://` + canary + `.example/"}`},
				at("extra_forbidden", "body", "webhook_url"))
			t.invalid("webhook_url null", call{operation: createSession, keys: t.test,
				body: `{"target_age":18,"webhook_url":null}`}, at("extra_forbidden", "body", "webhook_url"))
		},
	},
	{
		Name: "create.unknown_field", Title: "A mistyped field is 422, and so is a field that only answers have",
		Cites: []string{"openapi.yaml CreateSessionRequest", "SPEC 4.1 rule 2"},
		run: func(t *trial) {
			for _, name := range []string{"succes_url", "Target_Age", "livemode", "session_id", "force"} {
				t.invalid(name, call{operation: createSession, keys: t.test,
					body: fmt.Sprintf(`{"target_age":18,%q:%q}`, name, canary)}, at("extra_forbidden", "body", name))
			}
		},
	},
	{
		Name: "create.all_violations", Title: "Every violation is listed, and none repeats its value",
		Cites: []string{"SPEC 7", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			t.invalid("a body with four violations", call{
				operation: createSession, keys: t.test, header: http.Header{"Idempotency-Key": {"a " + canary}},
				body: `{"target_age":"` + canary + `","success_url":7,"cancel_url":"` + canary + `","note":"` + canary + `"}`,
			}, at("string_pattern_mismatch", "header", "Idempotency-Key"), at("int_type", "body", "target_age"),
				at("string_type", "body", "success_url"),
				at("url_parsing", "body", "cancel_url"), at("extra_forbidden", "body", "note"))
		},
	},
	{
		Name: "create.not_json", Title: "A body that is not one JSON object in UTF-8 is 422",
		Cites: []string{"SPEC 4.1", "SPEC 7", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			for _, body := range []string{"{", `{"target_age":18}{}`, `{"target_age":18`, canary,
				`{"target_age":18,"target_age":18}`, "{\"target_age\":18,\"x\":\"\xff\"}",
				"\ufeff" + `{"target_age":18}`} {
				t.expect(call{operation: createSession, keys: t.test, body: body}, http.StatusUnprocessableEntity, "notJSON")
			}
			t.invalid("no body", call{operation: createSession, keys: t.test}, at("missing", "body"))
			for _, body := range []string{"[]", "18", `"` + canary + `"`, "null"} {
				t.invalid("the body "+body, call{operation: createSession, keys: t.test, body: body},
					at("model_attributes_type", "body"))
			}
			t.invalid("text/plain", call{operation: createSession, keys: t.test, body: `{"target_age":18}`,
				header: http.Header{"Content-Type": {"text/plain"}}},
				at("model_attributes_type", "body"))
			t.invalid("another character set", call{operation: createSession, keys: t.test, body: `{"target_age":18}`,
				header: http.Header{"Content-Type": {"application/json; charset=utf-16"}}},
				at("json_invalid", "body"))
		},
	},
	{
		Name: "create.too_large", Title: "A body over 64 KiB is 413, before anything else is looked at",
		Cites: []string{"openapi.yaml createSession 413", "openapi.yaml Limits"},
		run: func(t *trial) {
			body := `{"target_age":18,"note":"` + strings.Repeat("a", 64<<10) + `"}`
			t.expect(call{operation: createSession, keys: t.test, body: body}, http.StatusRequestEntityTooLarge, "tooLarge")
			t.expect(call{operation: createSession, body: body}, http.StatusRequestEntityTooLarge, "tooLarge")
			const young = `{"target_age":12}`
			longest := young + strings.Repeat(" ", 64<<10-len(young))
			t.expect(call{operation: createSession, keys: t.test, body: longest}, http.StatusUnprocessableEntity, "outOfRange")
			t.expect(call{operation: createSession, keys: t.test, body: longest + " "},
				http.StatusRequestEntityTooLarge, "tooLarge")
		},
	},
	{
		Name: "create.test_cap", Title: "Over the daily cap of test sessions a creation is 429, with Retry-After",
		needs: []need{needCapped},
		Cites: []string{"SPEC 7", "SPEC 8", "openapi.yaml createSession 429"},
		run: func(t *trial) {
			capped := call{operation: createSession, keys: []string{t.CappedKey}, body: `{"target_age":18}`}
			got := t.expect(capped, http.StatusTooManyRequests, "testCap")
			t.untilTomorrow(got)
			capped.body = `{"target_age":12}`
			t.expect(capped, http.StatusUnprocessableEntity, "outOfRange")
		},
	},
	{
		Name: "create.no_credit", Title: "A live session without allowance and credit is 402 insufficient_credit",
		needs: []need{needUnpaid},
		Cites: []string{"SPEC 7", "SPEC 8", "openapi.yaml createSession 402"},
		run: func(t *trial) {
			t.refuse([]string{t.UnpaidKey}, nil) // the request is checked first
			got := t.call(call{operation: createSession, keys: []string{t.UnpaidKey}, body: `{"target_age":18}`})
			t.check(got.status == http.StatusPaymentRequired, "the creation is answered with %s, want 402", got)
			var out struct {
				Detail struct{ Code, Message string }
			}
			_ = json.Unmarshal(got.body, &out) // the schema check reports a decoding error
			t.check(out.Detail.Code == "insufficient_credit" && strings.Contains(strings.ToLower(out.Detail.Message), "top up"),
				"the refusal says %q, which does not ask to top up", out.Detail.Message)
		},
	},
	{
		Name: "create.last_test", Title: "The last test session of the day is created, its repetition does not count, and " +
			"one more is 429", needs: []need{needLastTest}, sessions: 1,
		Cites: []string{"SPEC 7", "SPEC 8", "openapi.yaml Idempotency", "openapi.yaml createSession 429"},
		run: func(t *trial) {
			t.lastOf(t.LastTestKey, http.StatusTooManyRequests)
		},
	},
	{
		Name: "create.last_unit", Title: "The last unit makes a live session, its repetition is not charged, and one more " +
			"is 402", needs: []need{needLastLive}, live: 1,
		Cites: []string{"SPEC 7", "SPEC 8", "openapi.yaml Idempotency", "openapi.yaml createSession 402"},
		run: func(t *trial) {
			t.shared["last_unit"] = t.lastOf(t.LastLiveKey, http.StatusPaymentRequired)
		},
	},
}

// lastOf creates the last session that a key may create, checks that another one
// is refused, and returns the session.
func (t *trial) lastOf(key string, refused int) *session {
	last := call{operation: createSession, keys: []string{key}, body: `{"target_age":18}`, header: newKey()}
	t.refuse(last.keys, last.header) // what is refused costs nothing
	first := t.call(last)
	t.check(first.status == http.StatusCreated, "the last creation is answered with %s, want 201", first)
	again := t.call(last)
	t.check(again.status == http.StatusCreated && bytes.Equal(first.body, again.body),
		"its repetition is answered with %s, want the same 201", again)
	last.header = newKey()
	more := t.call(last)
	t.check(more.status == refused, "one more creation is answered with %s, want %d", more, refused)
	made, ok := first.created()
	if !ok {
		t.fatalf("the last creation makes no session")
	}
	return made
}

// refuse sends creations that are refused with 422, some by the schema and some by what
// the tenant has registered.
func (t *trial) refuse(keys []string, header http.Header) {
	for _, tt := range []struct{ body, kind, field string }{
		{`{"target_age":12}`, "greater_than_equal", "target_age"},
		{`{"target_age":18,"success_url":"https://` + canary + `.example/"}`, "value_error", "success_url"},
		{`{"target_age":18,"cancel_url":"https://` + canary + `.example/"}`, "value_error", "cancel_url"},
	} {
		refused := call{operation: createSession, keys: keys, body: tt.body, header: header}
		t.invalid("a creation with a bad "+tt.field, refused, at(tt.kind, "body", tt.field))
	}
}

// untilTomorrow checks that Retry-After ends on the next UTC day.
func (t *trial) untilTomorrow(got answer) {
	at, err := http.ParseTime(got.header.Get("Date"))
	seconds, err2 := strconv.Atoi(got.header.Get("Retry-After"))
	if err != nil || err2 != nil {
		t.failf("the refusal has no Date or no Retry-After in seconds")
		return
	}
	next := at.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	t.check(apart(at.Add(time.Duration(seconds)*time.Second), next) < clockTolerance,
		"Retry-After does not lead to the next UTC day, but %s past it", at.Add(time.Duration(seconds)*time.Second).Sub(next))
}

// differ checks that two creations create two sessions.
func (t *trial) differ(a, b call) {
	first, second := t.call(a), t.call(b)
	t.check(first.status == http.StatusCreated && second.status == http.StatusCreated &&
		!bytes.Equal(first.body, second.body),
		"two creations are answered with %d and %d, or with one session", first.status, second.status)
	t.check(second.header.Get("Idempotent-Replayed") == "", "the second creation is marked as a repetition")
}

var idempotencyCases = []testCase{
	{
		Name: "idempotency.replay", Title: "A repetition under the same Idempotency-Key gets the first answer again, marked",
		sessions: 2,
		Cites:    []string{"openapi.yaml Idempotency", "openapi.yaml createSession 201"},
		run: func(t *trial) {
			key := newKey()
			first := t.call(call{operation: createSession, keys: t.test, body: `{"target_age":18}`, header: key})
			again := t.call(call{operation: createSession, keys: t.test, body: `{ "target_age": 18 }`, header: key})
			t.check(first.header.Get("Idempotent-Replayed") == "", "the first answer is marked as a repetition")
			t.check(again.header.Get("Idempotent-Replayed") == "true",
				"the repetition is not marked with Idempotent-Replayed: true")
			t.check(first.status == http.StatusCreated && again.status == first.status && bytes.Equal(first.body, again.body),
				"the repetition gets another answer: %d, then %d", first.status, again.status)
			t.expect(call{operation: createSession, keys: t.test, body: `{"target_age":21}`, header: key}, http.StatusConflict,
				"idempotencyKeyReused")
			for _, field := range []string{"success_url", "cancel_url"} {
				other := fmt.Sprintf(`{"target_age":18,%q:%q}`, field, t.callback("/agegate-conformance/other"))
				t.expect(call{operation: createSession, keys: t.test, body: other, header: key}, http.StatusConflict,
					"idempotencyKeyReused")
			}
			third := t.call(call{operation: createSession, keys: t.test, body: `{"target_age":18}`, header: key})
			t.check(bytes.Equal(first.body, third.body), "after the refusals the repetition gets another answer, of status %d",
				third.status)
			cased := http.Header{"Idempotency-Key": {strings.ToLower(key.Get("Idempotency-Key"))}}
			made := t.call(call{operation: createSession, keys: t.test, body: `{"target_age":18}`, header: cased})
			t.check(made.status == http.StatusCreated && !bytes.Equal(first.body, made.body),
				"a key in other letters gets the session of the first")
		},
	},
	{
		Name: "idempotency.long", Title: "Keys of 255 characters that differ in the last one make two sessions", sessions: 2,
		Cites: []string{"openapi.yaml IdempotencyKey"},
		run: func(t *trial) {
			key := newKey().Get("Idempotency-Key")
			key += "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" // all visible characters beside letters and digits
			key += strings.Repeat("k", 254-len(key))
			t.differ(call{operation: createSession, keys: t.test, body: `{"target_age":18}`,
				header: http.Header{"Idempotency-Key": {key + "a"}}},
				call{operation: createSession, keys: t.test, body: `{"target_age":18}`,
					header: http.Header{"Idempotency-Key": {key + "b"}}})
		},
	},
	{
		Name: "idempotency.tenants", Title: "The same key of two tenants makes two sessions", needs: []need{needOther},
		sessions: 2,
		Cites:    []string{"openapi.yaml Idempotency", "SPEC 5 rule 3"},
		run: func(t *trial) {
			key := newKey()
			t.differ(call{operation: createSession, keys: t.test, body: `{"target_age":18}`, header: key},
				call{operation: createSession, keys: []string{t.OtherKey}, body: `{"target_age":18}`, header: key})
		},
	},
	{
		Name: "idempotency.after_end", Title: "A repetition gets the first answer also when the session has ended",
		Cites: []string{"openapi.yaml Idempotency"},
		run: func(t *trial) {
			ended := t.forced("verified")
			again := t.call(call{operation: createSession, keys: t.test, body: ended.request,
				header: http.Header{"Idempotency-Key": {ended.key}}})
			t.check(bytes.Equal(again.body, ended.body), "the repetition for an ended session gets another answer, of status %d",
				again.status)
		},
	},
	{
		Name: "idempotency.at_once", Title: "Repetitions that arrive together make one session", sessions: 1,
		Cites: []string{"openapi.yaml Idempotency"},
		run: func(t *trial) {
			key, got := newKey(), make([]answer, 5)
			var wg sync.WaitGroup
			for i := range got {
				wg.Go(func() {
					got[i], _ = t.send(call{operation: createSession, keys: t.test, body: `{"target_age":18}`, header: key})
				})
			}
			wg.Wait()
			for _, a := range got {
				t.check(a.status == http.StatusCreated && bytes.Equal(a.body, got[0].body),
					"repetitions that arrive together are answered differently: %d and %d", got[0].status, a.status)
			}
		},
	},
	{
		Name: "idempotency.key_refused", Title: "A key that is too long, has a space, or is given twice is 422 at the header",
		Cites: []string{"openapi.yaml IdempotencyKey", "SPEC 7"},
		run: func(t *trial) {
			for _, tt := range []struct {
				values []string
				kind   string
			}{
				{[]string{strings.Repeat("k", 256)}, "string_too_long"}, {[]string{"a b"}, "string_pattern_mismatch"},
				{[]string{"größe"}, "string_pattern_mismatch"}, {[]string{"a", "b"}, "value_error"},
				{[]string{""}, ""},
			} {
				t.invalid(fmt.Sprintf("Idempotency-Key %.20q", tt.values),
					call{operation: createSession, keys: t.test, body: `{"target_age":18}`,
						header: http.Header{"Idempotency-Key": tt.values}},
					at(tt.kind, "header", "Idempotency-Key"))
			}
		},
	},
	{
		Name: "idempotency.refusal_keeps_key", Title: "A refused creation does not use up its key", sessions: 1,
		Cites: []string{"README.md Integrate in five minutes"},
		run: func(t *trial) {
			key := newKey()
			t.refuse(t.test, key)
			made := t.call(call{operation: createSession, keys: t.test, body: `{"target_age":18}`, header: key})
			t.check(made.status == http.StatusCreated && made.header.Get("Idempotent-Replayed") == "",
				"after refusals the key gets %s, want a first 201", made)
		},
	},
}
