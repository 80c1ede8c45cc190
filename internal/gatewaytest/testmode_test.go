package gatewaytest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/lab/verify"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	eventsPath = "/api/v1/test/events"
	noEvent    = "evt_00000000-0000-0000-0000-000000000000"
)

type testEvent struct {
	EventID   string            `json:"event_id"`
	SessionID string            `json:"session_id"`
	Delivery  string            `json:"delivery"`
	LastClass *string           `json:"last_class"`
	Body      string            `json:"body"`
	Headers   map[string]string `json:"headers"`
}

func testEvents(t *testing.T, g *gatewaytest.Gateway, key, query string) []testEvent {
	t.Helper()
	var out struct{ Events []testEvent }
	if err := json.Unmarshal([]byte(g.Do(t,
		gatewaytest.Row{Name: "events" + query, Path: eventsPath + query, Key: key, Status: 200})), &out); err != nil {
		t.Fatal(err)
	}
	return out.Events
}

// TestTestModeOperations: a test key can list the events of test sessions, wait
// for them, send them again, and move the test clock. Live keys and other tenants
// get nothing.
func TestTestModeOperations(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		shop, bare, other := g.Shop(t, receiver.URL, nil), g.Shop(t, "", nil), g.Shop(t, receiver.URL, nil)
		key := shop.Test.APIKey
		if got := testEvents(t, g, key, ""); len(got) != 0 {
			t.Errorf("a new tenant has the events %+v", got)
		}
		first := g.Create(t, key, 18)
		g.Force(t, gatewaytest.Browser(), first, "verified")
		receiver.Wait(t, 1)
		live := g.Create(t, shop.Live.APIKey, 18)
		events := testEvents(t, g, key, "?session_id="+strings.ToUpper(first.SessionID))
		if len(events) != 1 || events[0].SessionID != first.SessionID {
			t.Fatalf("the events are %+v", events)
		}
		event := events[0]
		verifies(t, shop.Test.WebhookSecret, event)

		// Waits for later events: it gets one that comes later, and none of a
		// live session.
		var awaited []testEvent
		var done sync.WaitGroup
		done.Go(func() {
			for n := 0; n < 30 && len(awaited) == 0; n++ { // a busy machine may make the event later
				awaited = testEvents(t, g, key, "?wait=4&after="+event.EventID)
			}
		})
		second := g.Create(t, key, 18)
		g.Force(t, gatewaytest.Browser(), second, "fallback")
		done.Wait()
		if len(awaited) != 1 || awaited[0].SessionID != second.SessionID {
			t.Fatalf("awaited are %+v", awaited)
		}
		if all := testEvents(t, g, key, ""); len(all) != 2 || all[0].SessionID != second.SessionID {
			t.Errorf("the newest is not the first: %+v", all)
		}
		if all := testEvents(t, g, key, "?after="+noEvent); len(all) != 2 || all[0].SessionID != first.SessionID {
			t.Errorf("the events after none are %+v", all)
		}
		if got := testEvents(t, g, other.Test.APIKey, "?session_id="+first.SessionID); len(got) != 0 {
			t.Errorf("another tenant sees %+v", got)
		}

		before := len(receiver.Wait(t, 2))
		gatewaytest.WaitFor(t, "a delivered event is sent again", func() bool {
			g.Do(t, gatewaytest.Row{Name: "resend", Method: http.MethodPost, Path: eventsPath + "/" + event.EventID + "/resend",
				Key: key, Status: 200, JSON: `{"event_id":"` + event.EventID + `"}`})
			return len(receiver.Wait(t, before)) > before
		})
		lost := g.Create(t, bare.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), lost, "verified")
		undelivered := testEvents(t, g, bare.Test.APIKey, "")
		if len(undelivered) != 1 || undelivered[0].Delivery != "no_destination" || undelivered[0].LastClass != nil {
			t.Fatalf("without a Webhook URL the events are %+v", undelivered)
		}
		verifies(t, bare.Test.WebhookSecret, undelivered[0])

		open := g.Create(t, key, 18)
		clock := func(session string) string { return "/api/v1/test/sessions/" + session + "/clock" }
		const session, redirect = `{"expire":"session"}`, `{"expire":"redirect"}`
		invalid := func(kind, loc string) string {
			return `{"detail":[{"type":"` + kind + `","loc":[` + loc + `],"msg":"validation failed"}]}`
		}
		for _, row := range []gatewaytest.Row{
			{Name: "redirect", Path: clock(open.SessionID), Key: key, Body: redirect, Status: 200, JSON: `{"session_id":"` +
				open.SessionID + `","expired":"redirect"}`},
			{Name: "of another tenant", Path: clock(open.SessionID), Key: other.Test.APIKey, Body: session, Status: 404,
				JSON: `{"detail":"Session not found"}`},
			{Name: "of a live session", Path: clock(live.SessionID), Key: key, Body: session, Status: 404,
				JSON: `{"detail":"Session not found"}`},
			{Name: "expire", Path: clock(open.SessionID), Key: key, Body: session, Status: 200, JSON: `{"session_id":"` +
				open.SessionID + `","expired":"session"}`},
			{Name: "expired", Path: "/api/v1/sessions/" + open.SessionID + "/status", Key: key, Status: 200,
				JSON: `{"status":"EXPIRED","status_at":"<time>"}`},
			{Name: "again", Path: clock(open.SessionID), Key: key, Body: session, Status: 409,
				JSON: `{"detail":"Session is no longer open"}`},
			{Name: "redirect of an expired one", Path: clock(open.SessionID), Key: key, Body: redirect, Status: 409,
				JSON: `{"detail":"Session makes no further redirect"}`},
			{Name: "nothing", Path: clock(open.SessionID), Key: key, Body: `{}`, Status: 422,
				JSON: invalid("missing", `"body","expire"`)},
			{Name: "anything", Path: clock(open.SessionID), Key: key, Body: `{"expire":"cAnArY"}`, Status: 422,
				JSON: invalid("literal_error", `"body","expire"`), Not: []string{"cAnArY"}},
			{Name: "more", Path: clock(open.SessionID), Key: key, Body: `{"expire":"session","success_url":"https://cAnArY/"}`,
				Status: 422, JSON: invalid("extra_forbidden", `"body","success_url"`), Not: []string{"cAnArY"}},
			{Name: "resend nothing", Method: http.MethodPost, Path: eventsPath + "/" + noEvent + "/resend", Key: key,
				Status: 404, JSON: `{"detail":"Event not found"}`},
			{Name: "resend another's", Method: http.MethodPost, Path: eventsPath + "/" + event.EventID + "/resend",
				Key: other.Test.APIKey, Status: 404, JSON: `{"detail":"Event not found"}`},
			{Name: "resend to nowhere", Method: http.MethodPost, Path: eventsPath + "/" + undelivered[0].EventID + "/resend",
				Key: bare.Test.APIKey, Status: 409, JSON: `{"detail":"Event has no destination"}`},
			{Name: "resend junk", Method: http.MethodPost, Path: eventsPath + "/cAnArY/resend", Key: key, Status: 422,
				JSON: invalid("string_pattern_mismatch", `"path","event_id"`), Not: []string{"cAnArY"}},
			{Name: "NUL", Path: eventsPath + "?after=evt_%00", Key: key, Status: 422,
				JSON: invalid("string_pattern_mismatch", `"query","after"`)},
			{Name: "too long a wait", Path: eventsPath + "?wait=5", Key: key, Status: 422,
				JSON: invalid("less_than_equal", `"query","wait"`)},
			{Name: "a wait of words", Path: eventsPath + "?wait=cAnArY", Key: key, Status: 422,
				JSON: invalid("int_type", `"query","wait"`), Not: []string{"cAnArY"}},
			{Name: "two waits", Path: eventsPath + "?wait=0&wait=0", Key: key, Status: 422,
				JSON: invalid("value_error", `"query","wait"`)},
			{Name: "two cursors", Path: eventsPath + "?after=" + noEvent + "&%61fter=" + event.EventID, Key: key, Status: 422,
				JSON: invalid("value_error", `"query","after"`)},
			{Name: "a session of words", Path: eventsPath + "?session_id=cAnArY", Key: key, Status: 422,
				JSON: invalid("uuid_parsing", `"query","session_id"`), Not: []string{"cAnArY"}},
			{Name: "live key, events", Path: eventsPath, Key: shop.Live.APIKey, Status: 403,
				JSON: `{"detail":"A test key is needed here"}`},
			{Name: "live key, junk", Path: eventsPath + "?wait=9", Key: shop.Live.APIKey, Status: 403,
				JSON: `{"detail":"A test key is needed here"}`},
			{Name: "live key, resend", Method: http.MethodPost, Path: eventsPath + "/" + event.EventID + "/resend",
				Key: shop.Live.APIKey, Status: 403, JSON: `{"detail":"A test key is needed here"}`},
			{Name: "live key, clock", Path: clock(live.SessionID), Key: shop.Live.APIKey, Body: session, Status: 403,
				JSON: `{"detail":"A test key is needed here"}`},
			{Name: "no key", Path: eventsPath, Status: 401, JSON: `{"detail":"Missing or malformed API key"}`},
		} {
			g.Do(t, row)
		}
	})
}

