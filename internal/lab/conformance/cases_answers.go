package conformance

import (
	"fmt"
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
			outcomes, made := t.outcomes(), map[string]*session{}
			for _, outcome := range outcomes {
				made[outcome] = t.fresh()
			}
			t.pause(2 * time.Second)
			for _, outcome := range outcomes {
				s, status := made[outcome], forcedStatus[outcome]
				_, began := t.status(s.ID)
				t.force(s, outcome)
				at := t.is(status, s, "after force="+outcome)
				t.check(at.Sub(began) > time.Second, "status_at of %s is %s after the creation, 2 s before its end", status,
					at.Sub(began))
				t.check(apart(at, s.page.date()) < nearTolerance, "status_at of %s is not its completion", status)
			}
		},
	},
	{
		Name: "api.not_stored", Title: "No answer of the API may be stored by a cache",
		Cites: []string{"SPEC 2.4", "openapi.yaml Errors"},
		run: func(t *trial) {
			s := t.forced("verified")
			for _, c := range append(slices.Clone(operations), lookup(s.ID), call{operation: getDetectedAge, session: s.ID},
				call{operation: listTestEvents}, lookup(nobody), creation(child), s.made) {
				t.notStored(c.operation, t.call(c))
			}
		},
	},
	{
		Name: "page.not_stored", Title: "No page and no redirect may be stored by a cache, or tell other sites its address",
		Cites: []string{"SPEC 4.4", "openapi.yaml Redirect token"}, sessions: 1,
		run: func(t *trial) {
			s := t.fresh()
			s.browser = newBrowser()
			pages := map[string]answer{
				"of an open session": t.reopen(s, ""),
				"with a bad force":   t.reopen(s, "?force=x"),
				"of an unknown link": t.reopen(s, "A"),
			}
			for _, outcome := range t.outcomes() {
				pages["of "+outcome] = t.forced(outcome).page
				pages["of "+outcome+", opened elsewhere"] = t.visit(t.forced(outcome), "")
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
			s := t.fresh()
			t.expire(s)
			t.visits(s, http.StatusGone, "", "?force=verified", "?force=fallback")
			for range 2 {
				t.is("EXPIRED", s, "after force")
			}
		},
	},
	{
		Name: "force.head", Title: "A HEAD or POST request with force changes nothing", sessions: 1,
		Cites: []string{"SPEC 4.4", "openapi.yaml Test sessions"},
		run: func(t *trial) {
			s := t.fresh()
			for _, method := range []string{http.MethodHead, http.MethodPost} {
				for _, outcome := range []string{"verified", "fallback"} {
					got := t.page(newBrowser(), method, s.VerificationURL+"?force="+outcome, nil)
					t.check(got.header.Get("Location") == "", "a %s request with force=%s is answered with a redirect", method,
						outcome)
				}
				t.is("PENDING", s, "after a "+method+" request with force")
			}
		},
	},
	{
		Name: "create.untyped", Title: "A body without a Content-Type is 422, as one of another type is",
		Cites: []string{"SPEC 4.1", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			t.must(creation(adult).with("Content-Type"), http.StatusUnprocessableEntity, "without a Content-Type ")
		},
	},
	{
		Name: "create.chunked", Title: "A body over 64 KiB that does not tell its length is 413",
		Cites: []string{"openapi.yaml createSession 413", "openapi.yaml Limits"},
		run: func(t *trial) {
			c := creationTo("note", strings.Repeat("a", 64<<10))
			c.chunked = true
			t.expect(c, "413 tooLarge")
		},
	},
	{
		Name: "api.allow", Title: "A 405 says in Allow which methods there are",
		Cites: []string{"openapi.yaml Errors"},
		run: func(t *trial) {
			for _, op := range t.contract.operations {
				path := strings.NewReplacer("{session_id}", nobody, "{event_id}", noEvent).Replace(op.path)
				for _, method := range []string{http.MethodDelete, http.MethodOptions, http.MethodHead} {
					got := t.plain(method, path)
					allow := strings.Split(strings.ReplaceAll(got.header.Get("Allow"), " ", ""), ",")
					t.check(got.status == http.StatusMethodNotAllowed && slices.Contains(allow, op.method),
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
			list := t.call(creation(body.String() + "}")).violations()
			if !t.check(len(list) == 50, "of 61 violations %d are listed, want 50", len(list)) {
				return
			}
			t.check(list[0].String() == at("greater_than_equal", "body", "target_age").String(),
				"the first violation is %s, want that of target_age", list[0])
			for _, v := range list[1:] {
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
func (t *trial) expire(s *session) { t.must(clock(s.ID, "session"), http.StatusOK, "") }
