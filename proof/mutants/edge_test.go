package mutants

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// header sets a header of the answers that choose selects; an empty value removes it.
func header(name, value string, choose func(*reply) bool) func(*reply) {
	return func(r *reply) {
		if !choose(r) {
			return
		}
		if r.header.Del(name); value != "" {
			r.header.Set(name, value)
		}
	}
}

func ofPage(statuses ...int) func(*reply) bool {
	return func(r *reply) bool { return r.is("page") && slices.Contains(statuses, r.status) }
}

func ofAPI(what string, status int) func(*reply) bool {
	return func(r *reply) bool { return r.is(what) && r.status == status }
}

// storable are the answers that a cache must not keep, each with the case that looks.
func storable() (faults []fault) {
	for name, choose := range map[string]func(*reply) bool{
		"an open page": ofPage(200), "a redirect": ofPage(303), "a refused force": ofPage(400), "an unknown page": ofPage(404),
	} {
		for _, value := range []string{"", "private, max-age=60"} {
			faults = append(faults, fault{name: fmt.Sprintf("%s may be stored: %q", name, value), caught: "page.not_stored",
				answer: header("Cache-Control", value, choose)})
		}
		faults = append(faults, fault{name: name + " tells its address", caught: "page.not_stored",
			answer: header("Referrer-Policy", "unsafe-url", choose)})
	}
	for _, what := range []string{"status", "detected-age", "events", "create"} {
		for _, status := range []int{200, 201, 401, 404, 422} {
			if (status == 201) == (what == "create") && status < 400 || status == 401 ||
				status == 404 && what == "status" || status == 422 && what == "create" {
				faults = append(faults, fault{name: fmt.Sprintf("%s %d may be stored", what, status), caught: "api.not_stored",
					answer: header("Cache-Control", "max-age=60", ofAPI(what, status))})
			}
		}
	}
	return faults
}

