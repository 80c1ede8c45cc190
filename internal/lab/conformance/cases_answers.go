package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// answerCases are about what every answer has, and about requests at the edge of what is
// taken.
var answerCases = []testCase{
	{
		Name: "status.completed", Title: "status_at of a session that has ended is its completion, not its creation, " +
			"whatever the outcome", sessions: 3,
		Cites: []string{"SPEC 2.2", "SPEC 2.4", "openapi.yaml SessionStatusOut"},
		run: func(t *trial) {
			made := map[string]*session{}
			for _, outcome := range []string{"verified", "fallback", "spoof"} {
				made[outcome] = t.create(t.test, `{"target_age":18}`, nil)
			}
			t.pause(2 * time.Second)
			for _, outcome := range t.outcomes() {
				s := made[outcome]
				_, began := t.status(t.test, s.ID)
				t.force(s, outcome)
				status, at := t.status(t.test, s.ID)
				t.check(status == forcedStatus[outcome], "the status is %s, want %s", status, forcedStatus[outcome])
				ended, err := http.ParseTime(s.page.header.Get("Date"))
				t.check(at.Sub(began) > time.Second, "status_at of %s is %s after the creation, 2 s before its end", status,
					at.Sub(began))
				t.check(err == nil && apart(at, ended) < nearTolerance, "status_at of %s is not its completion", status)
			}
		},
	},
	{
		Name: "api.not_stored", Title: "No answer of the API may be stored by a cache",
		Cites: []string{"SPEC 2.4", "openapi.yaml Errors"},
		run: func(t *trial) {
			s := t.forced("verified")
			for _, c := range append(slices.Clone(operations), call{operation: getSessionStatus, keys: t.test, session: s.ID},
				call{operation: getDetectedAge, keys: t.test, session: s.ID}, call{operation: listTestEvents, keys: t.test},
				call{operation: getSessionStatus, keys: t.test, session: nobody},
				call{operation: createSession, keys: t.test, body: `{"target_age":12}`},
				call{operation: createSession, keys: t.test, body: s.request,
					header: http.Header{"Idempotency-Key": {s.key}}}) {
				t.notStored(c.operation, t.call(c))
			}
		},
	},
	{
		Name: "page.not_stored", Title: "No page and no redirect may be stored by a cache, or tell other sites its address",
		Cites: []string{"SPEC 4.4", "openapi.yaml Redirect token"}, sessions: 1,
		run: func(t *trial) {
			s := t.create(t.test, `{"target_age":18}`, nil)
			browser := newBrowser()
			pages := map[string]answer{
				"of an open session": t.open(browser, s.VerificationURL),
				"with a bad force":   t.open(browser, s.VerificationURL+"?force=x"),
				"of an unknown link": t.open(browser, s.VerificationURL+"A"),
			}
			for _, outcome := range t.outcomes() {
				pages["of "+outcome] = t.forced(outcome).page
				pages["of "+outcome+", opened elsewhere"] = t.open(newBrowser(), t.forced(outcome).VerificationURL)
			}
			for what, got := range pages {
				t.notStored("the page "+what, got)
				policy := got.header.Get("Referrer-Policy") // a page may tell itself, and a redirect nobody
				t.check(policy == "no-referrer" || policy == "same-origin" && got.status != http.StatusSeeOther,
					"the page %s has the Referrer-Policy %q", what, policy)
			}
		},
	},
	{
		Name: "page.expired", Title: "The page of an expired session is 410, also with force, and changes nothing",
		sessions: 1,
		Cites:    []string{"SPEC 3", "openapi.yaml Idempotency", "openapi.yaml moveTestClock"},
		run: func(t *trial) {
			s := t.create(t.test, `{"target_age":18}`, nil)
			t.expire(s)
			for _, query := range []string{"", "?force=verified", "?force=fallback"} {
				t.isPage(t.open(newBrowser(), s.VerificationURL+query), http.StatusGone)
			}
			for range 2 {
				status, _ := t.status(t.test, s.ID)
				t.check(status == "EXPIRED", "the status is %s, want EXPIRED", status)
			}
		},
	},
	{
		Name: "force.head", Title: "A HEAD or POST request with force changes nothing", sessions: 1,
		Cites: []string{"SPEC 4.4", "openapi.yaml Test sessions"},
		run: func(t *trial) {
			s := t.create(t.test, `{"target_age":18}`, nil)
			for _, method := range []string{http.MethodHead, http.MethodPost} {
				for _, outcome := range []string{"verified", "fallback"} {
					req, err := http.NewRequestWithContext(t.ctx, method, s.VerificationURL+"?force="+outcome, nil)
					if err != nil {
						t.fatalf("the verification_url cannot be opened")
					}
					got, err := t.do(newBrowser(), req)
					t.check(err == nil && got.header.Get("Location") == "", "a %s request with force=%s is answered with a redirect",
						method, outcome)
				}
				status, _ := t.status(t.test, s.ID)
				t.check(status == "PENDING", "a %s request with force makes the session %s", method, status)
			}
		},
	},
	{
		Name: "create.untyped", Title: "A body without a Content-Type is 422, as one of another type is",
		Cites: []string{"SPEC 4.1", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			got := t.raw(`{"target_age":18}`, int64(len(`{"target_age":18}`)), "")
			t.check(got.status == http.StatusUnprocessableEntity, "it is answered with %s, want 422", got)
		},
	},
	{
		Name: "create.chunked", Title: "A body over 64 KiB that does not tell its length is 413",
		Cites: []string{"openapi.yaml createSession 413", "openapi.yaml Limits"},
		run: func(t *trial) {
			got := t.raw(`{"target_age":18,"note":"`+strings.Repeat("a", 64<<10)+`"}`, -1, "application/json")
			t.equal(createSession, got, http.StatusRequestEntityTooLarge, "tooLarge")
		},
	},
	{
		Name: "api.allow", Title: "A 405 says in Allow which methods there are",
		Cites: []string{"openapi.yaml Errors"},
		run: func(t *trial) {
			for _, op := range t.contract.operations {
				path := strings.NewReplacer("{session_id}", nobody, "{event_id}", noEvent).Replace(op.path)
				for _, method := range []string{http.MethodDelete, http.MethodOptions, http.MethodHead} {
					req, err := http.NewRequestWithContext(t.ctx, method, t.BaseURL+path, nil)
					if err != nil {
						t.fatalf("%s %s: %v", method, path, err)
					}
					req.Header["X-Api-Key"] = t.test
					got, err := t.do(t.api, req)
					allow := strings.Split(strings.ReplaceAll(got.header.Get("Allow"), " ", ""), ",")
					t.check(err == nil && got.status == http.StatusMethodNotAllowed && slices.Contains(allow, op.method),
						"%s %s is answered with %d and Allow: %s, want 405 and %s", method, path, got.status,
						got.header.Get("Allow"), op.method)
				}
			}
		},
	},
	{
		Name: "create.many_violations", Title: "Of more than 50 violations 50 are listed, unknown fields last, and names " +
			"are cut to 64 characters",
		Cites: []string{"openapi.yaml Violations", "openapi.yaml LocationPart", "SPEC 7"},
		run: func(t *trial) {
			body := strings.Builder{}
			body.WriteString(`{"target_age":12`)
			for i := range 60 {
				fmt.Fprintf(&body, `,"x%02d%s":1`, i, strings.Repeat("y", 100))
			}
			got := t.call(call{operation: createSession, keys: t.test, body: body.String() + "}"})
			var out struct{ Detail []violation }
			err := json.Unmarshal(got.body, &out)
			if !t.check(err == nil && len(out.Detail) == 50, "of 61 violations %d are listed, want 50", len(out.Detail)) {
				return
			}
			t.check(out.Detail[0].String() == at("greater_than_equal", "body", "target_age").String(),
				"the first violation is %s, want that of target_age", out.Detail[0])
			for _, v := range out.Detail[1:] {
				name, _ := v.Loc[len(v.Loc)-1].(string)
				t.check(v.Type == "extra_forbidden" && len(name) == 64 && name[0] == 'x', "an unknown field is listed as %s", v)
			}
		},
	},
}

