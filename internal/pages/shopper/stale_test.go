package shopper

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// The tests in this file keep a camera stream open while the session changes
// elsewhere. What the stream then finds must be judged by the current state of
// the session, not by its state when the stream opened.

// opened returns a camera that has read the server's greeting.
func (b *browser) opened(link string) *camera {
	b.t.Helper()
	c := b.camera(link)
	for range 100 { // a place in line may be sent first
		if strings.Contains(c.read(), `"nonce"`) {
			return c
		}
	}
	b.t.Fatal("no place in line became free")
	return nil
}

// finds sends the frame for which the stream's script has its verdict, and waits
// until the page is asked to move on.
func (c *camera) finds(seq uint32) {
	c.t.Helper()
	c.send(frame(scriptNonce, seq))
	if got := c.read(); got != `{"next":"reload"}` {
		c.t.Errorf("the stream says %s", got)
	}
	c.closes(closeReload)
}

func TestAnOfferHoldsForTheStreamsOfOtherReplicas(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		verdict age.Step
		strikes int
	}{
		{"a pass", verdict(age.VerdictMet, 40), 0},
		{"a refusal", verdict(age.VerdictBelow, 12), 0},
		{"the last strike", verdict(age.VerdictSpoof, 0), session.MaxStrikes - 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted(stepBegun, verdict(age.VerdictBelow, 16)))
			other := f.replica(scripted(stepBegun, test.verdict))
			shopper := f.browser()
			link := f.session(true)
			shopper.post(link+"/start", nil)
			for range test.strikes {
				_, err := f.sessions.Strike(t.Context(), f.stored(link), session.Claim{})
				must(t, err)
			}
			late, c := shopper.opened(other.at(link)), shopper.opened(link)
			late.send(frame(scriptNonce, 0))
			late.read()
			c.send(frame(scriptNonce, 0))
			c.read()
			c.finds(1)
			shopper.get(link).shows(t, http.StatusOK, "screen-document")

			before := f.stored(link)
			late.finds(1)
			if after := f.stored(link); after.Status != session.StatusPending || !after.DocumentOpen() ||
				after.Strikes != before.Strikes {
				t.Errorf("%s with the document check open: %s, %d strikes", test.name, after.Status, after.Strikes)
			}
			shopper.get(other.at(link)).shows(t, http.StatusOK, "screen-document")
		})
	}
}

func TestConsentIsThatOfTheMomentOfTheVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		before, during string // what the shopper answers
		wanted         bool   // the tenant still wants the estimate
		kept           bool
	}{
		{"kept", "yes", "yes", true, true},
		{"withdrawn while framing", "yes", "no", true, false},
		{"given while framing", "no", "yes", true, true},
		{"no longer asked for", "yes", "yes", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{AgeVisibility: true},
				scripted(stepFraming, stepBegun, verdict(age.VerdictBelow, 16.5)))
			shopper := f.browser()
			link := f.session(true)
			shopper.post(link+"/start", nil)
			shopper.post(link+"/consent", url.Values{"share": {test.before}})
			c := shopper.opened(link)
			c.send(frame(scriptNonce, 0))
			c.read()
			shopper.post(link+"/consent", url.Values{"share": {test.during}}) // in another tab
			_, err := f.tenants.Update(t.Context(), audit.System("test"), f.tenant.ID,
				tenant.Changes{AgeVisibility: &test.wanted})
			must(t, err)
			c.send(frame(scriptNonce, 1))
			c.read()
			c.finds(2)
			after := f.stored(link)
			if after.Status != session.StatusFallback || (after.DetectedAge != nil) != test.kept {
				t.Errorf("%s, estimate kept %t, want %t", after.Status, after.DetectedAge != nil, test.kept)
			}
			shopper.get(link).shows(t, http.StatusOK, "screen-fallback")
		})
	}
}

func TestAPhoneWhoseCodeWasReplacedDecidesNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		frames uint32 // frames sent before the code is replaced
		script []age.Step
	}{
		{"before its attempt", 0, []age.Step{stepBegun}},
		{"a pass", 1, []age.Step{stepBegun, verdict(age.VerdictMet, 40)}},
		{"a refusal", 1, []age.Step{stepBegun, verdict(age.VerdictBelow, 12)}},
		{"a strike", 1, []age.Step{stepBegun, verdict(age.VerdictSpoof, 0)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{}, scripted(test.script...))
			desktop, phone := f.browser(), f.browser()
			link, phoneLink, _ := f.handedOver(desktop, true)
			phone.post(phoneLink+"/start", nil)
			c := phone.opened(phoneLink)
			for seq := range test.frames {
				c.send(frame(scriptNonce, seq))
				c.read()
			}
			desktop.post(link+"/handover", nil)
			before := f.stored(link)
			c.finds(test.frames)
			after := f.stored(link)
			if after.Status != session.StatusPending || after.Attempts != before.Attempts || after.Strikes != before.Strikes {
				t.Errorf("%s, %d attempts, %d strikes", after.Status, after.Attempts, after.Strikes)
			}
			phone.get(phoneLink).shows(t, http.StatusGone, "notice-handover_gone")
			if got := desktop.handoverState(link); got != `{"state":"waiting"}` {
				t.Errorf("state %s", got)
			}
		})
	}
}
