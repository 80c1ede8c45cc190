package conformance

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"agegate/internal/lab/suite"
)

// listed is an event as the test mode lists it.
type listed struct {
	EventID   string    `json:"event_id"`
	SessionID string    `json:"session_id"`
	CreatedAt time.Time `json:"created_at"`
	Delivery  string    `json:"delivery"`
	Attempts  int       `json:"attempts"`
	LastClass string    `json:"last_class"`

	LastStatusCode int               `json:"last_status_code"` // 0 for null
	Event          any               `json:"event"`
	Body           string            `json:"body"`
	Headers        map[string]string `json:"headers"`
}

func (t *trial) events(query string) []listed {
	got := t.call(call{operation: listTestEvents, query: query})
	var out struct{ Events []listed }
	if err := json.Unmarshal(got.body, &out); err != nil || got.status != http.StatusOK {
		t.fatalf("the list of test events answers %s, want 200", got)
	}
	for _, e := range out.Events {
		var sent any
		err := json.Unmarshal([]byte(e.Body), &sent)
		t.check(err == nil && reflect.DeepEqual(sent, e.Event), "an event is not what its body says")
	}
	return out.Events
}

// eventOf returns the event of a session that passed, or ends the case if it has not one.
func (t *trial) eventOf(s *session) listed {
	list := t.events("?session_id=" + s.ID)
	if len(list) != 1 {
		t.fatalf("%d events are listed of a session that passed, want its one", len(list))
	}
	return list[0]
}

// resend sends the event of a session again until n deliveries have come: nothing changes
// while an attempt is under way.
func (t *trial) resend(s *session, n int) []delivery {
	for range 20 {
		t.must(call{operation: resendTestEvent, event: t.eventOf(s).EventID}, http.StatusOK, "")
		if len(t.receiver.await(t.ctx, s.ID, n, t.WebhookWait/20)) >= n {
			break
		}
	}
	return t.receiver.of(s.ID)
}

// zeroEvent comes before all events.
const zeroEvent = "evt_00000000-0000-0000-0000-000000000000"

