package shopper

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document/photo"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/coder/websocket"
)

// The tests in this file are about checks that end without an estimate.

// attempts begins n attempts of a session, like its streams.
func (f *fixture) attempts(link string, n int) {
	f.t.Helper()
	for range n {
		_, err := f.sessions.StartAttempt(f.t.Context(), f.stored(link), session.Claim{})
		must(f.t, err)
	}
}

// endsWithoutEstimate fails unless the session's camera check has ended like an
// age refusal; if the session has ended, it must have one event and a settled
// unit.
func (f *fixture) endsWithoutEstimate(link string) {
	f.t.Helper()
	s, ended := f.stored(link), 1
	if f.tenant.DocumentCheck {
		if ended = 0; !s.DocumentOpen() {
			f.t.Errorf("the document check is not offered: %s", s.Status)
		}
	} else if s.Status != session.StatusFallback {
		f.t.Errorf("status %s", s.Status)
	}
	if s.DetectedAge != nil {
		f.t.Errorf("estimate %v", *s.DetectedAge)
	}
	for _, e := range f.hasEnded(link, ended) {
		var body struct {
			Status  string `json:"status"`
			IsAdult bool   `json:"is_adult"`
		}
		must(f.t, json.Unmarshal(e.Body, &body))
		if body.Status != string(session.ResultFallback) || body.IsAdult {
			f.t.Errorf("event %s", e.Body)
		}
	}
}

// hasEnded fails unless a live session, the only one, has as many events and
// settled units. It returns the events.
func (f *fixture) hasEnded(link string, want int) []webhook.Record {
	f.t.Helper()
	events, err := f.db.Events(f.t.Context(),
		webhook.Filter{Scope: webhook.OfTenant(f.tenant.ID), Session: f.stored(link).ID})
	must(f.t, err)
	settled := 0
	for e, err := range billingtest.Ledger(f.t.Context(), f.db, f.tenant.ID) {
		must(f.t, err)
		if e.Kind == billing.EntrySettle {
			settled++
		}
	}
	if len(events) != want || settled != want {
		f.t.Errorf("%d events, %d units settled, want %d", len(events), settled, want)
	}
	return events
}

// shown is the page after a check that ended without an estimate.
func (f *fixture) shown() string {
	if f.tenant.DocumentCheck {
		return "screen-document"
	}
	return "screen-fallback"
}

// TestTheLastAttemptEndsTheCheck covers all ways in which the last attempt ends
// without an estimate.
func TestTheLastAttemptEndsTheCheck(t *testing.T) {
	t.Parallel()
	finds := func(c *camera) { c.finds(2) }
	tests := []struct {
		name string
		last age.Step // a step after the challenge has begun
		end  func(*camera)
	}{
		{"no capture", verdict(age.VerdictNoCapture, 0), finds},
		{"first strike", verdict(age.VerdictSpoof, 0), finds},
		{"connection cut", stepBegun, func(c *camera) { c.conn.CloseNow() }},
		{"page closed", stepBegun, func(c *camera) { _ = c.conn.Close(websocket.StatusNormalClosure, "") }},
		{"foreign message", stepBegun, func(c *camera) { c.send([]byte("no frame")) }},
	}
	for _, test := range tests {
		for name, settings := range map[string]tenant.Tenant{"": {}, ", document check on": {DocumentCheck: true}} {
			t.Run(test.name+name, func(t *testing.T) {
				inOwnTime(t, func(t testing.TB) {
					f := newFixture(t, settings, scripted(stepFraming, stepBegun, test.last))
					shopper := f.browser()
					link := f.session(true)
					shopper.post(link+"/start", nil)
					f.attempts(link, session.MaxAttempts-1)
					shopper.get(link).shows(t, http.StatusOK, "screen-primer")
					c := shopper.opened(link)
					for seq := range uint32(2) {
						c.send(frame(scriptNonce, seq))
						c.read()
					}
					test.end(c)
					f.fills(0)
					f.endsWithoutEstimate(link)
					shopper.get(link).shows(t, http.StatusOK, f.shown())
				})
			})
		}
	}
}

