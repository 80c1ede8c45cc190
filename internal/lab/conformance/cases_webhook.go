package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"agegate/internal/lab/suite"
)

// timestampGap is a time between attempts after which the timestamp, in whole
// seconds, has certainly changed.
const timestampGap = 2 * time.Second

var webhookCases = []testCase{
	{
		Name: "webhook.verified", Title: "VERIFIED sends a signed event: is_adult true, livemode false, no estimate",
		needs: []*need{needWebhooks},
		Cites: []string{"SPEC 5 rule 5", "SPEC 6", "openapi.yaml Webhooks", "openapi.yaml CompletionEvent"},
		run:   func(t *trial) { t.event("verified", "VERIFIED", true) },
	},
	{
		Name: "webhook.settled", Title: "When the event arrives, the status lookup has the result already",
		needs: []*need{needWebhooks}, sessions: 1,
		Cites: []string{"SPEC 2.6", "SPEC 6", "openapi.yaml Webhooks"},
		run: func(t *trial) {
			s := t.fresh()
			go func() { // the event may arrive before the page's answer
				_, _ = t.request(newBrowser(), http.MethodGet, s.VerificationURL+"?force=verified", nil, nil)
			}()
			t.delivered(s, 1)
			t.is("PASSED", s, "when the event arrives")
		},
	},
	{
		Name: "webhook.fallback", Title: "ROUTED_TO_FALLBACK sends a signed event: is_adult false, livemode false, no " +
			"estimate", needs: []*need{needWebhooks},
		Cites: []string{"SPEC 5 rule 5", "SPEC 6", "openapi.yaml Webhooks", "openapi.yaml CompletionEvent"},
		run:   func(t *trial) { t.event("fallback", "ROUTED_TO_FALLBACK", false) },
	},
	{
		Name: "webhook.repeated", Title: "A refused delivery is repeated with the same webhook-id and body, signed again",
		needs: []*need{needWebhooks},
		Cites: []string{"SPEC 6", "openapi.yaml Webhooks"},
		run: func(t *trial) {
			got := t.delivered(t.forced("fallback"), 2) // the first is answered with 500
			first, second := got[0], got[1]
			t.check(first.header.Get("webhook-id") == second.header.Get("webhook-id"), "the repetition has another webhook-id")
			t.check(string(first.body) == string(second.body), "the repetition has another body")
			t.check(second.at.Sub(first.at) < timestampGap ||
				first.header.Get("webhook-timestamp") != second.header.Get("webhook-timestamp"),
				"the repetition has the timestamp of the first attempt")
			t.documented("the repetition", second)
		},
	},
	{
		Name: "webhook.redirected", Title: "A delivery that is answered with a redirect is not delivered: it is repeated, " +
			"and the redirect is not followed", needs: []*need{needWebhooks},
		Cites: []string{"openapi.yaml Webhooks"}, sessions: 1,
		run: func(t *trial) {
			s := t.fresh()
			t.receiver.treatFirst(s.ID, manner{status: http.StatusTemporaryRedirect})
			t.force(s, "verified")
			got := t.receiver.await(t.ctx, s.ID, 2, t.WebhookWait)
			t.check(len(got) >= 2, "a delivery that was answered with a redirect is not repeated within %s", t.WebhookWait)
			for _, d := range got {
				t.check(d.path != onward, "the redirect is followed")
			}
		},
	},
	{
		Name: "webhook.once", Title: "A completion sends one event, and not again after a 2xx; sessions that are open, " +
			"SPOOF or EXPIRED send none", needs: []*need{needWebhooks},
		Cites: []string{"SPEC 3", "SPEC 6", "openapi.yaml Webhooks"},
		run: func(t *trial) {
			for _, outcome := range t.outcomes() {
				t.reopen(t.forced(outcome), "?force="+outcome) // seeing the result again is no completion
			}
			// When the deliveries of these two sessions have arrived, all
			// deliveries due before have arrived too.
			for range 2 {
				got := t.receiver.await(t.ctx, t.passed().ID, 1, t.WebhookWait)
				t.check(len(got) > 0, "no event of a completion comes within %s", t.WebhookWait)
			}
			for name, s := range t.shared {
				t.once(name, s)
			}
			t.eventOf(t.forced("verified"))
		},
		sessions: 2,
	},
	{
		Name: "webhook.frozen", Title: "A session's event goes to the Webhook URL that was registered at its creation",
		needs: []*need{needWebhookURL, needRegister, needWebhooks}, sessions: 2,
		Cites: []string{"SPEC 2.2", "openapi.yaml Webhooks"},
		run:   frozenWebhook,
	},
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

// movedPath ends the path of the Webhook URL that frozenWebhook registers for a
// moment.
const movedPath = "/agegate-conformance/moved"

// frozenWebhook completes one session created before another Webhook URL was
// registered, and one created after.
func frozenWebhook(t *trial) {
	before := t.fresh()
	t.register(t.ctx, strings.TrimRight(t.WebhookURL, "/")+movedPath)
	defer t.register(context.WithoutCancel(t.ctx), t.WebhookURL)
	after := t.fresh()
	moved := func(s *session) bool {
		t.force(s, "verified")
		return strings.HasSuffix(t.delivered(s, 1)[0].path, movedPath)
	}
	t.check(!moved(before), "the event of a session goes to a Webhook URL that was registered later")
	t.check(moved(after), "the event of a new session does not go to the Webhook URL that is registered now")
}

// register changes the tenant's Webhook URL with the operator's command.
func (t *trial) register(ctx context.Context, address string) {
	if err := t.Register(ctx, address); err != nil {
		t.fatalf("the command that registers a Webhook URL fails: %v", err)
	}
	t.pause(settled)
}

// settled is how long a gateway may take to notice a changed setting.
const settled = 3 * time.Second

// once checks that a session sent at most one event, and no further delivery
// after an accepted one.
func (t *trial) once(name string, s *session) {
	got := t.receiver.of(s.ID)
	ids := map[string]bool{}
	accepted := 0
	for _, d := range got {
		ids[d.header.Get("webhook-id")] = true
		if d.answer/100 == 2 {
			accepted++
		}
	}
	t.check(len(ids) <= 1 && accepted <= 1, "the session %q sent %d events, of which %d deliveries were accepted", name,
		len(ids), accepted)
	if slices.Contains([]string{"pending", "spoof", "expired", "unseen"}, name) {
		t.check(len(got) == 0, "the session %q sent an event", name)
	}
	if name == "raced" && len(got) > 0 {
		t.is("PASSED", s, "with an event")
	}
}

// requireWebhooks ends the case if deliveries do not reach the receiver. The
// first call finds this out.
func (t *trial) requireWebhooks() {
	if t.webhooks == nil {
		why := ""
		if unsent := t.unsent(t.forced("verified").ID); unsent != "" {
			t.endf(suite.Skipped, "%s", unsent)
		}
		if t.receiver == nil {
			why = "not reachable: no receiver was opened (--listen), and the tenant's Webhook URL must lead to it"
		} else if len(t.receiver.await(t.ctx, t.forced("verified").ID, 1, t.WebhookWait)) == 0 {
			why = "not reachable: no delivery came within " + t.WebhookWait.String() +
				"; the tenant's Webhook URL must lead to the receiver"
		}
		t.webhooks = &why
	}
	if *t.webhooks != "" {
		t.endf(suite.NotReachable, "%s", *t.webhooks)
	}
}

// delivered waits for n deliveries for a session, or ends the case.
func (t *trial) delivered(s *session, n int) []delivery {
	got := t.receiver.await(t.ctx, s.ID, n, t.WebhookWait)
	if len(got) < n {
		t.fatalf("of %d deliveries for the session %d come within %s", n, len(got), t.WebhookWait)
	}
	return got
}

// event checks the first delivery for a session that was forced into an outcome.
func (t *trial) event(outcome, result string, adult bool) {
	s := t.forced(outcome)
	d := t.delivered(s, 1)[0]
	t.documented("the delivery", d)
	e := d.event()
	t.check(e.Type == "session.completed" && e.Status == result && e.IsAdult == adult,
		"the event says %s, %s, is_adult %t; want %s and %t", e.Type, e.Status, e.IsAdult, result, adult)
	t.check(!e.Livemode, "the event of a test session has livemode true")
	var members map[string]any
	_ = json.Unmarshal(d.body, &members) // the schema check reports a decoding error
	for name := range members {
		t.check(!strings.Contains(name, "age") && !strings.Contains(name, "estimate"), "the event has the member %q", name)
	}
	if list := t.events("?session_id=" + s.ID); len(list) == 1 {
		t.check(list[0].Body == string(d.body), "the list of events has another body than the delivery")
	}
	_, since := t.status(s.ID)
	t.check(e.Timestamp.Equal(since), "the event's timestamp is not the completion, which status_at has")
	t.check(e.SessionID == strings.ToLower(s.ID), "the event's session_id is not as the creation wrote it")
}

// documented checks that a delivery is as the contract says, and signed.
func (t *trial) documented(what string, d delivery) {
	for _, p := range t.contract.checkDelivery(d.header, d.body) {
		t.failf("%s: %s", what, p)
	}
	t.signed(d)
}

// signed checks a delivery's signature in the way that Standard Webhooks requires
// of receivers.
func (t *trial) signed(d delivery) {
	if t.WebhookSecret == "" {
		return
	}
	stamp := d.header.Get("webhook-timestamp")
	t.check(apart(unix(stamp), d.at.Add(-t.offset)) < clockTolerance,
		"the webhook-timestamp is not the time of the attempt")
	mac := t.mac(t.WebhookSecret, "whsec_", d.header.Get("webhook-id")+"."+stamp+"."+string(d.body))
	want := "v1," + base64.StdEncoding.EncodeToString(mac)
	t.check(slices.Contains(strings.Fields(d.header.Get("webhook-signature")), want),
		"no signature is that of the webhook secret over id, timestamp and body")
}

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