// edgeFaults are faults of requests at the edge of what is taken.
func edgeFaults() []fault {
	return append(storable(), []fault{
		{name: "a spoof completed at its creation", caught: "status.completed", answer: createdAt("SPOOF")},
		{name: "a fallback completed at its creation", caught: "status.completed", answer: createdAt("FALLBACK")},
		{name: "a pass completed at its creation", caught: "status.completed", answer: createdAt("PASSED")},
		{name: "the page of an expired session is 200", caught: "page.expired", answer: statusOf("page", 410, 200)},
		{name: "the page of an expired session is 404", caught: "page.expired", answer: statusOf("page", 410, 404)},
		{name: "HEAD forces", caught: "force.head", request: func(r *http.Request) {
			if r.Method == http.MethodHead {
				r.Method = http.MethodGet
			}
		}},
		{name: "JSON without a type", caught: "create.untyped", request: func(r *http.Request) {
			if r.Header.Get("Content-Type") == "" && r.Method == http.MethodPost {
				r.Header.Set("Content-Type", "application/json")
			}
		}},
		{name: "a chunked body of any length", caught: "create.chunked", answer: func(r *reply) {
			if r.is("create") && r.status == http.StatusRequestEntityTooLarge && r.asked.Get("Content-Length") == "" {
				r.status, r.body = 422, []byte(`{"detail":[{"type":"extra_forbidden","loc":["body","note"],"msg":"validation failed"}]}`)
			}
		}},
		{name: "OPTIONS for other sites", caught: "api.allow", answer: func(r *reply) {
			if r.method == http.MethodOptions {
				r.status = http.StatusNoContent
			}
		}},
		{name: "other sites may call it", caught: "create.created",
			answer: header("Access-Control-Allow-Origin", "*", ofAPI("create", 201))},
		{name: "HEAD is GET", caught: "api.allow", request: func(r *http.Request) {
			if r.Method == http.MethodHead && strings.HasPrefix(r.URL.Path, "/api/") {
				r.Method = http.MethodGet
			}
		}},
		{name: "a header names the method", caught: "api.wrong_method", request: func(r *http.Request) {
			if method := r.Header.Get("X-HTTP-Method-Override"); method != "" {
				r.Method = method
			}
		}},
		{name: "a path in any case", caught: "api.unknown_path",
			request: func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/Sessions/", "/sessions/", 1) }},
		{name: "a path with a slash behind it", caught: "api.unknown_path",
			request: func(r *http.Request) { r.URL.Path = strings.TrimSuffix(r.URL.Path, "/") }},
		{name: "pages without X-Request-ID", caught: "page.opens", answer: header("X-Request-ID", "", ofPage(200))},
		{name: "a page in a frame", caught: "page.opens", answer: header("Content-Security-Policy", "", ofPage(200))},
		{name: "a page with another site's script", caught: "page.opens", answer: onAnswer("page", 200, func(r *reply) {
			r.body = append(r.body, []byte(`<script src="https://cdn.example/a.js"></script>`)...)
		})},
		{name: "the session's ID opens its page", caught: "page.unknown", answer: statusOf("page", 404, 200)},
		{name: "only one language", caught: "page.languages", request: func(r *http.Request) {
			r.Header.Del("Accept-Language")
		}},
		{name: "the page's language is the browser's alone", caught: "page.languages", request: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "lang=", "l=", 1)
		}},
		{name: "help that is nowhere", caught: "api.help", answer: func(r *reply) {
			r.header.Set("Link", strings.ReplaceAll(r.header.Get("Link"), "#", "#x-"))
		}},
		{name: "help for the first violation alone", caught: "api.help", answer: func(r *reply) {
			first, _, _ := strings.Cut(r.header.Get("Link"), ", ")
			r.header.Set("Link", first)
		}},
		{name: "the newest event last", caught: "testmode.order", answer: listed(func(r *reply, list []any) []any {
			if !strings.Contains(r.query, "after=") {
				slices.Reverse(list)
			}
			return list
		})},
		{name: "after forgets the session", caught: "testmode.order", request: func(r *http.Request) {
			if strings.Contains(r.URL.RawQuery, "after=") {
				r.URL.RawQuery, _, _ = strings.Cut(r.URL.RawQuery, "&session_id=")
			}
		}},
		{name: "an event that its body does not say", caught: "testmode.events", answer: func(r *reply) {
			if r.is("events") {
				r.body = bytes.ReplaceAll(r.body, []byte(`"is_adult":true`), []byte(`"is_adult":false`))
			}
		}},
		{name: "a fourth request waits", caught: "testmode.waiting", answer: func(r *reply) {
			if r.is("events") && r.status == http.StatusTooManyRequests {
				r.status = http.StatusOK
			}
		}},
		{name: "a BOM is taken", caught: "create.not_json",
			request: onBody(func(b string) string { return strings.TrimPrefix(b, "\ufeff") })},
		{name: "spaces around a callback are taken", caught: "callback.malformed",
			request: onBody(func(b string) string { return strings.NewReplacer(`":" h`, `":"h`, `/ "`, `/"`).Replace(b) })},
		{name: "EXPIRED since the lookup", caught: "page.expired", answer: onAnswer("status", 200, func(r *reply) {
			r.edit(func(m map[string]any) {
				if m["status"] == "EXPIRED" {
					m["status_at"] = time.Now().UTC().Format("2006-01-02T15:04:05.999999Z")
				}
			})
		})},
		{name: "405 without Allow", caught: "api.allow", answer: func(r *reply) { r.header.Del("Allow") }},
		{name: "405 with another Allow", caught: "api.allow", answer: func(r *reply) { r.header.Set("Allow", "OPTIONS") }},
		{name: "violations up to 49", caught: "create.many_violations", answer: violations(func(list []any) []any {
			return list[:min(len(list), 49)]
		})},
		{name: "unknown fields first", caught: "create.many_violations", answer: violations(func(list []any) []any {
			slices.Reverse(list)
			return list
		})},
		{name: "names up to 63 characters", caught: "create.many_violations", answer: violations(func(list []any) []any {
			for _, e := range list {
				loc, _ := e.(map[string]any)["loc"].([]any)
				if name, ok := loc[len(loc)-1].(string); ok && len(name) > 63 {
					loc[len(loc)-1] = name[:63]
				}
			}
			return list
		})},
		{name: "402 in other words", caught: "create.no_credit", answer: onAnswer("create", 402, func(r *reply) {
			r.body = bytes.ReplaceAll(r.body, []byte("Top up"), []byte("Wait"))
		})},
		{name: "a foreign host uses up the key", caught: "idempotency.refusal_keeps_key", answer: usesKey("success_url")},
		{name: "a foreign way back uses up the key", caught: "idempotency.refusal_keeps_key", answer: usesKey("cancel_url")},
		{name: "a foreign host counts as a test session", caught: "create.last_test",
			answer: counts(http.StatusTooManyRequests, capText)},
		{name: "a foreign host is charged", caught: "create.last_unit", answer: counts(http.StatusPaymentRequired, creditText)},
		{name: "force=spoof ends a check of documents", caught: "force.document_only",
			answer: statusOf("page", http.StatusBadRequest, http.StatusOK)},
		{name: "force=spoof is a fallback for documents", caught: "force.document_only", request: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "force=spoof", "force=fallback", 1)
		}},
		{name: "documents alone end as SPOOF", caught: "force.document_only", answer: func() func(*reply) {
			asked := false
			return func(r *reply) {
				asked = asked || r.query == "force=spoof"
				if r.is("status") && asked {
					r.edit(func(m map[string]any) { m["status"] = "SPOOF" })
				}
			}
		}()},
	}...)
}

