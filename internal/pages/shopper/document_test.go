package shopper

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/photo"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

func TestDocumentOffer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	link := f.session(false)
	path := strings.TrimPrefix(link, f.server.URL)
	shopper := f.browser()
	shopper.get(link+"?force=fallback").shows(t, http.StatusOK, "screen-document")

	f.browser().post(link+"/document", url.Values{"choice": {"decline"}})
	if got := f.stored(link).Status; got != session.StatusPending {
		t.Fatalf("another browser declined: %s", got)
	}
	f.advance(20 * time.Minute)
	before := f.stored(link).ExpiresAt
	shopper.post(link+"/document", url.Values{"choice": {"wallet"}}).leadsTo(t, path+"/wallet")
	shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-wallet")
	if !f.stored(link).ExpiresAt.After(before) {
		t.Error("a step did not move the expiry")
	}
	shopper.post(link+"/document", url.Values{"choice": {"decline"}}).leadsTo(t, path)
	shopper.get(link).shows(t, http.StatusOK, "screen-fallback")
	shopper.get(link+"/document").leadsTo(t, path)
}

// If there is no way, the page says so and the offer can be declined: in live
// mode no issuer is trusted at first.
func TestNoWayIsLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	link := f.session(true)
	shopper := f.browser()
	f.offer(shopper, link)
	a := shopper.get(link)
	a.shows(t, http.StatusOK, "document-unavailable")
	if strings.Contains(a.body, "way-wallet") {
		t.Error("a wallet is offered, and no issuer is trusted")
	}
	shopper.post(link+"/document", url.Values{"choice": {"wallet"}}).shows(t, http.StatusBadRequest, "notice-refused")
	shopper.post(link+"/document", url.Values{"choice": {"decline"}})
	shopper.get(link).shows(t, http.StatusOK, "screen-fallback")
}

// Without scripts no camera opens, but a wallet answers: only then does the camera's page
// lead to the documents.
func TestACameraPageWithoutScriptsLeadsToAWallet(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.Passed)
	for ways, want := range map[string]bool{"wallet": true, "wallet,photo": true, "photo": false} {
		f.allow(strings.Split(ways, ",")...)
		link, shopper := f.session(false), f.browser()
		shopper.post(link+"/start", nil)
		_, rest, _ := strings.Cut(shopper.get(link+"/camera").body, "<noscript>")
		alternative, _, _ := strings.Cut(rest, "</noscript>")
		if !strings.Contains(alternative, "no-script") || strings.Contains(alternative, "without-camera") != want {
			t.Errorf("%s: %s", ways, alternative)
		}
		shopper.post(link+"/without-camera", nil)
		shopper.get(link).shows(t, http.StatusOK, "screen-document")
	}
}

func TestDocumentChoiceMustBeKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	link := f.session(false)
	shopper := f.browser()
	shopper.get(link + "?force=fallback")
	for _, choice := range []string{"", "accept", "photo", "wallet/../x"} {
		shopper.post(link+"/document", url.Values{"choice": {choice}}).shows(t, http.StatusBadRequest, "notice-refused")
	}
}

// A form must not lead to the merchant's site by a chain of redirects, which
// form-action would block.
func TestAFormAfterThePassLeadsOnByAPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	link := f.session(false)
	shopper := f.browser()
	shopper.get(link + "?force=fallback")
	shopper.get(link + "?force=verified")
	a := shopper.post(link+"/document", url.Values{"choice": {"decline"}})
	a.shows(t, http.StatusOK, "screen-onward")
	if !strings.Contains(a.body, `content="0;url=`+strings.TrimPrefix(link, f.server.URL)+`"`) {
		t.Error("the page does not lead on")
	}
}
