package mutants

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// onAnswer changes the answers of an operation with a given status.
func onAnswer(what string, status int, change func(*reply)) func(*reply) {
	return func(r *reply) {
		if r.is(what) && r.status == status {
			change(r)
		}
	}
}

// onBody changes the bodies of creations and of moves of the clock before the gateway sees
// them.
func onBody(change func(string) string) func(*http.Request) {
	return func(r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/create") && !strings.HasSuffix(r.URL.Path, "/clock") || r.Body == nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		changed := change(string(body))
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
	}
}

// onRedirect changes the query of redirects.
func onRedirect(change func(url.Values)) func(*reply) {
	return onAnswer("page", http.StatusSeeOther, func(r *reply) {
		to, err := url.Parse(r.header.Get("Location"))
		if err != nil {
			return
		}
		q := to.Query()
		change(q)
		to.RawQuery = q.Encode()
		r.header.Set("Location", to.String())
	})
}

// member sets a member in the answers of an operation.
func member(what string, status int, name string, value any) func(*reply) {
	return onAnswer(what, status, func(r *reply) { r.edit(func(m map[string]any) { m[name] = value }) })
}

// detail sets the detail of errors.
func detail(what string, status int, value any) func(*reply) {
	return member(what, status, "detail", value)
}

// statusOf sets the status of answers.
func statusOf(what string, from, to int) func(*reply) {
	return onAnswer(what, from, func(r *reply) { r.status = to })
}

// eventMember sets a member of every event and signs the event again.
func eventMember(name string, value any) func(*post) []string {
	return func(p *post) []string {
		p.edit(func(m map[string]any) { m[name] = value })
		return nil
	}
}

func withoutHeader(name string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Del(name) }
}

// each applies a change to the entries of a 422 answer.
func each(change func(map[string]any)) func(*reply) {
	return onAnswer("create", http.StatusUnprocessableEntity, func(r *reply) {
		r.edit(func(m map[string]any) {
			entries, _ := m["detail"].([]any)
			for _, e := range entries {
				if entry, ok := e.(map[string]any); ok {
					change(entry)
				}
			}
		})
	})
}