// createdAt gives sessions of a status the time at which they were open first.
func createdAt(status string) func(*reply) {
	open := map[string]any{}
	return onAnswer("status", http.StatusOK, func(r *reply) {
		r.edit(func(m map[string]any) {
			switch m["status"] {
			case "PENDING":
				open[r.path] = m["status_at"]
			case status:
				m["status_at"] = open[r.path]
			}
		})
	})
}

// violations changes the list of a 422.
func violations(change func([]any) []any) func(*reply) {
	return onAnswer("create", http.StatusUnprocessableEntity, func(r *reply) {
		r.edit(func(m map[string]any) {
			if list, ok := m["detail"].([]any); ok {
				m["detail"] = change(list)
			}
		})
	})
}

// usesKey refuses the second request under a key whose first one had a wrong field.
func usesKey(field string) func(*reply) {
	used := map[string]bool{}
	return func(r *reply) {
		key := r.asked.Get(idempotencyKey)
		switch {
		case !r.is("create") || key == "":
		case r.status == http.StatusUnprocessableEntity && bytes.Contains(r.body, []byte(field)):
			used[key] = true
		case r.status == http.StatusCreated && used[key]:
			r.status, r.body = http.StatusConflict, []byte(`{"detail":"Idempotency key reused with a different request"}`)
		}
	}
}

// counts refuses the first creation after a foreign host, as if that had used up the last one.
func counts(status int, detail string) func(*reply) {
	foreign := false
	return func(r *reply) {
		switch {
		case !r.is("create"):
		case r.status == http.StatusUnprocessableEntity && bytes.Contains(r.body, []byte("success_url")):
			foreign = true
		case r.status == http.StatusCreated && foreign:
			foreign = false
			refused(status, detail, func(*reply) bool { return true })(r)
		}
	}
}

