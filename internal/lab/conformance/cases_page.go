package conformance

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"agegate/internal/lab/suite"
)

var pageCases = []testCase{
	{
		Name: "page.opens", Title: "The verification_url opens a page and changes nothing",
		Cites: []string{"SPEC 4.4", "openapi.yaml CreateSessionOut"},
		run: func(t *trial) {
			s := t.pending()
			t.visits(s, http.StatusOK, "", "?Force=verified", "?x="+canary)
			since := t.is("PENDING", s, "after its page was opened")
			t.check(apart(since, s.date) < clockTolerance, "opening the page moves status_at")
		},
	},
	{
		Name: "page.unknown", Title: "An address that differs from the verification_url in one place is a page with 404",
		Cites: []string{"openapi.yaml CreateSessionOut", "openapi.yaml Quick start"},
		run: func(t *trial) {
			s := t.pending()
			cut, begin := len(s.VerificationURL)-8, strings.LastIndex(s.VerificationURL, "/")+1
			start, end := s.VerificationURL[:cut], s.VerificationURL[cut:]
			for _, other := range []string{
				s.VerificationURL[:begin] + s.ID, start, start + "AAAAAAAA", s.VerificationURL + "A", start + swapCase(end),
			} {
				t.isPage(t.open(newBrowser(), other+"?force=verified"), http.StatusNotFound)
			}
			t.is("PENDING", s, "after force at another address")
		},
	},
	{
		Name: "redirect.pass", Title: "VERIFIED redirects with 303 and exactly token, session, status and is_adult",
		Cites: []string{"SPEC 1 rule 3", "SPEC 4.4", "openapi.yaml Redirect token"},
		run:   func(t *trial) { t.redirect(t.forced("verified")) },
	},
	{
		Name: "redirect.other_browser", Title: "A browser that did not complete the session gets no redirect and no token " +
			"from its verification_url",
		Cites: []string{"SPEC 1 rule 8", "openapi.yaml Redirect token"},
		run: func(t *trial) {
			s := t.forced("verified")
			for _, got := range t.visits(s, http.StatusOK, "", "?force=verified") {
				t.check(!tokenPattern.Match(got.body), "another browser is given a token")
			}
		},
	},
	{
		Name: "redirect.token", Title: "The token is signed over session|status|is_adult|expires_ts, and lives no longer " +
			"than it should", needs: []*need{needRedirectSecret},
		Cites: []string{"SPEC 5 rule 4", "openapi.yaml Redirect token"},
		run: func(t *trial) {
			s := t.forced("verified")
			q := t.redirect(s).Query()
			expires, mac, _ := strings.Cut(q.Get("token"), ".")
			want := t.mac(t.RedirectSecret, "rdsec_test_",
				q.Get("session")+"|"+q.Get("status")+"|"+q.Get("is_adult")+"|"+expires)
			t.check(mac == base64.RawURLEncoding.EncodeToString(want),
				"the token's MAC is not that of the parameters under the redirect secret")
		},
	},
	{
		Name: "redirect.none", Title: "ROUTED_TO_FALLBACK and SPOOF_DETECTED end on a page of their own, without a redirect",
		Cites: []string{"SPEC 1 rule 3", "SPEC 3", "SPEC 4.4"},
		run: func(t *trial) {
			for _, outcome := range t.outcomes() {
				if outcome == "verified" {
					continue
				}
				s := t.forced(outcome)
				for _, got := range []answer{s.page, t.visit(s, "")} {
					t.isPage(got, http.StatusOK)
					t.check(!tokenPattern.Match(got.body), "the page of %s carries a token", outcome)
				}
			}
		},
	},
	{
		Name: "force.refused", Title: "Any other force, or two, is a page with 400 and changes nothing",
		Cites: []string{"SPEC 4.4", "openapi.yaml Test sessions"},
		run: func(t *trial) {
			s := t.pending()
			t.visits(s, http.StatusBadRequest, "?force=", "?force=passed", "?force=VERIFIED", "?force=verified%20",
				"?force=verified&force=verified", "?force=verified&force=spoof", "?force="+canary)
			t.is("PENDING", s, "after a refused force")
		},
	},
	{
		Name: "force.final", Title: "A session that has ended keeps its outcome and its time",
		Cites: []string{"SPEC 3", "openapi.yaml Test sessions"},
		run: func(t *trial) {
			another := map[string]string{"verified": "fallback", "fallback": "verified", "spoof": "verified"}
			for _, outcome := range t.outcomes() {
				s := t.forced(outcome)
				before, since := t.status(s.ID)
				page := t.visit(s, "?force="+another[outcome])
				t.check(page.header.Get("Location") == "", "a second force redirects a browser that passed nothing")
				after, later := t.status(s.ID)
				t.check(before == after && since.Equal(later), "a second force makes %s of %s", after, before)
			}
		},
	},
	{
		Name: "force.document", Title: "Beside an open document check, force=spoof is a page with 400 and changes nothing; " +
			"force=verified passes", sessions: 1,
		Cites: []string{"SPEC 3", "SPEC 4.4", "openapi.yaml Test sessions"},
		run: func(t *trial) {
			s := t.fresh()
			t.offer(s)
			t.isPage(t.reopen(s, "?force=spoof"), http.StatusBadRequest)
			t.is("PENDING", s, "after force=spoof beside an open document check")
			s.page = t.reopen(s, "?force=verified")
			t.redirect(s)
		},
	},
	{
		Name: "force.at_once", Title: "Of outcomes forced at the same time one counts", sessions: 1,
		Cites: []string{"SPEC 3"},
		run: func(t *trial) {
			s := t.fresh()
			t.shared["raced"] = s
			together(6, func(i int) error {
				outcome := []string{"verified", "spoof"}[i%2]
				_, err := t.request(newBrowser(), http.MethodGet, s.VerificationURL+"?force="+outcome, nil, nil)
				return err // one of the pages is enough
			})
			status, since := t.status(s.ID)
			again, later := t.status(s.ID)
			t.check(status == "PASSED" || status == "SPOOF", "the status is %s", status)
			t.check(status == again && since.Equal(later), "the outcome changes afterwards")
		},
	},
	{
		Name: "consent.disclosure", Title: "The disclosure is separate and unticked; accepting it makes the estimate " +
			"pending, then not_estimated", sessions: 1,
		Cites: []string{"SPEC 1 rule 5", "SPEC 2.5", "openapi.yaml AgeAvailability"},
		run:   consent,
	},
	{
		Name: "force.document_only", Title: "Where only documents are checked, force=spoof is a page with 400 and changes " +
			"nothing, and fallback and verified end the session",
		Cites: []string{"SPEC 3", "SPEC 4.4", "openapi.yaml Test sessions"},
		run: func(t *trial) {
			if !t.documentOnly() {
				t.endf(suite.Skipped, "needs a tenant that checks documents only")
			}
			s := t.pending()
			t.visits(s, http.StatusBadRequest, "?force=spoof")
			t.is("PENDING", s, "after force=spoof")
			for _, outcome := range t.outcomes() {
				t.is(forcedStatus[outcome], t.forced(outcome), "after force="+outcome)
			}
		},
	},
	{
		Name: "live.session", Title: "A live session cannot be forced, is readable with the tenant's test key, and has its " +
			"own Idempotency-Keys", needs: []*need{needLive}, sessions: 1, live: 1,
		Cites: []string{"SPEC 4.1 rule 5", "SPEC 4.4", "SPEC 7", "openapi.yaml Test sessions",
			"openapi.yaml Idempotency"},
		run: func(t *trial) {
			same := creation(adult).under(newKey())
			other, s := t.create(same), t.create(same.by(t.LiveKey))
			again := t.call(s.made)
			t.check(again.header.Get("Idempotent-Replayed") == "true" && string(again.body) == string(s.body),
				"the repetition of a live creation gets another answer")
			t.check(other.ID != s.ID, "the same Idempotency-Key under a live key gives the test session")
			again = t.call(same)
			t.check(string(again.body) == string(other.body), "the same Idempotency-Key under a test key gives another session")
			t.visits(s, http.StatusBadRequest, "?force=verified", "?force=fallback", "?force=spoof", "?force=x")
			for _, key := range []string{t.LiveKey, t.TestKey} {
				status, _ := t.status(s.ID, key)
				t.check(status == "PENDING", "a refused force makes the live session %s", status)
			}
			t.expect(clock(s.ID, "session"), "404 notFound")
			status, _ := t.status(t.pending().ID, t.LiveKey)
			t.check(status == "PENDING", "the test session is %s with the live key", status)
		},
	},
	{
		Name: "redirect.lifetime", Title: "A token's life begins with its redirect, not with the session", sessions: 2,
		Cites: []string{"SPEC 5 rule 4", "openapi.yaml Redirect token"},
		run: func(t *trial) {
			slow, quick := t.fresh(), t.passed()
			t.pause(3 * time.Second)
			t.force(slow, "verified")
			t.check((t.life(slow)-t.life(quick)).Abs() < 2*time.Second,
				"the token lives for %s after 3 s, and for %s at once", t.life(slow), t.life(quick))
		},
	},
}

