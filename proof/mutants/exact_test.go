package mutants

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// exactFaults are faults of bytes, orders and times.
func exactFaults() []fault {
	return []fault{
		{name: "a query that is written again", caught: "callback.raw_query", answer: onRedirect(func(url.Values) {})},
		{name: "an escaped token is kept", caught: "callback.raw_query", answer: onLocation(func(to string) string {
			return strings.Replace(to, "z=1", "%74oken=old&z=1", 1)
		})},
		{name: "an empty value is dropped", caught: "callback.raw_query", answer: onLocation(func(to string) string {
			return strings.Replace(to, "&e=", "", 1)
		})},
		{name: "a plus becomes a space", caught: "callback.raw_query", answer: onLocation(func(to string) string {
			return strings.Replace(to, "b+c", "b%20c", 1)
		})},
		{name: "escapes in capitals", caught: "callback.raw_query", answer: onLocation(func(to string) string {
			return strings.Replace(to, "%2f", "%2F", 1)
		})},
		{name: "an expiry for all", caught: "create.lifetime", answer: frozen("create", "expires_at")},
		{name: "a status_at for all", caught: "create.lifetime", answer: frozen("status", "status_at")},
		{name: "a token that lives from the creation", caught: "redirect.lifetime", answer: func() func(*reply) {
			made := map[string]time.Time{}
			return func(r *reply) {
				if r.is("create") && r.status == http.StatusCreated {
					r.edit(func(m map[string]any) { made[fmt.Sprint(m["session_id"])] = time.Now() })
				}
				onRedirect(func(q url.Values) {
					_, mac, _ := strings.Cut(q.Get("token"), ".")
					q.Set("token", strconv.FormatInt(made[q.Get("session")].Add(10*time.Minute).Unix(), 10)+"."+mac)
				})(r)
			}
		}()},
		{name: "the clock leaves the redirect", caught: "testmode.clock_redirect", answer: expiring(10*time.Minute, false)},
		{name: "the clock expires every redirect", caught: "testmode.clock_redirect", answer: expiring(-time.Minute, true)},
		{name: "the clock of a session that ended answers 200", caught: "testmode.clock_ended",
			answer: statusOf("clock", 409, 200)},
		{name: "the clock makes an ended session expire", caught: "testmode.clock_ended", answer: func() func(*reply) {
			moved := false
			return func(r *reply) {
				moved = moved || r.is("clock")
				if r.is("status") && moved {
					r.edit(func(m map[string]any) { m["status"] = "EXPIRED" })
				}
			}
		}()},
		{name: "events after another, newest first", caught: "testmode.order",
			answer: onAnswer("events", 200, func(r *reply) {
				var list struct {
					Events []json.RawMessage `json:"events"`
				}
				if strings.Contains(r.query, "after=") && json.Unmarshal(r.body, &list) == nil {
					slices.Reverse(list.Events)
					r.body, _ = json.Marshal(list) // it was decoded from JSON
				}
			})},
		{name: "wait does not wait", caught: "testmode.order", request: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "&wait=1", "", 1)
		}},
	}
}

// frozen gives every answer of an operation the first one's value of a member.
func frozen(what, member string) func(*reply) {
	var first any
	return func(r *reply) {
		if r.is(what) && r.status/100 == 2 {
			r.edit(func(m map[string]any) {
				if first == nil {
					first = m[member]
				}
				m[member] = first
			})
		}
	}
}

// onLocation changes the bytes of a redirect's address.
func onLocation(change func(string) string) func(*reply) {
	return onAnswer("page", http.StatusSeeOther, func(r *reply) {
		r.header.Set("Location", change(r.header.Get("Location")))
	})
}

// expiring gives the first redirect, or also the later ones, a token that expires
// after a time.
func expiring(after time.Duration, later bool) func(*reply) {
	n := 0
	return onRedirect(func(q url.Values) {
		if n++; n > 1 && !later {
			return
		}
		_, mac, _ := strings.Cut(q.Get("token"), ".")
		q.Set("token", strconv.FormatInt(time.Now().Add(after).Unix(), 10)+"."+mac)
	})
}