// feedFaults are faults of the list of events and of the test clock.
func feedFaults() []fault {
	return []fault{
		{name: "the newest 50 after another", caught: "testmode.behind", answer: func() func(*reply) {
			return listed(func(r *reply, list []any) []any {
				if strings.Contains(r.query, "after=") && len(list) == 50 {
					return list[1:]
				}
				return list
			})
		}()},
		{name: "51 events at once", caught: "testmode.behind", answer: listed(func(_ *reply, list []any) []any {
			if len(list) == 50 {
				return append(list, list[0])
			}
			return list
		})},
		{name: "wait without after does not wait", caught: "testmode.wait", request: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "wait=3&", "", 1)
		}},
		{name: "wait waits for another event", costly: true, caught: "testmode.wait", answer: func(r *reply) {
			if r.is("events") && strings.HasPrefix(r.query, "wait=3") {
				time.Sleep(3 * time.Second)
			}
		}},
		{name: "an event keeps its first signature", caught: "testmode.signed_now", answer: func() func(*reply) {
			first := map[any]any{}
			return listed(func(_ *reply, list []any) []any {
				for _, e := range list {
					if event, ok := e.(map[string]any); ok {
						id := event["event_id"]
						if first[id] == nil {
							first[id] = event["headers"]
						}
						event["headers"] = first[id]
					}
				}
				return list
			})
		}()},
		{name: "events stored a minute ago", costly: true, caught: "testmode.signed_now", answer: listed(func(_ *reply, list []any) []any {
			for _, e := range list {
				if event, ok := e.(map[string]any); ok {
					at, _ := time.Parse(time.RFC3339Nano, fmt.Sprint(event["created_at"]))
					event["created_at"] = at.Add(-time.Minute).Format(time.RFC3339Nano)
				}
			}
			return list
		})},
		{name: "an event without a destination is sent", caught: "testmode.no_destination",
			answer: statusOf("resend", http.StatusConflict, http.StatusOK)},
		{name: "an event without a destination is missing", caught: "testmode.no_destination",
			answer: func(r *reply) {
				if r.is("resend") && r.status == http.StatusConflict {
					r.status, r.body = http.StatusNotFound, []byte(`{"detail":"Event not found"}`)
				}
			}},
		{name: "the clock leaves an open document check", caught: "testmode.clock_document", answer: func(r *reply) {
			if r.is("status") && bytes.Contains(r.body, []byte("EXPIRED")) {
				r.body = bytes.Replace(r.body, []byte("EXPIRED"), []byte("PENDING"), 1)
			}
		}},
		{name: "an expired document check can be forced", caught: "testmode.clock_document",
			answer: statusOf("page", http.StatusGone, http.StatusOK)},
		{name: "the clock is a minute slow", caught: "testmode.clock_exact", answer: shifted(time.Minute)},
		{name: "the clock is a minute fast", caught: "testmode.clock_exact", answer: shifted(-time.Minute)},
		{name: "a redirect that there is not expires", caught: "testmode.clock_exact",
			answer: onAnswer("clock", http.StatusConflict, func(r *reply) {
				id := strings.Split(r.path, "/")[5]
				r.status, r.body = http.StatusOK, []byte(`{"session_id":"`+id+`","expired":"redirect"}`)
				r.header.Del("Link")
			})},
	}
}

// listed changes the list of events.
func listed(change func(r *reply, list []any) []any) func(*reply) {
	return onAnswer("events", http.StatusOK, func(r *reply) {
		r.edit(func(m map[string]any) {
			if list, ok := m["events"].([]any); ok {
				m["events"] = change(r, list)
			}
		})
	})
}

// shifted moves the time of EXPIRED.
func shifted(by time.Duration) func(*reply) {
	return onAnswer("status", http.StatusOK, func(r *reply) {
		r.edit(func(m map[string]any) {
			at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(m["status_at"]))
			if err == nil && m["status"] == "EXPIRED" {
				m["status_at"] = at.Add(by).Format(time.RFC3339Nano)
			}
		})
	})
}

// receiverFaults are faults in what becomes of a delivery that fails.
func receiverFaults() (faults []fault) {
	for _, status := range []int{400, 404, 429, 500, 503} {
		faults = append(faults, fault{name: "an answer " + strconv.Itoa(status) + " counts as delivered", brief: true,
			costly: true,
			caught: "webhook.failures", answered: func(given int) int {
				if given == status {
					return http.StatusNoContent
				}
				return given
			}})
	}
	for name, to := range map[string]map[string]any{
		"every attempt is listed as delivered": {"last_class": "delivered"}, "an attempt is not counted": {"attempts": 0},
		"the last answer is not listed": {"last_status_code": nil}, "what is tried again has failed": {"delivery": "failed"},
	} {
		faults = append(faults, fault{name: name, caught: "webhook.failures", brief: true, costly: to["last_class"] == nil,
			answer: listed(func(_ *reply, list []any) []any {
				for _, e := range list {
					if event, ok := e.(map[string]any); ok {
						maps.Copy(event, to)
					}
				}
				return list
			})})
	}
	return append(faults, fault{name: "Retry-After is not looked at", caught: "webhook.failures", noRetryAfter: true},
		fault{name: "no answer counts as delivered", caught: "webhook.slow", brief: true, costly: true, impatient: http.StatusNoContent},
		fault{name: "a slow receiver is not waited for", caught: "webhook.slow", brief: true,
			impatient: http.StatusInternalServerError})
}