// TestEventsSayWhatFailed: an event has the class of its last attempt, as operators see it.
func TestEventsSayWhatFailed(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		plain := gatewaytest.NewReceiver(t).URL
		for to, class := range map[string]string{
			plain: "delivered", strings.Replace(plain, "http://", "https://", 1): "tls",
			"http://127.0.0.1:1/": "connect", "http://nowhere.invalid/": "dns",
		} {
			shop := g.Shop(t, to, nil)
			g.Force(t, gatewaytest.Browser(), g.Create(t, shop.Test.APIKey, 18), "verified")
			gatewaytest.WaitFor(t, class, func() bool {
				events := testEvents(t, g, shop.Test.APIKey, "")
				return len(events) == 1 && events[0].LastClass != nil && *events[0].LastClass == class
			})
		}
	})
}

// verifies checks an event's signature like a receiver.
func verifies(t *testing.T, secret string, e testEvent) {
	t.Helper()
	key, err := verify.Secret(secret)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	if e.Headers["webhook-id"] != e.EventID {
		t.Errorf("webhook-id is %s, want %s", e.Headers["webhook-id"], e.EventID)
	}
	// The signature has the time of the gateway's clock, which a test sets.
	if err := verifier.VerifyIgnoringTimestamp([]byte(e.Body), header); err != nil {
		t.Error(err)
	}
}

