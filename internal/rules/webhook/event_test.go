package webhook

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

var (
	aTenant  = uuid.MustParse("0190c0de-0000-7000-8000-00000000000a")
	aSession = uuid.MustParse("3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b")
)

func TestNewEventBody(t *testing.T) {
	at := time.Date(2026, 1, 1, 1, 0, 0, 123456789, time.FixedZone("CET", 3600))
	for _, tc := range []struct {
		result   Result
		livemode bool
		want     string
	}{
		{ResultVerified, false, `{"type":"session.completed","timestamp":"2026-01-01T00:00:00.123456Z","session_id":"3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b","status":"VERIFIED","is_adult":true,"livemode":false}`},
		{ResultRoutedToFallback, true, `{"type":"session.completed","timestamp":"2026-01-01T00:00:00.123456Z","session_id":"3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b","status":"ROUTED_TO_FALLBACK","is_adult":false,"livemode":true}`},
	} {
		event, err := NewEvent(Completion{TenantID: aTenant, SessionID: aSession, Result: tc.result, Livemode: tc.livemode,
			CompletedAt: at})
		if err != nil || string(event.Body) != tc.want {
			t.Errorf("%s: body %s, %v; want %s", tc.result, event.Body, err, tc.want)
		}
	}
}

func TestNewEventRefusesOtherEnds(t *testing.T) {
	for _, result := range []Result{"", "SPOOF_DETECTED", "EXPIRED", "verified"} {
		if event, err := NewEvent(Completion{SessionID: aSession, Result: result}); err == nil {
			t.Errorf("%q has an event: %s", result, event.Body)
		}
	}
}

func TestNewEventIDs(t *testing.T) {
	last := ""
	for range 1000 {
		event, err := NewEvent(Completion{SessionID: aSession, Result: ResultVerified})
		if err != nil {
			t.Fatal(err)
		}
		id, found := strings.CutPrefix(event.ID, "evt_")
		if parsed, err := uuid.Parse(id); !found || err != nil || parsed.Version() != 7 || len(id) != 36 {
			t.Fatalf("id %q is not evt_ and a UUID version 7", event.ID)
		}
		if event.ID <= last {
			t.Fatalf("id %q does not follow %q", event.ID, last)
		}
		last = event.ID
	}
}

func TestEventBodyProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		completedAt := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanos"))
		event, err := NewEvent(Completion{
			TenantID: aTenant, SessionID: uuid.New(), CompletedAt: completedAt, Livemode: rapid.Bool().Draw(t, "live"),
			Result: rapid.SampledFrom([]Result{ResultVerified, ResultRoutedToFallback}).Draw(t, "result"),
		})
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(event.Body, &fields); err != nil || len(fields) != 6 {
			t.Fatalf("fields %v, %v", fields, err)
		}
		if fields["is_adult"] != (fields["status"] == "VERIFIED") || fields["livemode"] != event.Livemode {
			t.Fatalf("fields contradict each other: %s", event.Body)
		}
		at, err := time.Parse(time.RFC3339, fmt.Sprint(fields["timestamp"]))
		if err != nil || !at.Equal(completedAt.Truncate(time.Microsecond)) ||
			!strings.HasSuffix(fmt.Sprint(fields["timestamp"]), "Z") {
			t.Fatalf("timestamp %v, want %v", fields["timestamp"], completedAt)
		}
	})
}

func TestEndpointID(t *testing.T) {
	base := EndpointID(aTenant, true, "https://a.example/hook")
	if len(base) != 35 || base != EndpointID(aTenant, true, "https://a.example/hook") {
		t.Fatalf("id %q", base)
	}
	for name, other := range map[string]string{
		"tenant": EndpointID(aSession, true, "https://a.example/hook"),
		"mode":   EndpointID(aTenant, false, "https://a.example/hook"),
		"url":    EndpointID(aTenant, true, "https://a.example/hook2"),
	} {
		if other == base {
			t.Errorf("another %s has the same endpoint", name)
		}
	}
	if id := EndpointID(aTenant, true, ""); id != "" {
		t.Errorf("no destination is endpoint %q", id)
	}
}