var answerFaults = []fault{
	{name: "a creation is 200", caught: "create.created", answer: statusOf("create", 201, 200)},
	{name: "no X-Request-ID", caught: "create.request_id", answer: func(r *reply) { r.header.Del("X-Request-ID") }},
	{name: "one X-Request-ID for all", caught: "create.request_id",
		answer: func(r *reply) { r.header.Set("X-Request-ID", "same") }},
	{name: "a creation that says more", caught: "create.created", answer: member("create", 201, "status", "PENDING")},
	{name: "a creation that leaks an estimate", caught: "create.created",
		answer: member("create", 201, "detected_age", 31.4)},
	{name: "a time without Z", caught: "create.created",
		answer: member("create", 201, "expires_at", "2099-01-01T00:00:00+00:00")},
	{name: "a session that is over at once", caught: "create.created",
		answer: member("create", 201, "expires_at", "2020-01-01T00:00:00Z")},
	{name: "one session for all", caught: "create.created",
		answer: member("create", 201, "session_id", "0190c0de-0000-7000-8000-000000000001")},
	{name: "not JSON by its type", caught: "status.pending",
		answer: onAnswer("status", 200, func(r *reply) { r.header.Set("Content-Type", "text/plain") })},
	{name: "an unknown status", caught: "status.pending", answer: member("status", 200, "status", "OPEN")},
	{name: "a status that says more", caught: "status.pending", answer: member("status", 200, "is_adult", true)},
	{name: "a status that says less", caught: "status.pending",
		answer: onAnswer("status", 200, func(r *reply) { r.edit(func(m map[string]any) { delete(m, "status_at") }) })},
	{name: "the time of the lookup", caught: "status.passed", answer: onAnswer("status", 200, func(r *reply) {
		r.edit(func(m map[string]any) { m["status_at"] = time.Now().UTC().Truncate(time.Microsecond) })
	})},
	{name: "completed at its expiry", caught: "status.fallback",
		answer: member("status", 200, "status_at", "2099-01-01T00:00:00Z")},
	{name: "a spoof that passes", caught: "status.spoof", answer: member("status", 200, "status", "PASSED")},
	{name: "an estimate without consent", caught: "detected_age.not_consented",
		answer: onAnswer("detected-age", 200, func(r *reply) {
			r.edit(func(m map[string]any) { m["detected_age"], m["availability"] = 31.4, "available" })
		})},
	{name: "an unknown availability", caught: "detected_age.not_consented",
		answer: member("detected-age", 200, "availability", "none")},
	{name: "an error envelope of its own", caught: "lookup.not_found",
		answer: onAnswer("status", 404, func(r *reply) { r.body = []byte(`{"error":"Session not found"}`) })},
	{name: "an error in other words", caught: "lookup.not_found", answer: detail("detected-age", 404, "No such session")},
	{name: "404 for a foreign session in other words", caught: "lookup.isolation",
		answer: detail("status", 404, "Session not found.")},
	{name: "404 for a foreign session with another header", caught: "lookup.isolation", answer: func() func(*reply) {
		seen := 0
		return onAnswer("status", 404, func(r *reply) { seen++; r.header.Set("X-Seen", strconv.Itoa(seen)) })
	}()},
	{name: "403 for 401", caught: "auth.missing", answer: statusOf("status", 401, 403)},
	{name: "the two 401 mixed up", caught: "auth.invalid", answer: detail("create", 401, "Missing or malformed API key")},
	{name: "a revoked key that works", caught: "auth.revoked", answer: statusOf("detected-age", 401, 200)},
	{name: "401 for a disabled tenant", caught: "auth.disabled", answer: statusOf("create", 403, 401)},
	{name: "405 as 404", caught: "api.wrong_method", answer: func(r *reply) {
		if r.status == 405 {
			r.status = 404
		}
	}},
	{name: "404 as a page", caught: "api.unknown_path", answer: func(r *reply) {
		if r.status == 404 {
			r.body = []byte("<html>")
		}
	}},
	{name: "a 422 as text", caught: "create.age_refused", answer: detail("create", 422, "invalid")},
	{name: "a 422 with a message of its own", caught: "create.age_refused",
		answer: each(func(e map[string]any) { e["msg"] = "should be greater than 12" })},
	{name: "a 422 at another place", caught: "create.all_violations",
		answer: each(func(e map[string]any) { e["loc"] = []any{"body"} })},
	{name: "a 422 of another type", caught: "random.invalid",
		answer: each(func(e map[string]any) { e["type"] = "value_error" })},
	{name: "a 422 with the input", caught: "create.all_violations",
		answer: each(func(e map[string]any) { e["input"] = "cAnArY7f3" })},
	{name: "a 422 with the first violation only", caught: "create.all_violations",
		answer: onAnswer("create", 422, func(r *reply) {
			r.edit(func(m map[string]any) {
				if entries, ok := m["detail"].([]any); ok {
					m["detail"] = entries[:1]
				}
			})
		})},
	{name: "400 for 422", caught: "create.not_json", answer: statusOf("create", 422, 400)},
	{name: "400 for 413", caught: "create.too_large", answer: statusOf("create", 413, 400)},
	{name: "429 without Retry-After", caught: "create.test_cap",
		answer: onAnswer("create", 429, func(r *reply) { r.header.Del("Retry-After") })},
	{name: "402 without a code", caught: "create.no_credit", answer: detail("create", 402, "no credit")},
	{name: "a document without an operation", caught: "document.published", answer: func(r *reply) {
		if strings.HasPrefix(r.path, "/openapi") {
			r.body = bytes.ReplaceAll(r.body, []byte("/detected-age"), []byte("/age"))
		}
	}},
	{name: "an example that is none", caught: "document.examples", answer: func(r *reply) {
		if r.path == "/openapi.yaml" {
			r.body = bytes.ReplaceAll(r.body, []byte("status: PASSED"), []byte("status: OK"))
		}
	}},
}

