package conformance

import (
	"bytes"
	"net/http"
	"regexp"
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
