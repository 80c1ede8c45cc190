package conformance

import (
	"net/http"
	"slices"
	"time"

	"agegate/internal/lab/suite"
)

// listLimit is the maximum number of events in one answer of the test mode.
const listLimit = 50

// feedCases are about the list of events as something to follow, and about the test clock.
var feedCases = []testCase{
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
}
