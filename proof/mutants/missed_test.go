package mutants

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// missedFaults are faults that somebody made who did not know the cases, and that no
// case saw at first.
func missedFaults() []fault {
	return slices.Concat(missedKeys(), missedEvents(), missedDeliveries(), missedPages())
}

// missedKeys are faults in what a request may have, and in the order of its checks.
func missedKeys() []fault {
	return []fault{
		{name: "a key in the query string counts", caught: "auth.header_only", request: func(r *http.Request) {
			if key := r.URL.Query().Get("api_key"); key != "" {
				r.Header.Set("X-API-Key", key)
			}
		}},
		{name: "a key as a user's name counts", caught: "auth.header_only", request: func(r *http.Request) {
			if encoded, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Basic "); ok {
				user, _ := base64.StdEncoding.DecodeString(encoded) // what does not decode is no key
				r.Header.Set("X-API-Key", strings.TrimSuffix(string(user), ":"))
			}
		}},
		{name: "a disabled tenant's path is checked first", caught: "auth.disabled", answer: func(r *reply) {
			if r.is("status") && r.status == http.StatusForbidden && !strings.Contains(r.path, "-") {
				r.status = http.StatusUnprocessableEntity
			}
		}},
		{name: "the credit is looked at before the request", caught: "create.no_credit",
			answer: statusOf("create", 422, 402)},
		{name: "an Idempotency-Key has letters and digits only", caught: "idempotency.long", request: func(r *http.Request) {
			if strings.Contains(r.Header.Get("Idempotency-Key"), "{") {
				r.Header.Set("Idempotency-Key", "a b")
			}
		}},
		{name: "a long decimal is a whole number", caught: "create.age_refused",
			request: onBody(func(b string) string { return strings.Replace(b, "18.0000000000000000001", "18", 1) })},
		{name: "the clock ignores what it does not know", caught: "testmode.clock",
			request: onBody(func(b string) string { return strings.Replace(b, `,"more":1`, "", 1) })},
		{name: "a form with force ends the session", caught: "force.head", request: func(r *http.Request) {
			if r.Method == http.MethodPost && strings.Contains(r.URL.RawQuery, "force=") {
				r.Method = http.MethodGet
			}
		}},
		{name: "a test key ends live sessions", caught: "live.session", answer: statusOf("clock", 404, 200)},
		clockEnds(),
	}
}

// clockEnds says that a session is EXPIRED whose next redirect shall expire.
func clockEnds() fault {
	var mu sync.Mutex
	moved := map[string]bool{}
	ends := fault{name: "the clock for the redirect ends the session", caught: "testmode.clock_redirect"}
	ends.request = func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if id, ok := strings.CutSuffix(r.URL.Path, "/clock"); ok {
			moved[id[strings.LastIndex(id, "/")+1:]] = true
		}
	}
	ends.answer = onAnswer("status", http.StatusOK, func(r *reply) {
		mu.Lock()
		defer mu.Unlock()
		r.edit(func(m map[string]any) {
			if m["status"] == "PENDING" && moved[strings.Split(r.path, "/")[4]] {
				m["status"] = "EXPIRED"
			}
		})
	})
	return ends
}

// missedEvents are faults in the list of events.
func missedEvents() []fault {
	var made []string
	var spoof string
	pages, asked := map[string]string{}, map[string]bool{}
	return []fault{
		{name: "an event is listed after its session has ended", caught: "testmode.events", answer: listed(
			func(r *reply, list []any) []any {
				if !asked[r.query] {
					asked[r.query], list = true, []any{}
				}
				return list
			})},
		{name: "without a filter, every tenant's events are listed", caught: "testmode.isolation", answer: func(r *reply) {
			if _, session := r.created(); session != nil {
				made = append(made, session["session_id"].(string))
			}
			if r.is("events") && r.query == "" {
				r.body, _ = json.Marshal(map[string]any{"events": made}) // texts
			}
		}},
		{name: "a wrong wait is none", caught: "testmode.events", request: func(r *http.Request) {
			if strings.Contains(r.URL.RawQuery, "wait=-1") {
				r.URL.RawQuery = ""
			}
		}},
		{name: "a session_id that is none filters nothing", caught: "testmode.events", request: func(r *http.Request) {
			if id := r.URL.Query().Get("session_id"); id != "" && len(id) != 36 {
				r.URL.RawQuery = ""
			}
		}},
		{name: "nothing comes after the event of zeros", caught: "testmode.events",
			answer: onAnswer("events", http.StatusOK, func(r *reply) {
				if strings.Contains(r.query, "after=evt_00000000") {
					r.body = []byte(`{"events":[]}`)
				}
			})},
		{name: "a spoof is listed as an event", caught: "testmode.events", answer: func(r *reply) {
			if page, session := r.created(); page != "" {
				pages[page] = session["session_id"].(string)
			}
			if r.is("page") && strings.Contains(r.query, "spoof") {
				spoof = pages[r.path]
			}
			if r.is("events") && spoof != "" && strings.Contains(r.query, spoof) {
				r.body = []byte(`{"events":[{}]}`)
			}
		}},
		{name: "too many that wait are not told until when", caught: "testmode.waiting",
			answer: onAnswer("events", http.StatusTooManyRequests, func(r *reply) { r.header.Del("Retry-After") })},
		{name: "the list writes the body anew", caught: "webhook.verified", answer: listed(func(_ *reply, list []any) []any {
			for _, e := range list {
				if event, ok := e.(map[string]any); ok {
					text, _ := event["body"].(string)
					event["body"] = text + " "
				}
			}
			return list
		})},
	}
}