// TestALastAttemptThatWasCutOffWithItsServer: the next page that is opened ends
// the check.
func TestALastAttemptThatWasCutOffWithItsServer(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]tenant.Tenant{"document check off": {},
		"document check on": {DocumentCheck: true, AgeVisibility: true}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, settings, scripted(stepFraming))
			shopper := f.browser()
			link := f.session(true)
			shopper.post(link+"/start", nil)
			f.attempts(link, session.MaxAttempts)
			f.browser().get(link).shows(t, http.StatusOK, "notice-elsewhere")
			shopper.camera(link).closes(closeReload)
			shopper.get(link+"/camera").leadsTo(t, strings.TrimPrefix(link, f.server.URL))
			if s := f.stored(link); s.Status != session.StatusPending || s.DocumentOpen() {
				t.Errorf("ended before its page was asked for: %s", s.Status)
			}
			for range 2 {
				shopper.get(link).shows(t, http.StatusOK, f.shown())
				f.endsWithoutEstimate(link)
			}
		})
	}
}

// TestAPageGivesUpALastAttemptThatRunsElsewhere: what that attempt finds later
// changes nothing.
func TestAPageGivesUpALastAttemptThatRunsElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepBegun, verdict(age.VerdictMet, 40)))
	other := f.replica(scripted())
	shopper := f.browser()
	link := f.session(true)
	shopper.post(link+"/start", nil)
	f.attempts(link, session.MaxAttempts-1)
	c := shopper.opened(link)
	c.send(frame(scriptNonce, 0))
	c.read()
	shopper.get(other.at(link)).shows(t, http.StatusOK, "screen-fallback")
	c.finds(1)
	f.endsWithoutEstimate(link)
}

// TestThePhonesLastAttempt: the desktop's page waits for it, and continues when
// it has ended.
func TestThePhonesLastAttempt(t *testing.T) {
	inOwnTime(t, func(t testing.TB) {
		f := newFixture(t, tenant.Tenant{}, scripted(stepBegun))
		desktop, phone := f.browser(), f.browser()
		link, phoneLink, _ := f.handedOver(desktop, true)
		phone.post(phoneLink+"/start", nil)
		f.attempts(link, session.MaxAttempts-1)
		c := phone.opened(phoneLink)
		c.send(frame(scriptNonce, 0))
		c.read()
		if got := desktop.handoverState(link); got != `{"state":"phone"}` {
			t.Errorf("while the phone films: %s", got)
		}
		c.conn.CloseNow()
		synctest.Wait()
		if got := desktop.handoverState(link); got != `{"state":"over"}` {
			t.Errorf("afterwards: %s", got)
		}
		f.endsWithoutEstimate(link)
		phone.get(phoneLink).shows(t, http.StatusOK, "notice-handover_done")
		desktop.get(link).shows(t, http.StatusOK, "screen-fallback")
	})
}

func TestThePhonesPageEndsALastAttemptThatWasCutOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepBegun))
	desktop, phone := f.browser(), f.browser()
	link, phoneLink, _ := f.handedOver(desktop, true)
	phone.post(phoneLink+"/start", nil)
	f.attempts(link, session.MaxAttempts)
	phone.get(phoneLink).shows(t, http.StatusOK, "notice-handover_done")
	f.endsWithoutEstimate(link)
}

// TestReloadsBeforeTheChallengeCostNothing: reloads before the challenge do not
// count as attempts.
func TestReloadsBeforeTheChallengeCostNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming, stepBegun))
	shopper := f.browser()
	link := f.session(true)
	shopper.post(link+"/start", nil)
	for range session.MaxAttempts + 1 {
		shopper.get(link).shows(t, http.StatusOK, "screen-primer")
		c := shopper.opened(link)
		c.send(frame(scriptNonce, 0))
		c.read()
		c.conn.CloseNow()
	}
	if s := f.stored(link); s.Attempts != 0 {
		t.Errorf("%d attempts before the challenge", s.Attempts)
	}
	c := shopper.opened(link)
	for seq := range uint32(2) {
		c.send(frame(scriptNonce, seq))
		c.read()
	}
	c.conn.CloseNow()
	shopper.get(link).shows(t, http.StatusOK, "screen-primer")
	if s := f.stored(link); s.Attempts != 1 {
		t.Errorf("%d attempts after a challenge", s.Attempts)
	}
}

