package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// answerCases are about what every answer has, also for people who read it, and about
// requests at the edge of what is taken.
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
	{
		Name: "api.help", Title: "Each error leads to a part of the page of errors for each thing that is wrong, and the " +
			"part is there",
		Cites: []string{"openapi.yaml Errors", "openapi.yaml Help"},
		run: func(t *trial) {
			s := t.forced("verified")
			page := t.open(t.api, t.BaseURL+"/docs/errors").body
			requests := []call{
				creation(`{"target_age":12,"success_url":7,"x":1}`), creation(`{"target_age":"a","cancel_url":"a"}`),
				creation(`{`), lookup("not-a-uuid"), lookup(nobody).by("svc_test_"),
				creation(`{"target_age":77}`).under(s.made.header.Get("Idempotency-Key")), clock(s.ID, "session"),
			}
			for _, c := range operations {
				requests = append(requests, c)
				if c.operation != createSession && c.operation != listTestEvents {
					c.keys = nil
					requests = append(requests, c)
				}
			}
			for _, c := range requests {
				got, kinds := t.call(c), map[string]bool{}
				for _, v := range got.violations() {
					kinds[v.Type] = true
				}
				if len(kinds) == 0 { // its detail is a text
					kinds[""] = true
				}
				links := helpPattern.FindAllStringSubmatch(got.header.Get("Link"), -1)
				t.check(len(links) == len(kinds), "%s answers %s with %d links to help, want %d", c.operation, got, len(links),
					len(kinds))
				for _, link := range links {
					t.check(bytes.Contains(page, []byte(`id="`+link[1]+`"`)), "the page of errors has no part %s", link[1])
				}
			}
		},
	},
	{
		Name: "testmode.waiting", Title: "Three requests of a tenant wait at the same time, and no more",
		Cites: []string{"openapi.yaml listTestEvents", "openapi.yaml TooManyWaiting"},
		run: func(t *trial) {
			s := t.pending()
			asked, waited := time.Now(), 0
			for _, got := range together(6, func(int) answer {
				got, _ := t.send(call{operation: listTestEvents, query: "?wait=4&session_id=" + s.ID})
				return got
			}) {
				t.check(got.status == http.StatusOK || got.status == http.StatusTooManyRequests,
					"a request that waits is answered with %d", got.status)
				if got.status != 0 { // it was answered
					t.judge(listTestEvents, got)
				}
				if got.status == http.StatusOK {
					waited++
				}
			}
			t.check(waited <= 3 || time.Since(asked) > 6*time.Second, "%d requests wait at the same time, want 3", waited)
			t.check(waited >= 3, "only %d requests wait at the same time, want 3", waited)
		},
	},
	{
		Name: "page.languages", Title: "The page is in the language that its address or the browser asks for",
		Cites: []string{"SPEC 4.4"},
		run: func(t *trial) {
			s := t.pending()
			for _, offered := range languagePattern.FindAllSubmatch(t.visit(s, "").body, -1) {
				language := string(offered[1])
				for _, got := range []answer{
					t.visit(s, "?lang="+language),
					t.page(newBrowser(), http.MethodGet, s.VerificationURL, http.Header{"Accept-Language": {language}}),
				} {
					t.check(bytes.Contains(got.body, []byte(`<html lang="`+language+`"`)),
						"the page is not in %s, which it offers", language)
				}
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

// helpPattern matches the part of the page of errors to which a Link header leads.
var helpPattern = regexp.MustCompile(`</docs/errors#([^>]+)>`)

// languagePattern matches a language that the hosted page offers.
var languagePattern = regexp.MustCompile(`\bhreflang="([A-Za-z-]+)"`)