// missedDeliveries are faults in the attempts after the first.
func missedDeliveries() []fault {
	seen, failed, again := map[string]bool{}, 0, false
	return []fault{
		{name: "a repetition loses its Content-Type", caught: "webhook.repeated", delivery: func(p *post) []string {
			id := p.header.Get("webhook-id")
			if seen[id] {
				p.header.Del("Content-Type")
			}
			seen[id] = true
			return nil
		}},
		{name: "202 is a failure", caught: "webhook.slow", costly: true, answered: func(given int) int {
			if given == http.StatusAccepted {
				return http.StatusInternalServerError
			}
			return given
		}},
		{name: "a second failure counts as delivered", caught: "webhook.failures", brief: true,
			answered: func(given int) int {
				if given == http.StatusInternalServerError {
					failed++
				}
				if failed > 2 {
					return http.StatusNoContent
				}
				return given
			}},
		{name: "what is sent again is sent once", caught: "testmode.resent", brief: true,
			answer: func(r *reply) { again = again || r.is("resend") && r.status == http.StatusOK },
			answered: func(given int) int {
				if again {
					return http.StatusNoContent
				}
				return given
			}},
	}
}

// missedPages are faults in the pages of sessions that ended, and in the redirect.
func missedPages() []fault {
	inLocation := func(what, change string) func(*reply) {
		return onAnswer("page", http.StatusSeeOther, func(r *reply) {
			r.header.Set("Location", strings.Replace(r.header.Get("Location"), what, change, 1))
		})
	}
	ended, seen := map[string]bool{}, map[string]time.Time{}
	return []fault{
		{name: "%2B becomes a space", caught: "callback.raw_query", answer: inLocation("%2B", "+")},
		{name: "tokens live for five minutes", caught: "redirect.pass", answer: onRedirect(func(q url.Values) {
			expires, mac, _ := strings.Cut(q.Get("token"), ".")
			if at, err := strconv.Atoi(expires); err == nil {
				q.Set("token", fmt.Sprint(at-300, ".", mac))
			}
		})},
		{name: "a pass is forced after a fallback", caught: "force.final", answer: func(r *reply) {
			if r.is("page") && ended[r.path] && strings.Contains(r.query, "verified") {
				r.status = http.StatusSeeOther
				r.header.Set("Location", "https://shop.example/")
			}
			ended[r.path] = ended[r.path] || r.is("page") && strings.Contains(r.query, "fallback")
		}},
		{name: "a session is EXPIRED since the first lookup", caught: "testmode.clock_exact",
			answer: onAnswer("status", http.StatusOK, func(r *reply) {
				r.edit(func(m map[string]any) {
					if m["status"] != "EXPIRED" {
						return
					}
					if seen[r.path].IsZero() {
						seen[r.path] = time.Now()
					}
					m["status_at"] = seen[r.path].UTC().Format(time.RFC3339Nano)
				})
			})},
		{name: "a parameter whose name begins like one of the four is lost", caught: "callback.raw_query",
			answer: inLocation("&session_ref=3", "")},
		{name: "a parameter is replaced whatever the case of its name", caught: "callback.raw_query",
			answer: inLocation("&Status=4", "")},
		{name: "the path of success_url is decoded", caught: "callback.raw_query", answer: inLocation("%2F", "/")},
		{name: "the page of a spoof has no way back", caught: "callback.own_cancel_url", answer: func(r *reply) {
			if r.is("page") && strings.Contains(r.query, "spoof") {
				r.body = []byte(strings.ReplaceAll(string(r.body), "href=", "data-href="))
				r.body = []byte(strings.ReplaceAll(string(r.body), "cancelled", "gone"))
			}
		}},
		{name: "the page of a fallback is gone when it is opened again", caught: "redirect.none", answer: func(r *reply) {
			if r.is("page") && r.query == "" && ended[r.path] {
				r.status = http.StatusGone
			}
			if r.is("page") && strings.Contains(r.query, "fallback") {
				ended[r.path] = true
			}
		}},
	}
}
