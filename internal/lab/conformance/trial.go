package conformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
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
	t.endf(suite.Failed, format, args...)
}

// endf ends the case with an outcome for a reason.
func (t *trial) endf(outcome suite.Outcome, format string, args ...any) {
	t.failf(format, args...)
	panic(outcome)
}

// newClient returns a client that does not follow redirects and keeps cookies
// only if jar is set.
func newClient(jar http.CookieJar) *http.Client {
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Jar: jar, CheckRedirect: noRedirect}
}

// newBrowser returns a client with its own cookie jar.
func newBrowser() *http.Client {
	jar, _ := cookiejar.New(nil) // never fails without options
	return newClient(jar)
}

// session is a session that the trial created.
type session struct {
	ID              string    `json:"session_id"`
	VerificationURL string    `json:"verification_url"`
	ExpiresAt       time.Time `json:"expires_at"`

	made    call      // that created it
	body    []byte    // the whole answer
	date    time.Time // Date of the answer, by the gateway's clock
	page    answer    // the page answered after the outcome was forced
	browser *http.Client
}

// created decodes the answer to a creation.
func (a answer) created(made call) (*session, bool) {
	s := &session{made: made, body: a.body, date: a.date()}
	if a.status != http.StatusCreated || json.Unmarshal(a.body, s) != nil {
		return nil, false
	}
	u, err := url.Parse(s.VerificationURL)
	return s, err == nil && u.Host != "" && s.ID != ""
}

// create creates a session, or ends the case.
func (t *trial) create(c call) *session {
	if t.blocked != "" {
		t.endf(suite.Blocked, "%s", t.blocked)
	}
	got := t.call(c)
	if got.status == http.StatusTooManyRequests {
		t.blocked = "the tenant's daily cap of test sessions is reached: repeat the run tomorrow, or let the operator " +
			"raise it"
		t.endf(suite.Blocked, "%s", t.blocked)
	}
	made, ok := got.created(c)
	if !ok {
		t.fatalf("%s is answered with %s, want 201 and a session", c, got)
	}
	return made
}

// fresh creates an open session.
func (t *trial) fresh() *session { return t.create(creation(adult)) }

// passed creates a session and passes it.
func (t *trial) passed() *session {
	s := t.fresh()
	t.force(s, "verified")
	return s
}

// pending returns the session that stays PENDING during the whole run.
func (t *trial) pending() *session {
	if t.shared["pending"] == nil {
		t.shared["pending"] = t.fresh()
	}
	return t.shared["pending"]
}

// newKey returns a new Idempotency-Key.
func newKey() string { return "conformance-" + rand.Text() }

// forcedStatus maps each forced outcome to its session status.
var forcedStatus = map[string]string{"verified": "PASSED", "fallback": "FALLBACK", "spoof": "SPOOF"}

// forced returns a session that was forced into an outcome. It is created once in
// a run. For fallback, the receiver refuses the first delivery.
func (t *trial) forced(outcome string) *session {
	if s := t.shared[outcome]; s != nil {
		return s
	}
	c := creation(adult)
	if outcome == "fallback" {
		c = creationTo("cancel_url", t.callback(cancelled))
	}
	s := t.create(c.under(newKey()))
	if t.receiver != nil && outcome == "fallback" {
		t.receiver.treatFirst(s.ID, manner{status: http.StatusInternalServerError})
	}
	t.force(s, outcome)
	t.shared[outcome] = s
	return s
}

// cancelled ends the cancel_url of the session that forced returns for fallback.
const cancelled = "/agegate-conformance/cancelled?case=fallback&x=1"

// force ends a session by opening its page with a forced outcome. If the tenant
// has the document check on, a fallback ends with an offer of that check.
func (t *trial) force(s *session, outcome string) {
	s.browser = newBrowser()
	s.page = t.reopen(s, "?force="+outcome)
	if outcome != "fallback" {
		return
	}
	if status, _ := t.status(s.ID); status == "PENDING" {
		s.page = t.reopen(s, "?force="+outcome)
	}
}