var testModeCases = []testCase{
	{
		Name: "testmode.events", Title: "A test key lists the events of its test sessions, signed as they are delivered",
		Cites: []string{"openapi.yaml listTestEvents"}, sessions: 1,
		run: func(t *trial) {
			s := t.passed()
			e, header := t.eventOf(s), http.Header{}
			for name, value := range e.Headers {
				header.Set(name, value)
			}
			t.check(e.SessionID == strings.ToLower(s.ID), "the listed event is of another session")
			t.check(header.Get("webhook-id") == e.EventID, "the listed webhook-id is not the event's ID")
			t.signed(delivery{header: header, body: []byte(e.Body), at: time.Now()})
			eventless := []*session{t.pending()}
			if slices.Contains(t.outcomes(), "spoof") {
				eventless = append(eventless, t.forced("spoof"))
			}
			for _, s := range eventless {
				t.check(len(t.events("?session_id="+s.ID)) == 0, "a session that sends no event has one")
			}
			same := func(other listed) bool { return other.EventID == e.EventID }
			t.check(slices.ContainsFunc(t.events("?after="+zeroEvent+"&session_id="+s.ID), same),
				"an event is not listed after the event of zeros")
			t.check(!slices.ContainsFunc(t.events("?after="+e.EventID), same), "an event is listed as after itself")
			t.expect(call{operation: listTestEvents, query: "?wait=5"}, "422 tooLong")
			for query, name := range map[string]string{"?wait=-1": "wait", "?wait=" + canary: "wait", "?wait=1.5": "wait",
				"?session_id=" + canary: "session_id", "?after=" + canary: "after"} {
				t.invalid(call{operation: listTestEvents, query: query}, at("", "query", name))
			}
		},
	},
	{
		Name: "testmode.resend", Title: "Only events of the tenant's test sessions are sent again",
		Cites: []string{"openapi.yaml resendTestEvent"},
		run: func(t *trial) {
			t.expect(call{operation: resendTestEvent, event: noEvent}, "404 noEvent")
			t.expect(call{operation: resendTestEvent, event: canary}, "422 noID")
		},
	},
	{
		Name: "testmode.resent", Title: "An event that is sent again has the same webhook-id and body",
		needs: []*need{needWebhooks}, sessions: 1,
		Cites: []string{"openapi.yaml resendTestEvent", "openapi.yaml Webhooks"},
		run: func(t *trial) {
			s := t.passed()
			t.delivered(s, 1)
			all := t.resend(s, 2)
			if !t.check(len(all) >= 2, "the event is not sent again within %s", t.WebhookWait) {
				return
			}
			t.check(all[0].header.Get("webhook-id") == all[1].header.Get("webhook-id") &&
				string(all[0].body) == string(all[1].body), "it is sent again with another webhook-id or body")
			t.receiver.treatFirst(s.ID, manner{status: http.StatusInternalServerError})
			all = t.resend(s, len(all)+1)
			got := t.receiver.await(t.ctx, s.ID, len(all)+1, t.WebhookWait)
			t.check(len(got) > len(all), "an event that was sent again, and refused, is not repeated within %s", t.WebhookWait)
		},
	},
	{
		Name: "testmode.clock", Title: "The test clock lets an open session expire, and no other", sessions: 1,
		Cites: []string{"openapi.yaml moveTestClock"},
		run: func(t *trial) {
			s := t.fresh()
			t.must(clock(s.ID, "redirect"), http.StatusOK, "of an open session, ")
			t.expire(s)
			t.is("EXPIRED", s, "after a move of the clock")
			t.expect(clock(s.ID, "session"), "409 ended")
			t.expect(clock(nobody, "session"), "404 notFound")
			t.invalid(clock(s.ID, "Session"), at("literal_error", "body", "expire"))
			t.expect(clock(s.ID, strings.Repeat("a", 64<<10)), "413 tooLarge")
			bad := call{operation: moveTestClock, session: s.ID, body: `{}`}
			t.expect(bad, "422 nothing")
			bad.body = `{"expire":"session","more":1}`
			t.invalid(bad, at("extra_forbidden", "body", "more"))
		},
	},
	{
		Name: "testmode.isolation", Title: "Another tenant's test key sees and changes nothing", needs: []*need{needOther},
		Cites: []string{"SPEC 5 rule 3", "openapi.yaml listTestEvents"},
		run: func(t *trial) {
			s := t.forced("verified")
			for _, query := range []string{"", "?session_id=" + s.ID, "?after=" + zeroEvent} {
				got := t.must(call{operation: listTestEvents, query: query}.by(t.OtherKey), http.StatusOK, "")
				t.check(!strings.Contains(string(got.body), s.ID), "another tenant's key lists the event")
			}
			for _, e := range t.events("?session_id=" + s.ID) {
				t.expect(call{operation: resendTestEvent, event: e.EventID}.by(t.OtherKey), "404 noEvent")
			}
			t.expect(clock(t.pending().ID, "session").by(t.OtherKey), "404 notFound")
		},
	},
	{
		Name: "testmode.live_key", Title: "A live key is refused by the operations of the test mode",
		needs: []*need{needLive},
		Cites: []string{"openapi.yaml TestKeyNeeded"},
		run: func(t *trial) {
			for _, c := range operations[3:] {
				t.expect(c.by(t.LiveKey), "403 liveKey")
			}
		},
	},
	{
		Name: "testmode.behind", Title: "A client that is more than 50 events behind misses none", sessions: listLimit + 2,
		Cites: []string{"openapi.yaml listTestEvents"},
		run: func(t *trial) {
			t.passed()
			cursor := t.events("")[0].EventID
			var want, got []string
			for range listLimit + 1 {
				want = append(want, t.passed().ID)
			}
			for range 3 {
				page := t.events("?after=" + cursor)
				t.check(len(page) <= listLimit, "%d events are listed at once, want at most %d", len(page), listLimit)
				for _, e := range page {
					cursor = e.EventID
					if slices.Contains(want, e.SessionID) {
						got = append(got, e.SessionID)
					}
				}
			}
			t.check(slices.Equal(got, want), "of %d events %d are listed after one another, or in another order", len(want),
				len(got))
		},
	},
	{
		Name: "testmode.wait", Title: "wait without after answers at once where there is an event, and waits where " +
			"there is none",
		Cites: []string{"openapi.yaml listTestEvents"},
		run: func(t *trial) {
			for _, tt := range []struct {
				s     *session
				waits bool
			}{{t.forced("verified"), false}, {t.pending(), true}} {
				asked := time.Now()
				n := len(t.events("?wait=3&session_id=" + tt.s.ID))
				took := time.Since(asked)
				t.check(n == map[bool]int{true: 0, false: 1}[tt.waits] && (took > 2*time.Second) == tt.waits,
					"%d events are listed after %s", n, took.Round(time.Millisecond))
			}
		},
	},
	{
		Name: "testmode.signed_now", Title: "A listed event is signed anew whenever it is listed, and was stored at " +
			"the completion",
		Cites: []string{"openapi.yaml listTestEvents", "openapi.yaml TestEventHeaders"},
		run: func(t *trial) {
			s := t.forced("verified")
			for range 2 {
				asked, e := t.now(), t.eventOf(s)
				t.check(apart(unix(e.Headers["webhook-timestamp"]), asked) < nearTolerance,
					"an event that is listed now has the webhook-timestamp of another time")
				_, at := t.status(s.ID)
				t.check(apart(e.CreatedAt, at) < nearTolerance, "created_at of the event is not the completion")
				if left := nearTolerance + 2*time.Second - t.now().Sub(at); left > 0 {
					t.pause(left)
				}
			}
		},
	},
	{
		Name: "testmode.no_destination", Title: "An event of a session that was made without a Webhook URL is not sent " +
			"again: 409",
		needs: []*need{needBare}, sessions: 1,
		Cites: []string{"openapi.yaml resendTestEvent 409", "openapi.yaml DeliveryStatus"},
		run: func(t *trial) {
			own := t.test
			defer func() { t.test = own }()
			back := creationTo("cancel_url", t.callback("/agegate-conformance/back"))
			t.test = []string{t.BareKey}
			s, ok := t.call(back).created(back)
			if !ok {
				t.endf(suite.Skipped, "needs the tenant without a Cancel URL to have a URL on the same host")
			}
			t.force(s, "verified")
			list := t.events("?session_id=" + s.ID)
			if len(list) != 1 || list[0].Delivery != "no_destination" {
				t.endf(suite.Skipped, "needs the tenant without a Cancel URL to have no Webhook URL either")
			}
			t.expect(call{operation: resendTestEvent, event: list[0].EventID}, "409 noDestination")
		},
	},
	{
		Name: "testmode.clock_document", Title: "The test clock lets a session expire whose document check is open",
		sessions: 1,
		Cites:    []string{"SPEC 3", "openapi.yaml moveTestClock"},
		run: func(t *trial) {
			s := t.fresh()
			t.offer(s)
			t.expire(s)
			t.isPage(t.reopen(s, "?force=verified"), http.StatusGone)
			t.is("EXPIRED", s, "after force")
			t.check(len(t.events("?session_id="+s.ID)) == 0, "the expired session has an event")
		},
	},
	{
		Name: "testmode.clock_exact", Title: "A session that the test clock ends is EXPIRED since then, and no redirect of " +
			"a session without one can expire", sessions: 1,
		Cites: []string{"SPEC 2.4", "openapi.yaml moveTestClock", "openapi.yaml moveTestClock 409"},
		run: func(t *trial) {
			s := t.fresh()
			asked := t.now()
			t.expire(s)
			t.pause(nearTolerance + 2*time.Second) // the time of the first lookup is another
			at := t.is("EXPIRED", s, "after a move of the clock")
			t.check(apart(at, asked) < nearTolerance, "the session is EXPIRED since %s, want since now", at)
			ended := []*session{s}
			for _, outcome := range t.outcomes() {
				if outcome != "verified" {
					ended = append(ended, t.forced(outcome))
				}
			}
			for _, s := range ended {
				t.must(clock(s.ID, "redirect"), http.StatusConflict, "of a session without a redirect, ")
			}
		},
	},
	{
		Name: "testmode.clock_redirect", Title: "The test clock gives an expired token to the next redirect, and to no other",
		sessions: 1, Cites: []string{"openapi.yaml moveTestClock"},
		run: func(t *trial) {
			s := t.fresh()
			t.must(clock(s.ID, "redirect"), http.StatusOK, "of an open session, ")
			t.is("PENDING", s, "after its next redirect was let expire")
			t.force(s, "verified")
			t.check(t.life(s) < 0, "the token of the redirect that should be expired lives for %s", t.life(s))
			s.page = t.reopen(s, "")
			t.check(t.life(s) > 0, "the token of the redirect after it has expired, too")
		},
	},
	{
		Name: "testmode.clock_ended", Title: "The test clock lets no session expire that has ended, whatever its outcome",
		Cites: []string{"openapi.yaml moveTestClock"},
		run: func(t *trial) {
			for _, outcome := range t.outcomes() {
				s := t.forced(outcome)
				t.expect(clock(s.ID, "session"), "409 ended")
				t.is(forcedStatus[outcome], s, "after a move of the clock")
			}
		},
	},
	{
		Name: "testmode.order", Title: "Events after another are listed as they were stored, and wait waits", sessions: 3,
		Cites: []string{"openapi.yaml listTestEvents"},
		run: func(t *trial) {
			first := t.passed()
			ids := []string{first.ID, t.passed().ID, t.passed().ID}
			var inOrder []string
			begin := t.eventOf(first).EventID
			last := begin
			for _, e := range t.events("?after=" + begin) {
				if slices.Contains(ids, e.SessionID) {
					inOrder, last = append(inOrder, e.SessionID), e.EventID
				}
			}
			t.check(slices.Equal(inOrder, ids[1:]), "the events of two sessions are not listed in their order")
			alone := t.events("?after=" + begin + "&session_id=" + ids[2])
			t.check(len(alone) == 1 && alone[0].SessionID == ids[2], "%d events of a session are listed after an earlier one, "+
				"want its one", len(alone))
			all := t.events("")
			newest := slices.IndexFunc(all, func(e listed) bool { return e.SessionID == ids[2] })
			older := slices.IndexFunc(all, func(e listed) bool { return e.SessionID == ids[0] })
			t.check(newest >= 0 && newest < older, "the newest event is not listed first")
			asked := time.Now()
			t.events("?after=" + last + "&session_id=" + ids[0] + "&wait=1")
			t.check(time.Since(asked) > 900*time.Millisecond, "wait=1 is answered after %s without an event",
				time.Since(asked).Round(time.Millisecond))
		},
	},
}

// listLimit is the maximum number of events in one answer of the test mode.
const listLimit = 50