var pageFaults = []fault{
	{name: "a redirect with 200", caught: "redirect.pass", answer: statusOf("page", 303, 200)},
	{name: "a redirect without is_adult", caught: "redirect.pass",
		answer: onRedirect(func(q url.Values) { q.Del("is_adult") })},
	{name: "is_adult True", caught: "redirect.pass", answer: onRedirect(func(q url.Values) { q.Set("is_adult", "True") })},
	{name: "a doubled parameter", caught: "redirect.pass",
		answer: onRedirect(func(q url.Values) { q.Add("status", "VERIFIED") })},
	{name: "a redirect with the estimate", caught: "redirect.pass",
		answer: onRedirect(func(q url.Values) { q.Set("detected_age", "31.4") })},
	{name: "an expiry that is not signed", caught: "redirect.pass",
		answer: onRedirect(func(q url.Values) { q.Set("expires", "4102444800") })},
	{name: "a token that is no token", caught: "redirect.pass",
		answer: onRedirect(func(q url.Values) { q.Set("token", "true") })},
	{name: "a token for a day", caught: "redirect.pass", answer: onRedirect(func(q url.Values) {
		_, mac, _ := strings.Cut(q.Get("token"), ".")
		q.Set("token", strconv.FormatInt(time.Now().Add(24*time.Hour).Unix(), 10)+"."+mac)
	})},
	{name: "a token whose expiry is not signed", caught: "redirect.token", answer: onRedirect(func(q url.Values) {
		expires, mac, _ := strings.Cut(q.Get("token"), ".")
		n, _ := strconv.ParseInt(expires, 10, 64) // the gateway wrote it, so it parses
		q.Set("token", strconv.FormatInt(n-1, 10)+"."+mac)
	})},
	{name: "a token with a flipped bit", caught: "redirect.token", answer: onRedirect(func(q url.Values) {
		token := []byte(q.Get("token"))
		token[20] ^= 1
		q.Set("token", string(token))
	})},
	{name: "a redirect to the registered URL", caught: "callback.own_success_url",
		answer: onAnswer("page", 303, func(r *reply) {
			r.header.Set("Location", strings.Replace(r.header.Get("Location"), "/agegate-conformance/ok", "/ok", 1))
		})},
	{name: "a redirect that drops parameters", caught: "callback.own_success_url",
		answer: onRedirect(func(q url.Values) { q.Del("order") })},
	{name: "a fallback that redirects", caught: "redirect.none", answer: func(r *reply) {
		if r.query == "force=fallback" {
			r.status = 303
			r.header.Set("Location", "https://shop.example/ok?token=x")
		}
	}},
	{name: "a fallback without a way back", caught: "callback.own_cancel_url",
		answer: onAnswer("page", 200, func(r *reply) {
			r.body = bytes.ReplaceAll(r.body, []byte("cancelled"), nil)
		})},
	{name: "force=passed is accepted", caught: "force.refused", request: func(r *http.Request) {
		r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "force=passed", "force=verified", 1)
	}},
	{name: "a refused force is 200", caught: "force.refused", answer: statusOf("page", 400, 200)},
	{name: "a live force is 200", caught: "live.session", answer: statusOf("page", 400, 200)},
	{name: "an outcome that changes", caught: "force.final", answer: func() func(*reply) {
		forced := 0
		return func(r *reply) {
			if r.is("page") && r.query != "" {
				forced++
			}
			if r.is("status") {
				r.edit(func(m map[string]any) { m["status"] = []string{"PASSED", "FALLBACK"}[forced%2] })
			}
		}
	}()},
	{name: "an outcome by chance", caught: "force.at_once", answer: func() func(*reply) {
		n := 0
		return onAnswer("status", 200, func(r *reply) {
			n++
			r.edit(func(m map[string]any) { m["status"] = []string{"PASSED", "SPOOF"}[n%2] })
		})
	}()},
	{name: "a disclosure that is ticked", caught: "consent.disclosure", answer: onAnswer("page", 200, func(r *reply) {
		r.body = bytes.ReplaceAll(r.body, []byte(`name="share"`), []byte(`name="share" checked`))
	})},
	{name: "an estimate of a forced outcome", caught: "consent.disclosure",
		answer: onAnswer("detected-age", 200, func(r *reply) {
			r.body = bytes.ReplaceAll(r.body, []byte("not_estimated"), []byte("pending"))
		})},
	{name: "the page ends the session", caught: "page.opens", request: func(r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v/") && r.URL.RawQuery == "" {
			r.URL.RawQuery = "force=verified"
		}
	}},
	{name: "EXPIRED now", caught: "expiry.lookup", answer: onAnswer("status", 200, func(r *reply) {
		r.edit(func(m map[string]any) { m["status_at"] = time.Now().UTC().Truncate(time.Microsecond) })
	})},
	{name: "never EXPIRED", caught: "expiry.lookup", answer: member("status", 200, "status", "PENDING")},
}

