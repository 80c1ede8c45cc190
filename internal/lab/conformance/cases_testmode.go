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

	LastStatusCode *int              `json:"last_status_code"`
	Event          any               `json:"event"`
	Body           string            `json:"body"`
	Headers        map[string]string `json:"headers"`
}

func (t *trial) events(query string) []listed {
	got := t.call(call{operation: listTestEvents, keys: t.test, query: query})
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
		list := t.events("?session_id=" + s.ID)
		if len(list) == 0 {
			t.fatalf("the event of a session that ended is not listed")
		}
		got := t.call(call{operation: resendTestEvent, keys: t.test, event: list[0].EventID})
		t.check(got.status == http.StatusOK, "the event is sent again with %s, want 200", got)
		if _, err := t.receiver.await(t.ctx, s.ID, n, t.WebhookWait/20); err == nil {
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
			s := t.create(t.test, `{"target_age":18}`, nil)
			t.force(s, "verified")
			got := t.events("?session_id=" + s.ID)
			if len(got) != 1 || got[0].SessionID != strings.ToLower(s.ID) {
				t.fatalf("%d events are listed of a session that passed, want its one", len(got))
			}
			header := http.Header{}
			for name, value := range got[0].Headers {
				header.Set(name, value)
			}
			t.check(header.Get("webhook-id") == got[0].EventID, "the listed webhook-id is not the event's ID")
			t.signed(delivery{header: header, body: []byte(got[0].Body), at: time.Now()})
			for _, s := range t.eventless() {
				t.check(len(t.events("?session_id="+s.ID)) == 0, "a session that sends no event has one")
			}
			t.check(slices.ContainsFunc(t.events("?after="+zeroEvent+"&session_id="+s.ID),
				func(e listed) bool { return e.EventID == got[0].EventID }), "an event is not listed after the event of zeros")
			t.check(!slices.ContainsFunc(t.events("?after="+got[0].EventID),
				func(e listed) bool { return e.EventID == got[0].EventID }), "an event is listed as after itself")
			t.expect(call{operation: listTestEvents, keys: t.test, query: "?wait=5"}, http.StatusUnprocessableEntity, "tooLong")
			for query, name := range map[string]string{"?wait=-1": "wait", "?wait=" + canary: "wait", "?wait=1.5": "wait",
				"?session_id=" + canary: "session_id", "?after=" + canary: "after"} {
				t.invalid("a list of events with a bad "+name, call{operation: listTestEvents, keys: t.test, query: query},
					at("", "query", name))
			}
		},
	},
	{
		Name: "testmode.resend", Title: "Only events of the tenant's test sessions are sent again",
		Cites: []string{"openapi.yaml resendTestEvent"},
		run: func(t *trial) {
			t.expect(call{operation: resendTestEvent, keys: t.test, event: noEvent}, http.StatusNotFound, "noEvent")
			t.expect(call{operation: resendTestEvent, keys: t.test, event: canary}, http.StatusUnprocessableEntity, "noID")
		},
	},
	{
		Name: "testmode.resent", Title: "An event that is sent again has the same webhook-id and body",
		needs: []need{needWebhooks}, sessions: 1,
		Cites: []string{"openapi.yaml resendTestEvent", "openapi.yaml Webhooks"},
		run: func(t *trial) {
			s := t.create(t.test, `{"target_age":18}`, nil)
			t.force(s, "verified")
			if _, err := t.receiver.await(t.ctx, s.ID, 1, t.WebhookWait); err != nil {
				t.fatalf("no delivery for the session comes within %s", t.WebhookWait)
			}
			all := t.resend(s, 2)
			if !t.check(len(all) >= 2, "the event is not sent again within %s", t.WebhookWait) {
				return
			}
			t.check(all[0].header.Get("webhook-id") == all[1].header.Get("webhook-id") &&
				string(all[0].body) == string(all[1].body), "it is sent again with another webhook-id or body")
			t.receiver.refuseFirst(s.ID, http.StatusInternalServerError)
			all = t.resend(s, len(all)+1)
			_, err := t.receiver.await(t.ctx, s.ID, len(all)+1, t.WebhookWait)
			t.check(err == nil, "an event that was sent again, and refused, is not repeated within %s", t.WebhookWait)
		},
	},
	{
		Name: "testmode.clock", Title: "The test clock lets an open session expire, and no other", sessions: 1,
		Cites: []string{"openapi.yaml moveTestClock"},
		run: func(t *trial) {
			s := t.create(t.test, `{"target_age":18}`, nil)
			clock := call{operation: moveTestClock, keys: t.test, session: s.ID, body: `{"expire":"redirect"}`}
			t.check(t.call(clock).status == http.StatusOK, "the next redirect of an open session cannot expire")
			clock.body = `{"expire":"session"}`
			t.check(t.call(clock).status == http.StatusOK, "an open session cannot expire")
			status, _ := t.status(t.test, s.ID)
			t.check(status == "EXPIRED", "a session that expired is %s", status)
			t.expect(clock, http.StatusConflict, "ended")
			clock.session = nobody
			t.expect(clock, http.StatusNotFound, "notFound")
			clock.session, clock.body = s.ID, `{}`
			t.expect(clock, http.StatusUnprocessableEntity, "nothing")
			clock.body = `{"expire":"session","more":1}`
			t.invalid("an unknown member", clock, at("extra_forbidden", "body", "more"))
			clock.body = `{"expire":"Session"}`
			t.invalid("Session", clock, at("literal_error", "body", "expire"))
			clock.body = `{"expire":"` + strings.Repeat("a", 64<<10) + `"}`
			t.expect(clock, http.StatusRequestEntityTooLarge, "tooLarge")
		},
	},
	{
		Name: "testmode.isolation", Title: "Another tenant's test key sees and changes nothing", needs: []need{needOther},
		Cites: []string{"SPEC 5 rule 3", "openapi.yaml listTestEvents"},
		run: func(t *trial) {
			other := []string{t.OtherKey}
			s := t.forced("verified")
			for _, query := range []string{"", "?session_id=" + s.ID, "?after=" + zeroEvent} {
				got := t.call(call{operation: listTestEvents, keys: other, query: query})
				t.check(got.status == http.StatusOK && !strings.Contains(string(got.body), s.ID),
					"another tenant's key lists the event")
			}
			for _, e := range t.events("?session_id=" + s.ID) {
				t.expect(call{operation: resendTestEvent, keys: other, event: e.EventID}, http.StatusNotFound, "noEvent")
			}
			t.expect(call{operation: moveTestClock, keys: other, session: t.pending().ID, body: `{"expire":"session"}`},
				http.StatusNotFound, "notFound")
		},
	},
	{
		Name: "testmode.live_key", Title: "A live key is refused by the operations of the test mode", needs: []need{needLive},
		Cites: []string{"openapi.yaml TestKeyNeeded"},
		run: func(t *trial) {
			for _, c := range operations[3:] {
				c.keys = []string{t.LiveKey}
				t.expect(c, http.StatusForbidden, "liveKey")
			}
		},
	},
}
