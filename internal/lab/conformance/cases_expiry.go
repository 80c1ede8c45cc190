package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"agegate/internal/lab/suite"
)

var expiryCases = []testCase{
	{
		Name: "expiry.lookup", Title: "A session that was never completed is EXPIRED at expires_at, for ever, and its page " +
			"is gone, also before the first lookup", needs: []*need{needExpiry}, sessions: 2,
		Cites: []string{"SPEC 2.4", "SPEC 3", "SPEC 4.2 rule 1", "openapi.yaml getSessionStatus"},
		run: func(t *trial) {
			s, unseen := t.create(creation(adult).under(newKey())), t.fresh()
			t.awaitExpiry(unseen.ExpiresAt)
			t.shared["expired"], t.shared["unseen"] = s, unseen
			late := t.visit(unseen, "?force=verified")
			t.check(late.header.Get("Location") == "", "an expired session that nobody has looked up redirects")
			t.is("EXPIRED", unseen, "expired, not looked up and forced,")
			at := t.is("EXPIRED", s, "at expires_at")
			t.check(at.Equal(s.ExpiresAt), "the session is EXPIRED since %s, want since expires_at", at)
			got := t.visit(s, "?force=verified")
			t.check(got.header.Get("Location") == "", "an expired session redirects")
			again := t.is("EXPIRED", s, "after force")
			t.check(again.Equal(at), "force moves the time of the expiry")
			t.detectedAge(s.ID, "not_consented")
			replay := t.call(s.made)
			t.check(string(replay.body) == string(s.body), "the repetition for an expired session gets another answer")
			if t.receiver != nil {
				t.once("expired", s)
				t.once("unseen", unseen)
			}
		},
	},
	{
		Name: "expiry.document", Title: "The offer of the document check, the choice of a way and the consent to " +
			"photographs each move expires_at", needs: []*need{needExpiry}, sessions: 3,
		Cites: []string{"SPEC 2.2", "SPEC 3", "openapi.yaml getSessionStatus"},
		run:   documentExpiry,
	},
	{
		Name: "expiry.unit", Title: "The unit of a live session that expires can be used at once, and only once",
		needs: []*need{needLastLive, needExpiry}, live: 2,
		Cites: []string{"SPEC 7", "SPEC 8", "openapi.yaml createSession 402"},
		run: func(t *trial) {
			live := creation(adult).by(t.LastLiveKey)
			s := t.shared["last_unit"]
			if s == nil {
				s = t.create(live)
			}
			t.awaitExpiry(s.ExpiresAt)
			t.create(live)
			t.must(live, http.StatusPaymentRequired, "one more: ")
		},
	},
}

// awaitExpiry waits until a time by the gateway's clock has passed, or ends the
// case if the run does not wait for so long.
func (t *trial) awaitExpiry(at time.Time) {
	left := at.Sub(t.now()) + 2*time.Second // the Date header has whole seconds
	if left > t.ExpiryWait {
		t.endf(suite.Skipped, "needs a wait of %s for the session to expire", left.Round(time.Second))
	}
	t.pause(left)
}

// stepPause is the time between two steps of the document check, long enough to
// see which of them moved the expiry.
const stepPause = 3 * time.Second

// documentExpiry creates a session for each step of the document check that needs no
// document. Each session takes its step after a pause, and the step must move the
// expiry by the length of the pause.
func documentExpiry(t *trial) {
	began := time.Now()
	offered, chosen, agreed := t.fresh(), t.fresh(), t.fresh()
	last := map[string]*session{"the offer": offered, "the choice of a way": chosen, "the consent": agreed}
	life := offered.ExpiresAt.Sub(offered.date)
	if life < 2*stepPause {
		t.endf(suite.Skipped, "needs sessions that live for at least %s", 2*stepPause)
	}
	offer, consent := t.offer(chosen), t.choose(agreed, t.offer(agreed), "photo")
	t.pause(stepPause)
	t.offer(offered)
	if t.choose(chosen, offer, "wallet") == nil && t.choose(chosen, offer, "photo") == nil {
		delete(last, "the choice of a way")
	}
	if consent.input("compare") == nil {
		delete(last, "the consent")
	} else {
		t.tick(agreed, consent, "compare")
	}
	took := time.Since(began)
	t.awaitExpiry(t.now().Add(life))
	for step, s := range last {
		status, at := t.status(s.ID)
		moved := at.Sub(s.ExpiresAt)
		t.check(status == "EXPIRED" && moved > stepPause-time.Second && moved < took+time.Second,
			"%s after %s makes the session %s and moves its expiry by %s", step, stepPause, status, moved)
	}
}

// offer forces a fallback, which opens the document check, and returns the form
// with its ways. It ends the case if the tenant has the document check off.
func (t *trial) offer(s *session) *form {
	s.browser = newBrowser()
	s.page = t.reopen(s, "?force=fallback")
	if status, _ := t.status(s.ID); status != "PENDING" {
		t.endf(suite.Skipped, "needs a tenant with the document check on")
	}
	return findForm(s.page.body)
}

// choose takes a way of the document check and returns the form of its page. It
// returns nil if the way is not offered.
func (t *trial) choose(s *session, offer *form, way string) *form {
	if offer == nil || !slices.ContainsFunc(offer.inputs, func(i map[string]string) bool {
		return i["name"] == "choice" && i["value"] == way
	}) {
		return nil
	}
	if next := t.submit(s, offer, url.Values{"choice": {way}}); next != nil {
		return next
	}
	return &form{}
}