// visits requests a session's page with each of the queries, in new browsers. Each must be
// a page with the given status.
func (t *trial) visits(s *session, status int, queries ...string) (got []answer) {
	for _, query := range queries {
		page := t.visit(s, query)
		t.isPage(page, status)
		got = append(got, page)
	}
	return got
}

// isPage checks that an answer is a page with the given status and not a
// redirect.
func (t *trial) isPage(got answer, status int) {
	t.check(got.status == status, "the page answers %d, want %d", got.status, status)
	t.check(strings.HasPrefix(got.header.Get("Content-Type"), "text/html"), "the page is not HTML")
	t.check(got.header.Get("Location") == "", "the page redirects")
	t.check(strings.Contains(got.header.Get("Content-Security-Policy"), "frame-ancestors 'none'"),
		"other sites may show the page in a frame")
	t.check(!loadsOther.Match(got.body), "the page loads something from another site")
	t.check(!strings.Contains(string(got.body), canary), "the page repeats a value of its query")
}

// loadsOther matches what a page loads from an absolute address.
var loadsOther = regexp.MustCompile(`<(?:(?:script|img|iframe|video|source)\b[^>]*\bsrc|link\b[^>]*\bhref)=` +
	`"(?:https?:)?//`)

var (
	tokenPattern = regexp.MustCompile(`\b[0-9]{10}\.[A-Za-z0-9_-]{43}\b`)
	tokenForm    = regexp.MustCompile(`^[1-9][0-9]{9}\.[A-Za-z0-9_-]{43}$`)
)