// TestWaitersAreBounded: the waiting requests of one tenant are few, end in time,
// and do not delay another tenant's.
func TestWaitersAreBounded(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	greedy, other := g.Shop(t, "", nil).Test.APIKey, g.Shop(t, "", nil).Test.APIKey
	statuses := make(chan int, 20)
	var all sync.WaitGroup
	wait := func(key string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+eventsPath+"?wait=3", nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("X-API-Key", key)
		return http.DefaultClient.Do(req)
	}
	for range cap(statuses) {
		all.Go(func() {
			res, err := wait(greedy)
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			if res.StatusCode == 429 && res.Header.Get("Retry-After") == "" {
				t.Error("a refusal has no Retry-After")
			}
			statuses <- res.StatusCode
		})
	}
	time.Sleep(500 * time.Millisecond) // they wait by now
	res, err := wait(other)
	if err != nil || res.StatusCode != 200 {
		t.Errorf("another tenant's wait: %v, %v", res, err)
	}
	all.Wait()
	close(statuses)
	count := map[int]int{}
	for s := range statuses {
		count[s]++
	}
	if count[200] != 3 || count[429] != 17 {
		t.Errorf("the answers are %v, want three 200", count)
	}
	if res, err = wait(greedy); err != nil || res.StatusCode != 200 {
		t.Errorf("once they have ended: %v, %v", res, err)
	}
}
