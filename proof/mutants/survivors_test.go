package mutants

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const idempotencyKey = "Idempotency-Key"

// onKey changes the Idempotency-Key before the gateway sees it.
func onKey(change func(string) string) func(*http.Request) {
	return func(r *http.Request) {
		if key := r.Header.Get(idempotencyKey); key != "" {
			r.Header.Set(idempotencyKey, change(key))
		}
	}
}

// sharedKeys answers an Idempotency-Key with the answer to its first request, for
// all tenants.
func sharedKeys() func(*reply) {
	first := map[string][]byte{}
	return onAnswer("create", http.StatusCreated, func(r *reply) {
		key := r.asked.Get(idempotencyKey)
		if body, ok := first[key]; ok && key != "" {
			r.body = body
			r.header.Set("Idempotent-Replayed", "true")
			return
		}
		first[key] = r.body
	})
}

// oneMore lets one creation pass that should be refused with a status.
func oneMore(status int) func(*reply) {
	var mu sync.Mutex
	var last *reply
	return func(r *reply) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !r.is("create"):
		case r.status == http.StatusCreated:
			made := *r
			last = &made
		case r.status == status && last != nil:
			r.status, r.body = http.StatusCreated, last.body
			r.header.Del("Retry-After")
		}
	}
}

// refused refuses the creations selected by choose as if no session were left.
func refused(status int, detail string, choose func(*reply) bool) func(*reply) {
	return onAnswer("create", http.StatusCreated, func(r *reply) {
		if choose(r) {
			r.status, r.body = status, []byte(`{"detail":`+detail+`}`)
			r.header.Set("Retry-After", "60")
		}
	})
}

func replayed(r *reply) bool { return r.header.Get("Idempotent-Replayed") == "true" }

// ofCase reports whether an answer is for a creation of a case, which has an
// idempotency key.
func ofCase(r *reply) bool { return r.asked.Get(idempotencyKey) != "" }

const (
	capText    = `"Test session daily cap reached"`
	creditText = `{"code":"insufficient_credit","message":"Top up."}`
)

