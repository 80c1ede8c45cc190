package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// call is a request to an operation.
type call struct {
	operation string
	keys      []string // X-API-Key headers; nil: the run's test key
	session   string   // in the path, already escaped
	event     string   // in the path, already escaped
	query     string
	header    http.Header
	body      string
	chunked   bool // does not tell the length of the body
}

// keyless are the keys of a call without any.
var keyless = []string{}

// Bodies of creations: a valid one, and one that is refused.
const (
	adult = `{"target_age":18}`
	child = `{"target_age":12}`
)

// creation returns a creation with a body.
func creation(body string) call { return call{operation: createSession, body: body} }

// creationWith returns a creation that has a further field with a value as JSON.
func creationWith(field, value string) call {
	return creation(fmt.Sprintf(`{"target_age":18,%q:%s}`, field, value))
}

// creationTo returns a creation with an address in a field.
func creationTo(field, address string) call { return creationWith(field, fmt.Sprintf("%q", address)) }

// lookup returns a lookup of a session's status.
func lookup(session string) call { return call{operation: getSessionStatus, session: session} }

// clock returns a move of the test clock: it lets a session or its next redirect expire.
func clock(session, what string) call {
	return call{operation: moveTestClock, session: session, body: `{"expire":"` + what + `"}`}
}

// by returns the call with another X-API-Key.
func (c call) by(key string) call {
	c.keys = []string{key}
	return c
}

// under returns the call with an Idempotency-Key.
func (c call) under(key string) call { return c.with("Idempotency-Key", key) }

// with returns the call with a header in place of its own.
func (c call) with(name string, values ...string) call {
	c.header = http.Header{name: values}
	return c
}

// String returns the call for problems, without its keys.
func (c call) String() string {
	text := c.operation + " " + c.session + c.event + c.query + " " + cut(c.body)
	if kind := c.header["Content-Type"]; kind != nil {
		text += fmt.Sprintf(" with Content-Type %q", kind)
	}
	if key := c.header["Idempotency-Key"]; key != nil {
		text += fmt.Sprintf(" with Idempotency-Key %.20q", key)
	}
	return strings.TrimSpace(text)
}

// cut shortens a body for problems.
func cut(body string) string {
	if len(body) > 300 {
		return body[:300] + "…"
	}
	return body
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, cut(string(a.body))) }

// date returns the Date of an answer, by the gateway's clock, or a time long ago.
func (a answer) date() time.Time {
	date, _ := http.ParseTime(a.header.Get("Date"))
	return date
}

// violations returns what a 422 lists, or nothing; the schema check reports a decoding error.
func (a answer) violations() []violation {
	var out struct{ Detail []violation }
	_ = json.Unmarshal(a.body, &out)
	return out.Detail
}

// request sends a request and reads its answer.
func (t *trial) request(
	client *http.Client, method, address string, header http.Header, body io.Reader,
) (got answer, err error) {
	defer func() {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // removes the URL, which may be a link of a session
		}
	}()
	req, err := http.NewRequestWithContext(t.ctx, method, address, body)
	if err != nil {
		return answer{}, err
	}
	maps.Copy(req.Header, header)
	if err := t.limiter.Wait(t.ctx); err != nil {
		return answer{}, err
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }() // closing cannot change what was read
	read, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return answer{res.StatusCode, res.Header, read}, err
}

// send calls an operation without checking the answer.
func (t *trial) send(c call) (answer, error) {
	op := t.contract.operation(c.operation)
	target := t.BaseURL + strings.NewReplacer("{session_id}", c.session, "{event_id}", c.event).Replace(op.path) + c.query
	if c.keys == nil {
		c.keys = t.test
	}
	header := http.Header{}
	if c.body != "" && op.method == http.MethodPost {
		header.Set("Content-Type", "application/json")
	}
	maps.Copy(header, c.header)
	header["X-Api-Key"] = c.keys
	var body io.Reader = strings.NewReader(c.body)
	if c.chunked {
		body = io.MultiReader(body)
	}
	got, err := t.request(t.api, op.method, target, header, body)
	made := err == nil && got.status == http.StatusCreated && got.header.Get("Idempotent-Replayed") == ""
	switch {
	case made && len(c.keys) == 1 && slices.Contains([]string{t.LiveKey, t.LastLiveKey}, c.keys[0]):
		t.live.Add(1)
	case made:
		t.sessions.Add(1)
	}
	return got, err
}

// call calls an operation and checks the answer.
func (t *trial) call(c call) answer {
	got, err := t.send(c)
	if err != nil {
		t.fatalf("%s is not answered: %v", c.operation, err)
	}
	t.judge(c.operation, got)
	return got
}

// judge checks an operation's answer against the contract. It is also a problem if the
// answer repeats the canary. Only one goroutine may call it.
func (t *trial) judge(operation string, got answer) {
	for _, p := range t.contract.check(operation, got) {
		t.failf("%s answers %d: %s", operation, got.status, p)
	}
	t.check(!strings.Contains(string(got.body), canary) && !strings.Contains(fmt.Sprint(got.header), canary),
		"%s answers %d with a value of the request", operation, got.status)
	t.check(got.header.Get("Access-Control-Allow-Origin") == "", "%s lets pages of other sites call it", operation)
}

// must calls an operation, which must answer with a status. when says why, or is empty.
func (t *trial) must(c call, status int, when string) answer {
	got := t.call(c)
	t.check(got.status == status, "%s%s is answered with %s, want %d", when, c, got, status)
	return got
}

// expect calls an operation whose answer must equal an example of the contract, which is
// named by its status and name.
func (t *trial) expect(c call, example string) answer {
	got := t.call(c)
	var body any
	status, _, _ := strings.Cut(example, " ")
	err := json.Unmarshal(got.body, &body)
	t.check(err == nil && fmt.Sprint(got.status) == status && equalJSON(t.contract.example(c.operation, example), body),
		"%s is answered with %s, want the example %q", c, got, example)
	return got
}

// violation is an entry of a 422 answer, without the message.
type violation struct {
	Type string `json:"type"`
	Loc  []any  `json:"loc"`
}

func at(kind string, loc ...any) violation { return violation{kind, loc} }

func (v violation) String() string { return fmt.Sprintf("%s %v", v.Type, v.Loc) }

// invalid calls an operation, which must refuse the request with exactly the
// given violations, in any order. An empty type matches any.
func (t *trial) invalid(c call, want ...violation) {
	got := t.call(c)
	if t.check(got.status == http.StatusUnprocessableEntity, "%s is answered with %s, want 422", c, got) {
		found := got.violations()
		t.check(sameViolations(found, want), "%s is answered with %v, want %v", c, found, want)
	}
}

func sameViolations(got, want []violation) bool {
	left := slices.Clone(want)
	for _, g := range got {
		i := slices.IndexFunc(left, func(w violation) bool {
			return fmt.Sprint(g.Loc) == fmt.Sprint(w.Loc) && (w.Type == "" || g.Type == w.Type)
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}