var (
	agePattern  = regexp.MustCompile(`"target_age":("?)(\d+)"?`)
	bracePlain  = strings.NewReplacer("%7B", "", "%7D", "")
	uuidPattern = regexp.MustCompile(`/([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})/`)
)

var requestFaults = []fault{
	{name: "the Idempotency-Key is not looked at", caught: "idempotency.replay",
		request: withoutHeader("Idempotency-Key")},
	{name: "two sessions for two at once", caught: "idempotency.at_once", request: withoutHeader("Idempotency-Key")},
	{name: "the Idempotency-Key is forgotten at the end", caught: "idempotency.after_end",
		request: withoutHeader("Idempotency-Key")},
	{name: "a bad Idempotency-Key is taken", caught: "idempotency.key_refused", request: withoutHeader("Idempotency-Key")},
	{name: "a repetition is not marked", caught: "idempotency.replay",
		answer: func(r *reply) { r.header.Del("Idempotent-Replayed") }},
	{name: "a first answer is marked", caught: "idempotency.replay",
		answer: onAnswer("create", 201, func(r *reply) { r.header.Set("Idempotent-Replayed", "true") })},
	{name: "422 for 409", caught: "idempotency.replay", answer: statusOf("create", 409, 422)},
	{name: "a refusal that uses up its key", caught: "idempotency.refusal_keeps_key", answer: func() func(*reply) {
		used := map[string]bool{}
		return onAnswer("create", 201, func(r *reply) {
			if key := r.asked.Get("Idempotency-Key"); key != "" && !used[key] {
				used[key] = true
				r.status, r.body = 409, []byte(`{"detail":"Idempotency key reused with a different request"}`)
			}
		})
	}()},
	{name: "the live mode shares its keys", caught: "live.session", answer: func() func(*reply) {
		var first []byte
		return onAnswer("create", 201, func(r *reply) {
			if r.asked.Get("Idempotency-Key") == "" {
				return
			}
			if first == nil {
				first = r.body
			}
			r.body = first
		})
	}()},
	{name: "a child of 12", caught: "create.age_refused", request: onBody(func(b string) string {
		return strings.Replace(b, `"target_age":12}`, `"target_age":13}`, 1)
	})},
	{name: "nobody is 99", caught: "create.age_accepted",
		request: onBody(func(b string) string { return strings.Replace(b, ":99}", ":100}", 1) })},
	{name: "a text is an age", caught: "create.age_refused",
		request: onBody(func(b string) string { return agePattern.ReplaceAllString(b, `"target_age":$2`) })},
	{name: "webhook_url is ignored", caught: "create.removed_field",
		request: onBody(func(b string) string { return strings.Replace(b, `,"webhook_url":null`, "", 1) })},
	{name: "unknown fields are ignored", caught: "create.unknown_field", request: onBody(func(b string) string {
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(b), &m) != nil {
			return b
		}
		delete(m, "succes_url")
		out, _ := json.Marshal(m) // it was decoded from JSON
		return string(out)
	})},
	{name: "hosts are compared by their end", caught: "callback.unregistered",
		request: onBody(func(b string) string { return strings.Replace(b, "x.shop.example", "shop.example", 1) })},
	{name: "hosts are compared by their beginning", caught: "callback.unregistered",
		request: onBody(func(b string) string {
			return regexp.MustCompile(`(https?://shop\.example)\.[^/"]*`).ReplaceAllString(b, "$1")
		})},
	{name: "hosts are compared by letters", caught: "callback.accepted",
		request: onBody(func(b string) string { return strings.Replace(b, "SHOP.EXAMPLE", "OTHER.EXAMPLE", 1) })},
	{name: "any length of callback", caught: "callback.malformed", request: onBody(func(b string) string {
		return strings.Replace(b, strings.Repeat("a", 1900), "", 1)
	})},
	{name: "2,000 characters are too long", caught: "callback.longest", request: onBody(func(b string) string {
		return strings.Replace(b, strings.Repeat("a", 1900), strings.Repeat("a", 2050), 1)
	})},
	{name: "the registered URL for an omitted one is any", caught: "callback.none_registered",
		answer: onAnswer("create", 422, func(r *reply) {
			r.body = bytes.ReplaceAll(r.body, []byte(`"missing"`), []byte(`"value_error"`))
		})},
	{name: "a UUID in braces", caught: "lookup.id_refused", request: func(r *http.Request) {
		r.URL.Path = strings.NewReplacer("{", "", "}", "").Replace(r.URL.Path)
		r.URL.RawPath = bracePlain.Replace(r.URL.RawPath)
	}},
	{name: "a UUID without dashes", caught: "random.ids",
		request: func(r *http.Request) { r.URL.Path = uuidPattern.ReplaceAllString(r.URL.Path, "/$1-$2-$3-$4-$5/") }},
	{name: "upper case is unknown", caught: "lookup.id_case", request: func(r *http.Request) {
		if r.URL.Path != strings.ToLower(r.URL.Path) {
			r.URL.Path = "/api/v1/sessions/0190c0de-0000-7000-8000-000000000001/status"
		}
	}},
	{name: "a body spoils a lookup", caught: "lookup.body_ignored", request: func(r *http.Request) {
		if r.Method == http.MethodGet && r.ContentLength > 0 {
			r.URL.Path = "/api/v1/sessions/x/status"
		}
	}},
	{name: "a key by another header", caught: "auth.header_only", request: func(r *http.Request) {
		if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			r.Header.Set("X-API-Key", key)
		}
	}},
	{name: "the request before the key", caught: "auth.first", answer: onAnswer("status", 401, func(r *reply) {
		if strings.Contains(r.path, "not-a-uuid") {
			r.status, r.body = 422, []byte(`{"detail":[{"type":"uuid_parsing","loc":["path","session_id"],"msg":"validation failed"}]}`)
		}
	})},
	{name: "queries are lost", caught: "random.valid",
		request: onBody(func(b string) string { return strings.ReplaceAll(b, "?", " ") })},
}

