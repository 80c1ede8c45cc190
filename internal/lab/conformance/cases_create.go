package conformance

import (
	"bytes"
	"encoding/json"
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
			first, second := t.pending(), t.fresh()
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
				for range 2 {
					id := t.call(c.with("X-Request-ID", canary)).header.Get("X-Request-ID")
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
				t.create(creation(`{"target_age":` + age + `}`))
			}
		},
	},
	{
		Name: "create.age_refused", Title: "Any other target_age is 422 at body, target_age",
		Cites: []string{"SPEC 2.2", "SPEC 7", "SPEC 8", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			t.expect(creation(child), "422 outOfRange")
			for kind, ages := range map[string][]string{
				"greater_than_equal": {"12", "0", "-18"},
				"less_than_equal":    {"100", "9223372036854775808", "1e300"},
				"int_from_float":     {"18.5", "18.0000000000000000001", "1.85e1"},
				"int_type":           {`"18"`, `"` + canary + `"`, "true", "null", "[18]", `{"age":18}`},
			} {
				for _, age := range ages {
					t.invalid(creation(`{"target_age":`+age+`}`), at(kind, "body", "target_age"))
				}
			}
		},
	},
	{
		Name: "create.removed_field", Title: "The removed field webhook_url is 422",
		Cites: []string{"SPEC 4.1 rule 2", "SPEC 7", "SPEC 9", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			const address = `"https://` + canary + `.example/"`
			t.expect(creation(`{"webhook_url":`+address+`}`), "422 removedField")
			for _, value := range []string{address, "null"} {
				t.invalid(creationWith("webhook_url", value), at("extra_forbidden", "body", "webhook_url"))
			}
		},
	},
	{
		Name: "create.unknown_field", Title: "A mistyped field is 422, and so is a field that only answers have",
		Cites: []string{"openapi.yaml CreateSessionRequest", "SPEC 4.1 rule 2"},
		run: func(t *trial) {
			for _, name := range []string{"succes_url", "Target_Age", "livemode", "session_id", "force"} {
				t.invalid(creationTo(name, canary), at("extra_forbidden", "body", name))
			}
		},
	},
	{
		Name: "create.all_violations", Title: "Every violation is listed, and none repeats its value",
		Cites: []string{"SPEC 7", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			const body = `{"target_age":"` + canary + `","success_url":7,"cancel_url":"` + canary + `","note":"` + canary + `"}`
			t.invalid(creation(body).under("a "+canary), at("string_pattern_mismatch", "header", "Idempotency-Key"),
				at("int_type", "body", "target_age"), at("string_type", "body", "success_url"),
				at("url_parsing", "body", "cancel_url"), at("extra_forbidden", "body", "note"))
		},
	},
	{
		Name: "create.not_json", Title: "A body that is not one JSON object in UTF-8 is 422",
		Cites: []string{"SPEC 4.1", "SPEC 7", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			for _, body := range []string{"{", adult + "{}", `{"target_age":18`, canary,
				`{"target_age":18,"target_age":18}`, "{\"target_age\":18,\"x\":\"\xff\"}", "\ufeff" + adult} {
				t.expect(creation(body), "422 notJSON")
			}
			t.invalid(creation(""), at("missing", "body"))
			for _, body := range []string{"[]", "18", `"` + canary + `"`, "null"} {
				t.invalid(creation(body), at("model_attributes_type", "body"))
			}
			for kind, violation := range map[string]string{
				"text/plain": "model_attributes_type", "application/json; charset=utf-16": "json_invalid",
			} {
				t.invalid(creation(adult).with("Content-Type", kind), at(violation, "body"))
			}
		},
	},
	{
		Name: "create.too_large", Title: "A body over 64 KiB is 413, before anything else is looked at",
		Cites: []string{"openapi.yaml createSession 413", "openapi.yaml Limits"},
		run: func(t *trial) {
			large := creationTo("note", strings.Repeat("a", 64<<10))
			t.expect(large, "413 tooLarge")
			large.keys = keyless
			t.expect(large, "413 tooLarge")
			longest := child + strings.Repeat(" ", 64<<10-len(child))
			t.expect(creation(longest), "422 outOfRange")
			t.expect(creation(longest+" "), "413 tooLarge")
		},
	},
	{
		Name: "create.test_cap", Title: "Over the daily cap of test sessions a creation is 429, with Retry-After",
		needs: []*need{needCapped},
		Cites: []string{"SPEC 7", "SPEC 8", "openapi.yaml createSession 429"},
		run: func(t *trial) {
			t.untilTomorrow(t.expect(creation(adult).by(t.CappedKey), "429 testCap"))
			t.expect(creation(child).by(t.CappedKey), "422 outOfRange")
		},
	},
	{
		Name: "create.no_credit", Title: "A live session without allowance and credit is 402 insufficient_credit",
		needs: []*need{needUnpaid},
		Cites: []string{"SPEC 7", "SPEC 8", "openapi.yaml createSession 402"},
		run: func(t *trial) {
			c := creation(adult).by(t.UnpaidKey)
			t.refuse(c) // the request is checked first
			got := t.must(c, http.StatusPaymentRequired, "")
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
			"one more is 429", needs: []*need{needLastTest}, sessions: 1,
		Cites: []string{"SPEC 7", "SPEC 8", "openapi.yaml Idempotency", "openapi.yaml createSession 429"},
		run:   func(t *trial) { t.lastOf(t.LastTestKey, http.StatusTooManyRequests) },
	},
	{
		Name: "create.last_unit", Title: "The last unit makes a live session, its repetition is not charged, and one more " +
			"is 402", needs: []*need{needLastLive}, live: 1,
		Cites: []string{"SPEC 7", "SPEC 8", "openapi.yaml Idempotency", "openapi.yaml createSession 402"},
		run:   func(t *trial) { t.shared["last_unit"] = t.lastOf(t.LastLiveKey, http.StatusPaymentRequired) },
	},
	{
		Name: "create.lifetime", Title: "A session's life and its first status begin with its creation", sessions: 2,
		Cites: []string{"SPEC 2.4", "SPEC 4.1", "openapi.yaml CreateSessionOut"},
		run: func(t *trial) {
			early := t.fresh()
			t.pause(3 * time.Second)
			late := t.fresh()
			first, then := early.ExpiresAt.Sub(early.date), late.ExpiresAt.Sub(late.date)
			t.check((first-then).Abs() < 2*time.Second, "one session is open for %s, and one made 3 s later for %s", first, then)
			_, began := t.status(early.ID)
			_, next := t.status(late.ID)
			t.check(next.Sub(began) > time.Second, "status_at of a session made 3 s later is %s later", next.Sub(began))
		},
	},
	{
		Name: "idempotency.replay", Title: "A repetition under the same Idempotency-Key gets the first answer again, marked",
		sessions: 2,
		Cites:    []string{"openapi.yaml Idempotency", "openapi.yaml createSession 201"},
		run: func(t *trial) {
			key := newKey()
			same := creation(adult).under(key)
			first := t.must(same, http.StatusCreated, "")
			again := t.must(creation(`{ "target_age": 18 }`).under(key), http.StatusCreated, "repeated, ")
			t.check(first.header.Get("Idempotent-Replayed") == "", "the first answer is marked as a repetition")
			t.check(again.header.Get("Idempotent-Replayed") == "true",
				"the repetition is not marked with Idempotent-Replayed: true")
			t.check(bytes.Equal(first.body, again.body), "the repetition gets another answer: %s", again)
			other := t.callback("/agegate-conformance/other")
			for _, c := range []call{
				creation(`{"target_age":21}`), creationTo("success_url", other), creationTo("cancel_url", other),
			} {
				t.expect(c.under(key), "409 idempotencyKeyReused")
			}
			third := t.call(same)
			t.check(bytes.Equal(first.body, third.body), "after the refusals the repetition gets another answer, of status %d",
				third.status)
			made := t.must(same.under(strings.ToLower(key)), http.StatusCreated, "under a key in other letters ")
			t.check(!bytes.Equal(first.body, made.body), "a key in other letters gets the session of the first")
		},
	},
	{
		Name: "idempotency.long", Title: "Keys of 255 characters that differ in the last one make two sessions", sessions: 2,
		Cites: []string{"openapi.yaml IdempotencyKey"},
		run: func(t *trial) {
			key := newKey()
			key += "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" // all visible characters beside letters and digits
			key += strings.Repeat("k", 254-len(key))
			t.differ(creation(adult).under(key+"a"), creation(adult).under(key+"b"))
		},
	},
	{
		Name: "idempotency.tenants", Title: "The same key of two tenants makes two sessions", needs: []*need{needOther},
		sessions: 2,
		Cites:    []string{"openapi.yaml Idempotency", "SPEC 5 rule 3"},
		run: func(t *trial) {
			same := creation(adult).under(newKey())
			t.differ(same, same.by(t.OtherKey))
		},
	},
	{
		Name: "idempotency.after_end", Title: "A repetition gets the first answer also when the session has ended",
		Cites: []string{"openapi.yaml Idempotency"},
		run: func(t *trial) {
			ended := t.forced("verified")
			again := t.call(ended.made)
			t.check(bytes.Equal(again.body, ended.body), "the repetition for an ended session gets another answer, of status %d",
				again.status)
		},
	},
	{
		Name: "idempotency.at_once", Title: "Repetitions that arrive together make one session", sessions: 1,
		Cites: []string{"openapi.yaml Idempotency"},
		run: func(t *trial) {
			same := creation(adult).under(newKey())
			got := together(5, func(int) answer { a, _ := t.send(same); return a })
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
				kind   string
				values []string
			}{
				{"string_too_long", []string{strings.Repeat("k", 256)}}, {"string_pattern_mismatch", []string{"a b"}},
				{"string_pattern_mismatch", []string{"größe"}}, {"value_error", []string{"a", "b"}}, {"", []string{""}},
			} {
				t.invalid(creation(adult).with("Idempotency-Key", tt.values...), at(tt.kind, "header", "Idempotency-Key"))
			}
		},
	},
	{
		Name: "idempotency.refusal_keeps_key", Title: "A refused creation does not use up its key", sessions: 1,
		Cites: []string{"README.md Integrate in five minutes"},
		run: func(t *trial) {
			c := creation(adult).under(newKey())
			t.refuse(c)
			made := t.must(c, http.StatusCreated, "after refusals ")
			t.check(made.header.Get("Idempotent-Replayed") == "", "the first creation after refusals is marked as a repetition")
		},
	},
}