// survivors are faults that an earlier version of the suite did not find.
func survivors() []fault {
	return []fault{
		{name: "two tenants share a key", caught: "idempotency.tenants", answer: sharedKeys()},
		{name: "an expired session passes before it is looked up", caught: "expiry.lookup",
			answer: func() func(*reply) {
				looked := false
				return func(r *reply) {
					looked = looked || r.is("status")
					if r.is("page") && r.query == "force=verified" && !looked {
						r.status = http.StatusSeeOther
						r.header.Set("Location", "https://shop.example/ok?token=x")
					}
				}
			}()},
		{name: "a repetition counts as a test session", caught: "create.last_test",
			answer: refused(http.StatusTooManyRequests, capText, replayed)},
		{name: "a repetition is charged", caught: "create.last_unit",
			answer: refused(http.StatusPaymentRequired, creditText, replayed)},
		{name: "one test session more than the cap", caught: "create.last_test", answer: oneMore(http.StatusTooManyRequests)},
		{name: "one test session less than the cap", caught: "create.last_test",
			answer: refused(http.StatusTooManyRequests, capText, ofCase)},
		{name: "one unit more than there is", caught: "create.last_unit", answer: oneMore(http.StatusPaymentRequired)},
		{name: "one unit less than there is", caught: "create.last_unit",
			answer: refused(http.StatusPaymentRequired, creditText, ofCase)},
		{name: "another success_url under the same key", caught: "idempotency.replay",
			request: onBody(without("success_url"))},
		{name: "another cancel_url under the same key", caught: "idempotency.replay", request: onBody(without("cancel_url"))},
		{name: "keys are compared by letters", caught: "idempotency.replay", request: onKey(strings.ToLower)},
		{name: "the webhook's host is no callback", caught: "callback.webhook_host", request: onBody(func(b string) string {
			return strings.Replace(b, "127.0.0.1", "127.0.0.9", 1)
		})},
		{name: "a repetition keeps the first timestamp", caught: "webhook.repeated", delivery: func() func(*post) []string {
			first := ""
			return func(p *post) []string {
				if first == "" {
					first = p.header.Get("webhook-timestamp")
				}
				p.header.Set("webhook-timestamp", first)
				p.sign()
				return nil
			}
		}()},
		{name: "a redirect counts as delivered", caught: "webhook.redirected", brief: true, answered: func(status int) int {
			if status/100 == 3 {
				return http.StatusNoContent
			}
			return status
		}},
		{name: "a redirect of a webhook is followed", caught: "webhook.redirected", follows: true},
		{name: "a token lives a second", caught: "redirect.pass", answer: onRedirect(func(q url.Values) {
			_, mac, _ := strings.Cut(q.Get("token"), ".")
			q.Set("token", strconv.FormatInt(time.Now().Unix()+1, 10)+"."+mac)
		})},
		{name: "Retry-After is a second", caught: "create.test_cap",
			answer: onAnswer("create", 429, func(r *reply) { r.header.Set("Retry-After", "1") })},
		{name: "duplicate members are taken", caught: "create.not_json", request: onBody(func(b string) string {
			return strings.Replace(b, `{"target_age":18,"target_age":18}`, `{"target_age":18}`, 1)
		})},
		{name: "a key with a suffix is accepted", caught: "auth.invalid", request: func(r *http.Request) {
			key, _, _ := strings.Cut(r.Header.Get("X-API-Key"), ",")
			r.Header.Set("X-API-Key", key)
		}},
		{name: "a key with padding is accepted", caught: "auth.invalid", request: func(r *http.Request) {
			r.Header.Set("X-API-Key", strings.TrimRight(r.Header.Get("X-API-Key"), "="))
		}},

		{name: "links are compared by letters", caught: "page.unknown", answer: unknownPage(strings.ToLower)},
		{name: "links are compared by their beginning", caught: "page.unknown",
			answer: unknownPage(func(link string) string { return link[:min(len(link), 35)] })},
		{name: "a pass is minted for everybody", caught: "redirect.other_browser", answer: func() func(*reply) {
			to := ""
			return func(r *reply) {
				switch {
				case r.is("page") && r.status == http.StatusSeeOther:
					to = r.header.Get("Location")
				case r.is("page") && r.status == http.StatusOK && to != "":
					r.status = http.StatusSeeOther
					r.header.Set("Location", to)
				}
			}
		}()},
		{name: "the port of the scheme is another host", caught: "callback.accepted",
			request: onBody(func(b string) string { return strings.Replace(b, "shop.example:443", "shop.example:444", 1) })},
		{name: "schemes are not compared", caught: "callback.unregistered", request: onBody(func(b string) string {
			return strings.Replace(b, `"http://shop.example/"`, `"https://shop.example/"`, 1)
		})},
		{name: "a dot behind the host is ignored", caught: "callback.unregistered",
			request: onBody(func(b string) string { return strings.Replace(b, "shop.example./", "shop.example/", 1) })},
		{name: "a refusal forgets the key", caught: "idempotency.replay", request: func() func(*http.Request) {
			bodies := map[string]string{}
			var mu sync.Mutex
			return func(r *http.Request) {
				body := ""
				onBody(func(b string) string { body = b; return b })(r)
				mu.Lock()
				defer mu.Unlock()
				key := r.Header.Get(idempotencyKey)
				if first, ok := bodies[key]; key != "" && ok && first != body && strings.Contains(body, "cancel_url") {
					bodies[key] = "forgotten"
				} else if !ok {
					bodies[key] = body
				} else if first == "forgotten" {
					r.Header.Set(idempotencyKey, key+"-again")
				}
			}
		}()},
		statusLate(),
		{name: "a pass on the page of a spoof", caught: "status.spoof", answer: func(r *reply) {
			if r.is("page") && r.query == "force=spoof" {
				r.body = append(r.body, `<a href="https://shop.example/ok?status=VERIFIED&amp;token=1.x">On</a>`...)
			}
		}},
		{name: "a session for a week", caught: "create.created",
			answer: member("create", 201, "expires_at", time.Now().Add(7*24*time.Hour).UTC().Truncate(time.Second))},
		{name: "the event's time is that of its sending", caught: "webhook.verified", delivery: func(p *post) []string {
			p.edit(func(m map[string]any) {
				at, err := time.Parse(time.RFC3339, fmt.Sprint(m["timestamp"]))
				if err == nil {
					m["timestamp"] = at.Add(time.Millisecond)
				}
			})
			return nil
		}},
		{name: "the event's session in upper case", caught: "webhook.verified", delivery: func(p *post) []string {
			p.edit(func(m map[string]any) { m["session_id"] = strings.ToUpper(fmt.Sprint(m["session_id"])) })
			return nil
		}},
		{name: "the client's X-Request-ID is taken", caught: "create.request_id", answer: func() func(*reply) {
			n := 0
			return func(r *reply) {
				if id := r.asked.Get("X-Request-ID"); id != "" {
					n++
					r.header.Set("X-Request-ID", id+strconv.Itoa(n))
				}
			}
		}()},
		{name: "any character set", caught: "create.not_json", request: func(r *http.Request) {
			kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
			r.Header.Set("Content-Type", kind)
		}},
		{name: "keys are cut off", caught: "idempotency.long",
			request: onKey(func(key string) string { return key[:min(len(key), 200)] })},
		{name: "opening the page moves status_at", caught: "page.opens", answer: func() func(*reply) {
			opened := false
			return func(r *reply) {
				opened = opened || r.is("page")
				if r.is("status") && opened {
					r.edit(func(m map[string]any) { m["status_at"] = time.Now().Add(time.Minute).UTC().Truncate(time.Microsecond) })
				}
			}
		}()},
	}
}