var webhookFaults = []fault{
	{name: "no webhook", caught: "webhook.verified", silent: true,
		delivery: func(p *post) []string { p.drop = true; return nil }},
	{name: "a flipped signature", caught: "webhook.verified", delivery: func(p *post) []string {
		s := []byte(p.header.Get("webhook-signature"))
		s[10] ^= 1
		p.header.Set("webhook-signature", string(s))
		return nil
	}},
	{name: "no signature", caught: "webhook.fallback",
		delivery: func(p *post) []string { p.header.Del("webhook-signature"); return nil }},
	{name: "a body changed after it was signed", caught: "webhook.verified",
		delivery: func(p *post) []string { p.body = append(p.body, '\n'); return nil }},
	{name: "an old timestamp", caught: "webhook.verified", delivery: func(p *post) []string {
		p.header.Set("webhook-timestamp", strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10))
		p.sign()
		return nil
	}},
	{name: "an ID of another form", caught: "webhook.verified", delivery: func(p *post) []string {
		p.header.Set("webhook-id", "1")
		p.sign()
		return nil
	}},
	{name: "livemode is flipped", caught: "webhook.verified", delivery: eventMember("livemode", true)},
	{name: "is_adult for a fallback", caught: "webhook.fallback", delivery: eventMember("is_adult", true)},
	{name: "the session's status for the result", caught: "webhook.verified", delivery: eventMember("status", "PASSED")},
	{name: "an event that leaks the estimate", caught: "webhook.verified", delivery: eventMember("detected_age", 31.4)},
	{name: "an event without a time", caught: "webhook.verified", delivery: func(p *post) []string {
		p.edit(func(m map[string]any) { delete(m, "timestamp") })
		return nil
	}},
	{name: "a new ID for each attempt", caught: "webhook.repeated", delivery: func() func(*post) []string {
		n := 0
		return func(p *post) []string {
			n++
			p.header.Set("webhook-id", "evt_0190c0de-0000-7000-8000-00000000000"+strconv.Itoa(n%10))
			p.sign()
			return nil
		}
	}()},
	{name: "two events for a completion", caught: "webhook.once",
		delivery: func(p *post) []string { p.twice = true; return nil }},
}
