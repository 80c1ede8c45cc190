package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// helpPattern matches the part of the page of errors to which a Link header leads.
var helpPattern = regexp.MustCompile(`</docs/errors#([^>]+)>`)

// languagePattern matches a language that the hosted page offers.
var languagePattern = regexp.MustCompile(`\bhreflang="([A-Za-z-]+)"`)

// helpCases are about what merchants and shoppers read: the help for an error, and the page's languages.
var helpCases = []testCase{
	{
		Name: "api.help", Title: "Each error leads to a part of the page of errors for each thing that is wrong, and the " +
			"part is there",
		Cites: []string{"openapi.yaml Errors", "openapi.yaml Help"},
		run: func(t *trial) {
			s := t.forced("verified")
			page := t.open(t.api, t.BaseURL+"/docs/errors").body
			requests := []call{
				{operation: createSession, keys: t.test, body: `{"target_age":12,"success_url":7,"x":1}`},
				{operation: createSession, keys: t.test, body: `{"target_age":"a","cancel_url":"a"}`},
				{operation: createSession, keys: t.test, body: `{`},
				{operation: getSessionStatus, keys: t.test, session: "not-a-uuid"},
				{operation: getSessionStatus, keys: []string{"svc_test_"}, session: nobody},
				{operation: createSession, keys: t.test, body: `{"target_age":77}`,
					header: http.Header{"Idempotency-Key": {s.key}}},
				{operation: moveTestClock, keys: t.test, session: s.ID, body: `{"expire":"session"}`},
			}
			for _, c := range operations {
				requests = append(requests, c)
				if c.operation != createSession && c.operation != listTestEvents {
					c.keys = t.test
					requests = append(requests, c)
				}
			}
			for _, c := range requests {
				got := t.call(c)
				var out struct{ Detail []violation }
				kinds := map[string]bool{}
				if json.Unmarshal(got.body, &out) != nil {
					kinds["text"] = true
				}
				for _, v := range out.Detail {
					kinds[v.Type] = true
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
			answers, asked := make([]answer, 6), time.Now()
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() {
					wait := call{operation: listTestEvents, keys: t.test, query: "?wait=4&session_id=" + s.ID}
					if got, err := t.send(wait); err == nil {
						answers[i] = got
					}
				})
			}
			wg.Wait()
			waited := 0
			for _, got := range answers {
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
			for _, offered := range languagePattern.FindAllSubmatch(t.open(newBrowser(), s.VerificationURL).body, -1) {
				language := string(offered[1])
				for _, query := range []string{"?lang=" + language, ""} {
					req, err := http.NewRequestWithContext(t.ctx, http.MethodGet, s.VerificationURL+query, nil)
					if err != nil {
						t.fatalf("the verification_url cannot be opened")
					}
					if query == "" {
						req.Header.Set("Accept-Language", language)
					}
					got, err := t.do(newBrowser(), req)
					t.check(err == nil && bytes.Contains(got.body, []byte(`<html lang="`+language+`"`)),
						"the page is not in %s, which it offers", language)
				}
			}
		},
	},
}