// TestAnExpiredCheckNamesADocument: after a refused estimate, the page of an expired check advises a document as
// support's reply does, and only in the browser that made the check.
func TestAnExpiredCheckNamesADocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted(stepFraming))
	for _, refused := range []bool{false, true} {
		shopper, link := f.browser(), f.session(true)
		shopper.post(link+"/start", nil)
		if refused {
			_, err := f.sessions.Resolve(t.Context(), f.stored(link), session.CheckResult{Result: session.ResultFallback,
				Source: session.SourceCamera, Estimate: new(20.5), Cutoff: 25})
			must(t, err)
		}
		f.advance(48 * time.Hour)
		for b, says := range map[*browser]bool{shopper: refused, f.browser(): false} {
			page := b.get(link)
			page.shows(t, http.StatusGone, "notice-expired")
			if strings.Contains(page.body, "begin with a document") != says {
				t.Errorf("refused %t: whether the page advises a document is wrong in %s", refused, page.body)
			}
		}
	}
}

// TestAnExpiredSessionEndsItsStream: even while nothing is sent.
func TestAnExpiredSessionEndsItsStream(t *testing.T) {
	t.Parallel()
	t.Run("between two frames", func(t *testing.T) {
		f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
		shopper := f.browser()
		link := f.session(true)
		shopper.post(link+"/start", nil)
		f.advance(30*time.Minute - 100*time.Millisecond)
		c := shopper.opened(link)
		f.advance(100 * time.Millisecond)
		c.closes(closeReload)
		shopper.get(link).shows(t, http.StatusGone, "notice-expired")
	})
	t.Run("as the challenge begins", func(t *testing.T) {
		f := newFixture(t, tenant.Tenant{}, scripted(stepBegun))
		shopper := f.browser()
		link, c := f.begun(shopper)
		f.advance(30 * time.Minute)
		c.finds(0)
		shopper.get(link).shows(t, http.StatusGone, "notice-expired")
	})
}

func TestWhenNothingHadBegunThePageTriesAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(verdict(age.VerdictNoCapture, 0)))
	_, c := f.begun(f.browser())
	c.send(frame(scriptNonce, 0))
	if got := c.read(); got != `{"next":"retry"}` {
		t.Errorf("last message %s", got)
	}
	c.closes(closeReload)
}

func TestGoingOnWithoutTheCamera(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]tenant.Tenant{"document check off": {},
		"document check on": {DocumentCheck: true, AgeVisibility: true}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, settings, scripted(stepBegun, verdict(age.VerdictMet, 40)))
			shopper := f.browser()
			link := f.session(true)
			path := strings.TrimPrefix(link, f.server.URL)
			shopper.post(link+"/without-camera", nil).leadsTo(t, path)
			f.stillPending(link, "not begun")
			shopper.post(link+"/start", nil)
			f.browser().post(link+"/without-camera", nil).leadsTo(t, path)
			f.stillPending(link, "another browser")
			c := shopper.opened(link)
			c.send(frame(scriptNonce, 0))
			c.read()
			for range 2 {
				shopper.post(link+"/without-camera", nil).leadsTo(t, path)
				f.endsWithoutEstimate(link)
			}
			shopper.get(link).shows(t, http.StatusOK, f.shown())
			c.finds(1)
			f.endsWithoutEstimate(link)
		})
	}
}

