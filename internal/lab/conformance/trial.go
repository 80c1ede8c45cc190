package conformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"agegate/internal/lab/suite"
)

// canary is part of request values that no answer may repeat.
const canary = "cAnArY7f3"

// maxAnswer is the maximum number of bytes read from an answer.
const maxAnswer = 1 << 20

// trial is a case while it runs.
type trial struct {
	*run
	ctx      context.Context
	random   *mathrand.Rand
	problems []string
}

// failf records a problem; the case continues.
func (t *trial) failf(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// check records a problem unless ok is true, and returns ok.
func (t *trial) check(ok bool, format string, args ...any) bool {
	if !ok {
		t.failf(format, args...)
	}
	return ok
}

// fatalf records a problem and ends the case.
func (t *trial) fatalf(format string, args ...any) {
	t.failf(format, args...)
	panic(abort{suite.Failed})
}

// endf ends the case with an outcome for a reason.
func (t *trial) endf(outcome suite.Outcome, format string, args ...any) {
	t.failf(format, args...)
	panic(abort{outcome})
}

// newClient returns a client that does not follow redirects and keeps cookies
// only if jar is set.
func newClient(jar http.CookieJar) *http.Client {
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Jar: jar, CheckRedirect: noRedirect}
}

// newBrowser returns a client with its own cookie jar.
func newBrowser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // cookiejar.New cannot fail without options
	}
	return newClient(jar)
}

// call is a request to an operation.
type call struct {
	operation string
	keys      []string // X-API-Key headers
	session   string   // in the path, already escaped
	event     string   // in the path, already escaped
	query     string
	header    http.Header
	body      string
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string {
	body := string(a.body)
	if len(body) > 300 {
		body = body[:300] + "…"
	}
	return fmt.Sprintf("%d %s", a.status, body)
}

// do sends a request and reads its answer.
func (t *trial) do(client *http.Client, req *http.Request) (answer, error) {
	if err := t.limiter.Wait(t.ctx); err != nil {
		return answer{}, err
	}
	res, err := client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // removes the URL, which may be a link of a session
		}
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }() // closing cannot change what was read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return answer{res.StatusCode, res.Header, body}, err
}

// send calls an operation without checking the answer.
func (t *trial) send(c call) (answer, error) {
	op := t.contract.operation(c.operation)
	target := t.BaseURL + strings.NewReplacer("{session_id}", c.session, "{event_id}", c.event).Replace(op.path) + c.query
	req, err := http.NewRequestWithContext(t.ctx, op.method, target, strings.NewReader(c.body))
	if err != nil {
		return answer{}, err
	}
	if c.body != "" && op.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, c.header)
	if len(c.keys) > 0 {
		req.Header["X-Api-Key"] = c.keys
	}
	got, err := t.do(t.api, req)
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

// expect calls an operation whose answer must equal an example of the contract.
func (t *trial) expect(c call, status int, example string) answer {
	got := t.call(c)
	t.equal(c.operation, got, status, example)
	return got
}