// lastOf creates the last session that a key may create, checks that another one
// is refused, and returns the session.
func (t *trial) lastOf(key string, refused int) *session {
	last := creation(adult).by(key).under(newKey())
	t.refuse(last) // what is refused costs nothing
	first := t.must(last, http.StatusCreated, "the last one: ")
	again := t.must(last, http.StatusCreated, "its repetition: ")
	t.check(bytes.Equal(first.body, again.body), "the repetition is answered with %s, want the same 201", again)
	t.must(last.under(newKey()), refused, "one more: ")
	made, ok := first.created(last)
	if !ok {
		t.fatalf("the last creation makes no session")
	}
	return made
}

// refuse sends a creation in forms that are refused with 422, some by the schema and some
// by what the tenant has registered.
func (t *trial) refuse(c call) {
	for _, tt := range []struct{ body, kind, field string }{
		{child, "greater_than_equal", "target_age"},
		{`{"target_age":18,"success_url":"https://` + canary + `.example/"}`, "value_error", "success_url"},
		{`{"target_age":18,"cancel_url":"https://` + canary + `.example/"}`, "value_error", "cancel_url"},
	} {
		c.body = tt.body
		t.invalid(c, at(tt.kind, "body", tt.field))
	}
}

// untilTomorrow checks that Retry-After ends on the next UTC day.
func (t *trial) untilTomorrow(got answer) {
	at := got.date()
	seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
	if err != nil || at.IsZero() {
		t.failf("the refusal has no Date or no Retry-After in seconds")
		return
	}
	next := at.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	past := at.Add(time.Duration(seconds) * time.Second).Sub(next)
	t.check(past.Abs() < clockTolerance, "Retry-After does not lead to the next UTC day, but %s past it", past)
}

// differ checks that two creations create two sessions.
func (t *trial) differ(a, b call) {
	first, second := t.must(a, http.StatusCreated, "first "), t.must(b, http.StatusCreated, "then ")
	t.check(!bytes.Equal(first.body, second.body), "two creations are answered with one session")
	t.check(second.header.Get("Idempotent-Replayed") == "", "the second creation is marked as a repetition")
}

// together does something n times at once.
func together[T any](n int, do func(i int) T) []T {
	done := make([]T, n)
	var wg sync.WaitGroup
	for i := range done {
		wg.Go(func() { done[i] = do(i) })
	}
	wg.Wait()
	return done
}