// nearTolerance is the difference between a time and the whole seconds of a Date header
// in an answer of the same moment, on a slow machine.
const nearTolerance = 5 * time.Second

// notStored checks that no cache may store an answer.
func (t *trial) notStored(what string, got answer) {
	t.check(strings.Contains(got.header.Get("Cache-Control"), "no-store"),
		"%s answers %d with Cache-Control: %q, want no-store", what, got.status, got.header.Get("Cache-Control"))
}

// expire makes an open test session expire.
func (t *trial) expire(s *session) {
	got := t.call(call{operation: moveTestClock, keys: t.test, session: s.ID, body: `{"expire":"session"}`})
	t.check(got.status == http.StatusOK, "the test clock answers %s, want 200", got)
}

// raw sends a creation with a length of the body, -1 for none, and a Content-Type, "" for none.
func (t *trial) raw(body string, length int64, kind string) answer {
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPost, t.BaseURL+t.contract.operation(createSession).path,
		io.NopCloser(strings.NewReader(body)))
	if err != nil {
		t.fatalf("a creation cannot be sent: %v", err)
	}
	req.ContentLength = length
	req.Header["X-Api-Key"] = t.test
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	got, err := t.do(t.api, req)
	if err != nil {
		t.fatalf("a creation is not answered: %v", err)
	}
	return got
}
