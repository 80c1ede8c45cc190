package mutants

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
)

// lifeFaults are faults in how long a session lives, and in what becomes of it and
// of its unit afterwards.
func lifeFaults() []fault {
	return []fault{
		{name: "force=spoof is refused with 200 beside a document check", caught: "force.document",
			answer: statusOf("page", http.StatusBadRequest, http.StatusOK)},
		{name: "force=spoof ends a document check", caught: "force.document", request: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "force=spoof", "force=fallback", 1)
		}},
		{name: "the offer leaves the expiry", caught: "expiry.document", answer: leaves("?force=fallback")},
		{name: "the choice of a way leaves the expiry", caught: "expiry.document", answer: leaves("/document?")},
		{name: "the consent leaves the expiry", caught: "expiry.document", answer: leaves("/photo?")},
		{name: "an expired session keeps its unit", caught: "expiry.unit", answer: nthRefused(2)},
		{name: "an expired session gives two units back", caught: "expiry.unit", answer: oneMore(http.StatusPaymentRequired)},
		{name: "the estimate of an expired session stays pending", caught: "detected_age.expired",
			answer: onAnswer("detected-age", http.StatusOK, func(r *reply) {
				r.body = bytes.ReplaceAll(r.body, []byte("not_estimated"), []byte("pending"))
			})},
		{name: "the estimate of an expired session is forgotten", caught: "detected_age.expired",
			answer: member("detected-age", http.StatusOK, "availability", "not_consented")},
		{name: "events go to today's Webhook URL", caught: "webhook.frozen", delivery: goesTo("/agegate-conformance/moved")},
		{name: "events go to the first Webhook URL", caught: "webhook.frozen", delivery: goesTo("")},
	}
}

// leaves gives sessions whose page was asked for an address with a part the expiry
// of their creation.
func leaves(part string) func(*reply) {
	type made struct {
		id        string
		expiresAt any
	}
	byPage, left := map[string]made{}, map[string]any{}
	return func(r *reply) {
		page, session := r.created()
		switch {
		case page != "":
			byPage[page] = made{fmt.Sprint(session["session_id"]), session["expires_at"]}
		case r.is("page"):
			for path, s := range byPage {
				if asked := r.path + "?" + r.query; strings.HasPrefix(asked, path) && strings.Contains(asked, part) {
					left[s.id] = s.expiresAt
				}
			}
		case r.is("status"):
			id := strings.Split(r.path, "/")[4]
			r.edit(func(m map[string]any) {
				if at := left[id]; at != nil && m["status"] == "EXPIRED" {
					m["status_at"] = at
				}
			})
		}
	}
}

// nthRefused refuses a creation by its number as if no unit were left. The run's
// own first creation counts.
func nthRefused(n int) func(*reply) {
	made := -1
	return refused(http.StatusPaymentRequired, creditText, func(*reply) bool {
		made++
		return made == n
	})
}

func goesTo(path string) func(*post) []string {
	return func(p *post) []string {
		p.path = path
		return nil
	}
}
