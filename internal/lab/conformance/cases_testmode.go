package conformance

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
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

// eventless returns sessions that have no event: an open one, and a spoof where there
// are any.
func (t *trial) eventless() []*session {
	none := []*session{t.pending()}
	if slices.Contains(t.outcomes(), "spoof") {
		none = append(none, t.forced("spoof"))
	}
	return none
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
			for _, s := range t.eventless() {
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
}