func (f *fixture) stillPending(link, what string) {
	f.t.Helper()
	if s := f.stored(link); s.Status != session.StatusPending || s.DocumentOpen() {
		f.t.Errorf("%s: %s", what, s.Status)
	}
}

func TestGoingOnWithoutTheCameraOfThePhone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
	desktop, phone := f.browser(), f.browser()
	link, phoneLink, _ := f.handedOver(desktop, true)
	phone.post(phoneLink+"/without-camera", nil)
	f.stillPending(link, "before the phone had the code")
	phone.post(phoneLink+"/start", nil)
	desktop.post(link+"/handover", nil)
	phone.post(phoneLink+"/without-camera", nil).shows(t, http.StatusGone, "notice-handover_gone")
	f.stillPending(link, "a replaced code")

	next := found(t, phoneAddress, desktop.get(link+"/handover").body)
	phone.post(next+"/start", nil)
	phone.get(next).shows(t, http.StatusOK, "without-camera")
	phone.post(next+"/without-camera", nil).leadsTo(t, strings.TrimPrefix(next, f.server.URL))
	f.endsWithoutEstimate(link)
	phone.get(next).shows(t, http.StatusOK, "notice-handover_done")
	desktop.get(link).shows(t, http.StatusOK, "screen-fallback")
}

// TestThePhoneLeadsToADocument: a phone whose camera check ends at the offer of a document says that the
// other screen goes on, not that all is done.
func TestThePhoneLeadsToADocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted(stepFraming))
	desktop, phone := f.browser(), f.browser()
	link, phoneLink, _ := f.handedOver(desktop, true)
	phone.post(phoneLink+"/start", nil)
	phone.post(phoneLink+"/without-camera", nil)
	phone.get(phoneLink).shows(t, http.StatusOK, "notice-handover_document")
	desktop.get(link).shows(t, http.StatusOK, "screen-document")
	desktop.post(link+"/document", url.Values{"choice": {"decline"}})
	phone.get(phoneLink).shows(t, http.StatusOK, "notice-handover_done")
}

// TestALinkForAnotherBrowser: an app without a camera leads to a link to copy.
func TestALinkForAnotherBrowser(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
	shopper := f.browser()
	link := f.session(true)
	shopper.post(link+"/start", nil)
	next := strings.TrimPrefix(link, f.server.URL) + "/handover?link=first"
	shopper.post(link+"/handover", url.Values{"link": {"first"}}).leadsTo(t, next)
	page := shopper.get(f.server.URL + next)
	page.shows(t, http.StatusOK, "copy")
	if strings.Contains(page.body, "<img") {
		t.Error("the page shows a code to scan with the device that shows it")
	}
	if !strings.Contains(page.body, `href="?lang=de&amp;link=first"`) {
		t.Error("in another language the page is another one")
	}
	f.browser().get(found(t, phoneAddress, page.body)).shows(t, http.StatusOK, "screen-phone")
}

// TestWaitingPagesEndWithTheSession: when a session expires, the pages that wait for the
// shopper load the session's page again. The document's page mentions the camera check only
// to a shopper who has begun one.
func TestWaitingPagesEndWithTheSession(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.Passed)
	link, shopper := f.session(true), f.browser()
	path := strings.TrimPrefix(link, f.server.URL)
	for _, page := range []string{"", "/camera"} {
		if got := shopper.get(link + page).Header.Get("Refresh"); got != "1802; url="+path {
			t.Errorf("%q is refreshed by %q", page, got)
		}
		shopper.post(link+"/start", nil)
	}
	shopper.post(link+"/without-camera", nil)
	document := shopper.get(link)
	document.shows(t, http.StatusOK, "screen-document")
	if document.Header.Get("Refresh") == "" || strings.Contains(document.body, "camera check did not confirm") {
		t.Errorf("refreshed by %q:\n%s", document.Header.Get("Refresh"), document.body)
	}
	f.advance(time.Hour)
	if got := shopper.get(link).Header.Get("Refresh"); got != "" {
		t.Errorf("an ended session is refreshed by %q", got)
	}
}
