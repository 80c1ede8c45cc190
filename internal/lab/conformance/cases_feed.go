package conformance

import (
	"net/http"
	"slices"
	"strconv"
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
			complete := func() string {
				s := t.create(t.test, `{"target_age":18}`, nil)
				t.force(s, "verified")
				return s.ID
			}
			complete()
			cursor := t.events("")[0].EventID
			var want, got []string
			for range listLimit + 1 {
				want = append(want, complete())
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
				asked := t.now()
				list := t.events("?session_id=" + s.ID)
				if len(list) != 1 {
					t.fatalf("%d events are listed of a session that passed, want its one", len(list))
				}
				seconds, err := strconv.ParseInt(list[0].Headers["webhook-timestamp"], 10, 64)
				t.check(err == nil && apart(time.Unix(seconds, 0), asked) < nearTolerance,
					"an event that is listed now has the webhook-timestamp of another time")
				_, at := t.status(t.test, s.ID)
				t.check(apart(list[0].CreatedAt, at) < nearTolerance, "created_at of the event is not the completion")
				if left := nearTolerance + 2*time.Second - t.now().Sub(at); left > 0 {
					t.pause(left)
				}
			}
		},
	},
	{
		Name: "testmode.no_destination", Title: "An event of a session that was made without a Webhook URL is not sent " +
			"again: 409",
		needs: []need{needBare}, sessions: 1,
		Cites: []string{"openapi.yaml resendTestEvent 409", "openapi.yaml DeliveryStatus"},
		run: func(t *trial) {
			own := t.test
			defer func() { t.test = own }()
			back := `{"target_age":18,"cancel_url":"` + t.callback("/agegate-conformance/back") + `"}`
			t.test = []string{t.BareKey}
			made := t.call(call{operation: createSession, keys: t.test, body: back})
			s, ok := made.created()
			if !ok {
				t.endf(suite.Skipped, "needs the tenant without a Cancel URL to have a URL on the same host")
			}
			t.force(s, "verified")
			list := t.events("?session_id=" + s.ID)
			if len(list) != 1 || list[0].Delivery != "no_destination" {
				t.endf(suite.Skipped, "needs the tenant without a Cancel URL to have no Webhook URL either")
			}
			again := call{operation: resendTestEvent, keys: t.test, event: list[0].EventID}
			t.expect(again, http.StatusConflict, "noDestination")
		},
	},
	{
		Name: "testmode.clock_document", Title: "The test clock lets a session expire whose document check is open",
		sessions: 1,
		Cites:    []string{"SPEC 3", "openapi.yaml moveTestClock"},
		run: func(t *trial) {
			s := t.create(t.test, `{"target_age":18}`, nil)
			t.offer(s)
			t.expire(s)
			t.isPage(t.open(s.browser, s.VerificationURL+"?force=verified"), http.StatusGone)
			status, _ := t.status(t.test, s.ID)
			t.check(status == "EXPIRED", "the status is %s, want EXPIRED", status)
			t.check(len(t.events("?session_id="+s.ID)) == 0, "the expired session has an event")
		},
	},
	{
		Name: "testmode.clock_exact", Title: "A session that the test clock ends is EXPIRED since then, and no redirect of " +
			"a session without one can expire", sessions: 1,
		Cites: []string{"SPEC 2.4", "openapi.yaml moveTestClock", "openapi.yaml moveTestClock 409"},
		run: func(t *trial) {
			s := t.create(t.test, `{"target_age":18}`, nil)
			asked := t.now()
			t.expire(s)
			t.pause(nearTolerance + 2*time.Second) // the time of the first lookup is another
			status, at := t.status(t.test, s.ID)
			t.check(status == "EXPIRED" && apart(at, asked) < nearTolerance,
				"the session is %s since %s, want EXPIRED since now", status, at)
			ended := []*session{s}
			for _, outcome := range t.outcomes() {
				if outcome != "verified" {
					ended = append(ended, t.forced(outcome))
				}
			}
			for _, s := range ended {
				got := t.call(call{operation: moveTestClock, keys: t.test, session: s.ID, body: `{"expire":"redirect"}`})
				t.check(got.status == http.StatusConflict, "the redirect of a session that has none expires with %s, want 409", got)
			}
		},
	},
}