// open requests a page like a browser.
func (t *trial) open(browser *http.Client, address string) answer {
	return t.page(browser, http.MethodGet, address, http.Header{"Accept": {"text/html"}})
}

// visit requests a session's page, with a query, in a new browser.
func (t *trial) visit(s *session, query string) answer {
	return t.open(newBrowser(), s.VerificationURL+query)
}

// reopen requests a session's page, with a query, in the session's browser.
func (t *trial) reopen(s *session, query string) answer {
	return t.open(s.browser, s.VerificationURL+query)
}

// page sends a request without a body to a page, or ends the case.
func (t *trial) page(browser *http.Client, method, address string, header http.Header) answer {
	got, err := t.request(browser, method, address, header, http.NoBody)
	if err != nil {
		t.fatalf("the hosted page is not answered: %v", err)
	}
	t.check(got.header.Get("X-Request-ID") != "", "a page is answered without X-Request-ID")
	return got
}

// status looks a session up and returns its status and status_at.
func (t *trial) status(id string, keys ...string) (status string, at time.Time) {
	c := lookup(id)
	c.keys = keys
	got := t.call(c)
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

// is checks a session's status, and returns its status_at. The problem says when.
func (t *trial) is(want string, s *session, when string) time.Time {
	status, at := t.status(s.ID)
	t.check(status == want, "%s the session is %s, want %s", when, status, want)
	return at
}

// registered returns the root of a registered host, to which a passed session redirects.
func (t *trial) registered() *url.URL {
	to, err := url.Parse(t.forced("verified").page.header.Get("Location"))
	if err != nil || to.Host == "" {
		t.fatalf("no registered host is known, because the pass did not redirect")
	}
	return &url.URL{Scheme: to.Scheme, Host: to.Host, Path: "/"}
}

// callback returns an address on a registered host.
func (t *trial) callback(rest string) string {
	return strings.TrimSuffix(t.registered().String(), "/") + rest
}

// now returns the time of the gateway's clock, to about a second.
func (t *trial) now() time.Time { return time.Now().Add(-t.offset) }

var secretParts = regexp.MustCompile(`(/v/)[A-Za-z0-9_-]{20,}|([?&]token=)[^&\s"]+`)

// redactor returns a function that removes secret values from a text of a report.
func redactor(o Options) func(string) string {
	var pairs []string
	for _, secret := range []string{o.TestKey, o.LiveKey, o.OtherKey, o.RevokedKey, o.DisabledKey, o.CappedKey,
		o.UnpaidKey, o.BareKey, o.LastTestKey, o.LastLiveKey, o.RedirectSecret, o.WebhookSecret} {
		if secret != "" {
			pairs = append(pairs, secret, "[redacted]")
		}
	}
	known := strings.NewReplacer(pairs...)
	return func(text string) string { return secretParts.ReplaceAllString(known.Replace(text), "$1$2[redacted]") }
}

// life returns the time from the redirect to the expiry of its token. It is negative if
// the token had already expired. The redirect's time is its Date header, so only the
// gateway's clock counts.
func (t *trial) life(s *session) time.Duration {
	to, err := url.Parse(s.page.header.Get("Location"))
	if err != nil || s.page.date().IsZero() || to.Host == "" {
		t.fatalf("a pass answers %d, want 303 with an absolute Location and a Date", s.page.status)
	}
	expires, _, _ := strings.Cut(to.Query().Get("token"), ".")
	at := unix(expires)
	if at.IsZero() {
		t.fatalf("the redirect's token does not begin with its expiry")
	}
	return at.Sub(s.page.date())
}

// unix returns the time of a number of seconds, or a time long ago for another text.
func unix(text string) time.Time {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// pause waits, or ends the case with the run.
func (t *trial) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
		t.fatalf("the run was ended during a wait")
	}
}