// redirect checks the redirect after a pass, except for its MAC, and returns its
// address.
func (t *trial) redirect(s *session) *url.URL {
	got := s.page
	to, err := url.Parse(got.header.Get("Location"))
	if got.status != http.StatusSeeOther || err != nil || to.Host == "" {
		t.fatalf("a pass answers %d, want 303 with an absolute Location", got.status)
	}
	q, err := url.ParseQuery(strings.ReplaceAll(to.RawQuery, ";", "%3B")) // the merchant's own may have one
	t.check(err == nil, "the redirect's query does not parse")
	for name, want := range map[string]string{"session": strings.ToLower(s.ID), "status": "VERIFIED", "is_adult": "true"} {
		t.check(len(q[name]) == 1 && q.Get(name) == want, "the redirect's parameter %s is not exactly %s", name, want)
	}
	for _, name := range []string{"detected_age", "age", "expires", "expires_ts", "livemode"} {
		t.check(!q.Has(name), "the redirect has the parameter %s", name)
	}
	if t.check(len(q["token"]) == 1 && tokenForm.MatchString(q.Get("token")),
		"the redirect's token is not {expires_ts}.{base64url_mac}") {
		left := t.life(s)
		t.check((left-t.TokenTTL).Abs() < clockTolerance, "the token lives for %s, want %s", left.Round(time.Second),
			t.TokenTTL)
	}
	return to
}

// mac returns the HMAC of a text under a secret, which is written as a prefix and base64.
func (t *trial) mac(secret, prefix, text string) []byte {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, prefix))
	if err != nil || len(key) == 0 {
		t.fatalf("the secret given to this suite is not %s and base64", prefix)
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func swapCase(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return unicode.ToUpper(c)
	}, s)
}

// documentOnly reports whether the tenant takes no estimate, so that no session ends as
// SPOOF: the form with which its hosted page begins has a document as its only choice.
func (t *trial) documentOnly() bool {
	if t.onlyDocuments == nil {
		begin := findForm(t.visit(t.pending(), "").body)
		only := begin != nil && len(begin.inputs) > 0 && !slices.ContainsFunc(begin.inputs, func(i map[string]string) bool {
			return i["name"] != "choice" || i["value"] != "document"
		})
		t.onlyDocuments = &only
	}
	return *t.onlyDocuments
}

// outcomes returns the outcomes that sessions of the tenant can have.
func (t *trial) outcomes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(forcedStatus)), func(outcome string) bool {
		return outcome == "spoof" && t.documentOnly()
	})
}

// unsent returns why the gateway sends no webhook for a session, by the state of its event
// in the list of the test mode, or "".
func (t *trial) unsent(id string) string {
	for _, e := range t.events("?session_id=" + id) {
		switch e.Delivery {
		case "no_destination":
			return "the tenant has no Webhook URL"
		case "waiting":
			return "the tenant's endpoint is disabled"
		}
	}
	return ""
}
