package conformance

import (
	"fmt"
	"net/http"
	"time"
)

// manner is how the receiver treats the first delivery of a session.
type manner struct {
	status     int           // that it answers with; 0: it closes the connection instead
	retryAfter string        // the Retry-After header; "" for none
	after      time.Duration // before it answers
	class      string        // as the list of events says it of the attempt
	again      int           // how many more deliveries it treats so
}

// retryAfter is longer than the first pause of the schedules, so that it shows.
const retryAfter = 10 * time.Second

var retryAfterText = fmt.Sprint(retryAfter.Seconds())

// failures are manners with which a delivery has failed, and comes again.
var failures = map[string]manner{
	"307": {status: http.StatusTemporaryRedirect, class: "redirect"}, "400": {status: 400, class: "status"},
	"404": {status: 404}, "503": {status: 503}, "500": {status: 500, class: "status"},
	"500 always":           {status: 500, class: "status", again: 9},
	"a closed connection":  {class: "connect"},
	"429 with Retry-After": {status: http.StatusTooManyRequests, retryAfter: retryAfterText},
	"503 with Retry-After": {status: http.StatusServiceUnavailable, retryAfter: retryAfterText},
}

var receiverCases = []testCase{
	{
		Name: "webhook.failures", Title: "A delivery that fails comes again, at the time of the schedule or of Retry-After",
		needs: []*need{needWebhooks}, sessions: len(failures),
		Cites: []string{"SPEC 6", "openapi.yaml Webhooks"},
		run: func(t *trial) {
			made := map[string]*session{}
			for name, m := range failures {
				s := t.fresh()
				t.receiver.treatFirst(s.ID, m)
				t.force(s, "verified")
				made[name] = s
			}
			for name, s := range made {
				if m := failures[name]; m.class != "" {
					t.attempted(name, s, 1, m)
				}
			}
			gaps := map[string]time.Duration{}
			for name, s := range made {
				got := t.receiver.await(t.ctx, s.ID, 2, t.WebhookWait)
				if !t.check(len(got) >= 2, "a delivery that got %s is not repeated within %s", name, t.WebhookWait) {
					continue
				}
				gaps[name] = got[1].at.Sub(got[0].at)
				t.check(got[0].header.Get("webhook-id") == got[1].header.Get("webhook-id"),
					"after %s it has another webhook-id", name)
			}
			for name, s := range made {
				then := manner{status: http.StatusNoContent, class: "delivered"}
				if failures[name].again > 0 {
					then = failures[name]
				}
				t.attempted(fmt.Sprint(name, ", and then ", then.status), s, 2, then)
			}
			base := gaps["500"]
			for name, gap := range gaps {
				low, high := base/2, 2*base+nearTolerance
				if failures[name].retryAfter != "" {
					low, high = retryAfter-time.Second/2, max(base, retryAfter)+clockTolerance
				}
				t.check(gap >= low && gap <= high, "after %s it comes again in %s, want %s to %s", name, gap, low, high)
			}
		},
	},
	{
		Name: "webhook.slow", Title: "A receiver that answers within 15 seconds has received the event, and one that " +
			"does not gets it again", needs: []*need{needWebhooks}, sessions: 2,
		Cites: []string{"openapi.yaml Webhooks"},
		run: func(t *trial) {
			slow, silent := t.fresh(), t.fresh()
			t.receiver.treatFirst(slow.ID, manner{status: http.StatusAccepted, after: slowAnswer})
			t.receiver.treatFirst(silent.ID, manner{status: http.StatusNoContent, after: noAnswer})
			t.force(slow, "verified")
			t.force(silent, "verified")
			if len(t.receiver.await(t.ctx, silent.ID, 1, t.WebhookWait)) > 0 {
				t.pause(noAnswer)
				t.attempted("no answer", silent, 1, manner{class: "timeout"})
			}
			got := t.receiver.await(t.ctx, silent.ID, 2, t.WebhookWait+noAnswer)
			if t.check(len(got) >= 2, "a delivery without an answer is not repeated within %s", t.WebhookWait+noAnswer) {
				gap := got[1].at.Sub(got[0].at)
				t.check(gap > slowAnswer, "a delivery is repeated after %s, before 15 seconds were over", gap)
			}
			t.check(len(t.receiver.of(slow.ID)) == 1, "a delivery that was answered after %s comes again", slowAnswer)
		},
	},
}

// attempted waits until an event has had a number of attempts, and checks what the list of
// events says of the last one.
func (t *trial) attempted(what string, s *session, attempts int, m manner) {
	var e listed
	for until := time.Now().Add(nearTolerance); e.Attempts < attempts && time.Now().Before(until); {
		t.pause(100 * time.Millisecond)
		if list := t.events("?session_id=" + s.ID); len(list) == 1 {
			e = list[0]
		}
	}
	more := m.again > 0 // it is refused again, perhaps already
	t.check((e.Attempts == attempts || more && e.Attempts > attempts) && e.LastClass == m.class &&
		e.LastStatusCode == m.status,
		"after %s the event is listed with %d attempts, %q and %d; want %d, %q and %d", what, e.Attempts, e.LastClass,
		e.LastStatusCode, attempts, m.class, m.status)
	if m.class == "delivered" {
		t.check(e.Delivery == "delivered", "after %s the delivery is %s", what, e.Delivery)
	} else {
		t.check(e.Delivery == "pending" || more && e.Delivery == "failed", "after %s the delivery is %s", what, e.Delivery)
	}
}

// Times of answers around the 15 seconds that a receiver has.
const (
	slowAnswer = 12 * time.Second
	noAnswer   = 17 * time.Second
)