// equal checks that an answer has a status and equals an example for it.
func (t *trial) equal(operation string, got answer, status int, example string) {
	var body any
	if got.status != status {
		t.failf("%s answers %s, want %d", operation, got, status)
	} else if err := json.Unmarshal(got.body, &body); err != nil ||
		!equalJSON(t.contract.example(operation, status, example), body) {
		t.failf("%s answers %s, want the example %q", operation, got, example)
	}
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
func (t *trial) invalid(what string, c call, want ...violation) {
	got := t.call(c)
	if got.status != http.StatusUnprocessableEntity {
		t.failf("%s is answered with %s, want 422", what, got)
		return
	}
	var body struct{ Detail []violation }
	if err := json.Unmarshal(got.body, &body); err != nil {
		return // the schema check reports a decoding error
	}
	if !sameViolations(body.Detail, want) {
		t.failf("%s is answered with %v, want %v", what, body.Detail, want)
	}
}

func sameViolations(got, want []violation) bool {
	if len(got) != len(want) {
		return false
	}
	left := append([]violation(nil), want...)
	for _, g := range got {
		i := 0
		for i < len(left) && (fmt.Sprint(g.Loc) != fmt.Sprint(left[i].Loc) || left[i].Type != "" && g.Type != left[i].Type) {
			i++
		}
		if i == len(left) {
			return false
		}
		left = append(left[:i], left[i+1:]...)
	}
	return true
}

// session is a session that the trial created.
type session struct {
	ID              string    `json:"session_id"`
	VerificationURL string    `json:"verification_url"`
	ExpiresAt       time.Time `json:"expires_at"`

	body    []byte    // the whole answer
	key     string    // Idempotency-Key, if one was sent
	request string    // body of the request
	date    time.Time // Date of the answer, by the gateway's clock
	page    answer    // the page answered after the outcome was forced
	browser *http.Client
}

// created decodes the answer to a creation.
func (a answer) created() (*session, bool) {
	s := &session{body: a.body, request: `{"target_age":18}`}
	s.date, _ = http.ParseTime(a.header.Get("Date"))
	if a.status != http.StatusCreated || json.Unmarshal(a.body, s) != nil {
		return nil, false
	}
	u, err := url.Parse(s.VerificationURL)
	return s, err == nil && u.Host != "" && s.ID != ""
}

// create creates a session with a body, or ends the case.
func (t *trial) create(keys []string, body string, header http.Header) *session {
	if t.blocked != "" {
		t.endf(suite.Blocked, "%s", t.blocked)
	}
	got := t.call(call{operation: createSession, keys: keys, body: body, header: header})
	if got.status == http.StatusTooManyRequests {
		t.blocked = "the tenant's daily cap of test sessions is reached: repeat the run tomorrow, or let the operator " +
			"raise it"
		t.endf(suite.Blocked, "%s", t.blocked)
	}
	made, ok := got.created()
	if !ok {
		t.fatalf("a valid creation is answered with %s, want 201 and a session", got)
	}
	made.request = body
	return made
}

// pending returns the session that stays PENDING during the whole run.
func (t *trial) pending() *session {
	if t.shared["pending"] == nil {
		t.shared["pending"] = t.create(t.test, `{"target_age":18}`, nil)
	}
	return t.shared["pending"]
}

// newKey returns a new Idempotency-Key header.
func newKey() http.Header { return http.Header{"Idempotency-Key": {"conformance-" + rand.Text()}} }

// forcedStatus maps each forced outcome to its session status.
var forcedStatus = map[string]string{"verified": "PASSED", "fallback": "FALLBACK", "spoof": "SPOOF"}

// forced returns a session that was forced into an outcome. It is created once in
// a run. For fallback, the receiver refuses the first delivery.
func (t *trial) forced(outcome string) *session {
	if s := t.shared[outcome]; s != nil {
		return s
	}
	body, key := `{"target_age":18}`, newKey()
	if outcome == "fallback" {
		body = fmt.Sprintf(`{"target_age":18,"cancel_url":%q}`,
			t.callback("/agegate-conformance/cancelled?case=fallback&x=1"))
	}
	s := t.create(t.test, body, key)
	s.key = key.Get("Idempotency-Key")
	if t.receiver != nil && outcome == "fallback" {
		t.receiver.refuseFirst(s.ID, http.StatusInternalServerError)
	}
	t.force(s, outcome)
	t.shared[outcome] = s
	return s
}

// force ends a session by opening its page with a forced outcome. If the tenant
// has the document check on, a fallback ends with an offer of that check.
func (t *trial) force(s *session, outcome string) {
	browser := newBrowser()
	s.browser, s.page = browser, t.open(browser, s.VerificationURL+"?force="+outcome)
	if outcome != "fallback" {
		return
	}
	if status, _ := t.status(t.test, s.ID); status == "PENDING" {
		s.page = t.open(browser, s.VerificationURL+"?force="+outcome)
	}
}

// open requests a page like a browser.
func (t *trial) open(browser *http.Client, address string) answer {
	req, err := http.NewRequestWithContext(t.ctx, http.MethodGet, address, nil)
	if err != nil {
		t.fatalf("the verification_url cannot be opened")
	}
	req.Header.Set("Accept", "text/html")
	got, err := t.do(browser, req)
	if err != nil {
		t.fatalf("the hosted page is not answered: %v", err)
	}
	t.check(got.header.Get("X-Request-ID") != "", "a page is answered without X-Request-ID")
	return got
}

// status looks a session up and returns its status and status_at.
func (t *trial) status(keys []string, id string) (status string, at time.Time) {
	got := t.call(call{operation: getSessionStatus, keys: keys, session: id})
	var out struct {
		Status   string    `json:"status"`
		StatusAt time.Time `json:"status_at"`
	}
	if err := json.Unmarshal(got.body, &out); err != nil || got.status != http.StatusOK {
		t.fatalf("the status lookup answers %s, want 200", got)
	}
	said, again := fmt.Sprint(out.Status, " since ", out.StatusAt), strings.ToLower(id)
	before, ended := t.ended[again]
	t.check(!ended || before == said, "a session that was %s is %s", before, said)
	if out.Status != "PENDING" {
		t.ended[again] = said
	}
	return out.Status, out.StatusAt
}

// callback returns an address on a registered host, to which a passed session
// redirects.
func (t *trial) callback(rest string) string {
	to, err := url.Parse(t.forced("verified").page.header.Get("Location"))
	if err != nil || to.Host == "" {
		t.fatalf("no registered host is known, because the pass did not redirect")
	}
	return to.Scheme + "://" + to.Host + rest
}

// now returns the time of the gateway's clock, to about a second.
func (t *trial) now() time.Time { return time.Now().Add(-t.offset) }

// redactor removes secret values from a report.
type redactor struct{ known *strings.Replacer }

var secretParts = regexp.MustCompile(`(/v/)[A-Za-z0-9_-]{20,}|([?&]token=)[^&\s"]+`)

func newRedactor(o Options) *redactor {
	var pairs []string
	for _, secret := range []string{o.TestKey, o.LiveKey, o.OtherKey, o.RevokedKey, o.DisabledKey, o.CappedKey,
		o.UnpaidKey, o.BareKey, o.LastTestKey, o.LastLiveKey, o.RedirectSecret, o.WebhookSecret} {
		if secret != "" {
			pairs = append(pairs, secret, "[redacted]")
		}
	}
	return &redactor{strings.NewReplacer(pairs...)}
}

func (r *redactor) clean(text string) string {
	return secretParts.ReplaceAllString(r.known.Replace(text), "$1$2[redacted]")
}