var testModeFaults = []fault{
	{name: "an event is not listed", caught: "testmode.events", answer: member("events", 200, "events", []any{})},
	{name: "an event that is missing in other words", caught: "testmode.resend",
		answer: detail("resend", 404, "Session not found")},
	{name: "a new ID when sent again", caught: "testmode.resent", delivery: func() func(*post) []string {
		n := 0
		return func(p *post) []string {
			n++
			p.header.Set("webhook-id", "evt_0190c0de-0000-7000-8000-00000000000"+strconv.Itoa(n%10))
			p.sign()
			return nil
		}
	}()},
	{name: "a session that ended expires", caught: "testmode.clock", answer: statusOf("clock", 409, 200)},
	{name: "a tenant's events for all", caught: "testmode.isolation", answer: func() func(*reply) {
		return func(r *reply) {
			if _, id, ok := strings.Cut(r.query, "session_id="); ok && r.is("events") && r.status == http.StatusOK {
				r.body = []byte(`{"events":[{"session_id":"` + id + `"}]}`)
			}
		}
	}()},
	{name: "a live key in the test mode", caught: "testmode.live_key", answer: statusOf("clock", 403, 200)},
}

// statusLate says for a while after a session was forced that it is open.
func statusLate() fault {
	var mu sync.Mutex
	ids, ended := map[string]string{}, map[string]time.Time{} // by path of the page, and by ID
	late := fault{name: "the event is sent before the status changes", caught: "webhook.settled"}
	late.request = func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if id := ids[r.URL.Path]; id != "" {
			ended[id] = time.Now()
		}
	}
	late.answer = func(r *reply) {
		mu.Lock()
		defer mu.Unlock()
		page, session := r.created()
		switch {
		case page != "":
			ids[page] = fmt.Sprint(session["session_id"])
		case r.is("status") && time.Since(ended[strings.Split(r.path, "/")[4]]) < 2*time.Second:
			r.edit(func(m map[string]any) { m["status"] = "PENDING" })
		}
	}
	return late
}

// without removes a member of a body.
func without(name string) func(string) string {
	return func(b string) string {
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(b), &m) != nil {
			return b
		}
		delete(m, name)
		out, _ := json.Marshal(m) // it was decoded from JSON
		return string(out)
	}
}

// unknownPage opens pages whose link equals a known link after compare has
// changed both.
func unknownPage(compare func(string) string) func(*reply) {
	known := map[string]bool{}
	return func(r *reply) {
		if page, _ := r.created(); page != "" {
			known[compare(page)] = true
		}
		if r.is("page") && r.status == http.StatusNotFound && known[compare(r.path)] {
			r.status = http.StatusOK
		}
	}
}
