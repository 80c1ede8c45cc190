package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// exactCases check bytes, orders and times on which shops rely, although clients
// hardly notice them.
var exactCases = []testCase{
	{
		Name: "callback.raw_query", Title: "A pass keeps the query of success_url byte for byte and in order, and replaces " +
			"the four parameters however they are escaped", sessions: 1,
		Cites: []string{"SPEC 4.4", "openapi.yaml Redirect token"},
		run: func(t *trial) {
			const path = "/agegate-conformance/a%2Fb%20c"
			const kept = "z=1&a=b+c%20d&e=&f&g;h=1&i=%2f&a=2&session_ref=3&Status=4&x-token=5&j=1%2B1"
			s := t.create(creationTo("success_url", t.callback(path+"?%74oken=old&"+kept+"&is%5Fadult=false")))
			t.force(s, "verified")
			var left []string
			to := t.redirect(s)
			t.check(to.EscapedPath() == path, "the path %s of success_url is %s in the redirect", path, to.EscapedPath())
			for pair := range strings.SplitSeq(to.RawQuery, "&") {
				name, _, _ := strings.Cut(pair, "=")
				if !slices.Contains([]string{"token", "session", "status", "is_adult"}, name) {
					left = append(left, pair)
				}
			}
			got := strings.Join(left, "&")
			t.check(got == kept, "of the query %s the redirect keeps %s", kept, got)
		},
	},
	{
		Name: "create.lifetime", Title: "A session's life and its first status begin with its creation", sessions: 2,
		Cites: []string{"SPEC 2.4", "SPEC 4.1", "openapi.yaml CreateSessionOut"},
		run: func(t *trial) {
			early := t.fresh()
			t.pause(3 * time.Second)
			late := t.fresh()
			first, then := early.ExpiresAt.Sub(early.date), late.ExpiresAt.Sub(late.date)
			t.check((first-then).Abs() < 2*time.Second, "one session is open for %s, and one made 3 s later for %s", first, then)
			_, began := t.status(early.ID)
			_, next := t.status(late.ID)
			t.check(next.Sub(began) > time.Second, "status_at of a session made 3 s later is %s later", next.Sub(began))
		},
	},
	{
		Name: "redirect.lifetime", Title: "A token's life begins with its redirect, not with the session", sessions: 2,
		Cites: []string{"SPEC 5 rule 4", "openapi.yaml Redirect token"},
		run: func(t *trial) {
			slow, quick := t.fresh(), t.passed()
			t.pause(3 * time.Second)
			t.force(slow, "verified")
			t.check((t.life(slow)-t.life(quick)).Abs() < 2*time.Second,
				"the token lives for %s after 3 s, and for %s at once", t.life(slow), t.life(quick))
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

// life returns the time from the redirect to the expiry of its token. It is negative if
// the token had already expired. The redirect's time is its Date header, so only the
// gateway's clock counts.
func (t *trial) life(s *session) time.Duration {
	to, err := url.Parse(s.page.header.Get("Location"))
	if err != nil || s.page.date().IsZero() || to.Host == "" {
		t.fatalf("a pass answers %d, want 303 with an absolute Location and a Date", s.page.status)
	}
	expires, _, _ := strings.Cut(to.Query().Get("token"), ".")
	at := unix(expires)
	if at.IsZero() {
		t.fatalf("the redirect's token does not begin with its expiry")
	}
	return at.Sub(s.page.date())
}

// unix returns the time of a number of seconds, or a time long ago for another text.
func unix(text string) time.Time {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// pause waits, or ends the case with the run.
func (t *trial) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
		t.fatalf("the run was ended during a wait")
	}
}
