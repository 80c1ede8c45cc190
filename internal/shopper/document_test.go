package shopper

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/session"
	"agegate/internal/tenant"
)

func TestDocumentOffer(t *testing.T) {
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
	shopper.post(link+"/document", url.Values{"choice": {"accept"}}).leadsTo(t, path+"/document")
	shopper.get(link+"/document").shows(t, http.StatusOK, "document-unavailable")
	if !f.stored(link).ExpiresAt.After(before) {
		t.Error("a step did not move the expiry")
	}
	shopper.post(link+"/document", url.Values{"choice": {"decline"}}).leadsTo(t, path)
	shopper.get(link).shows(t, http.StatusOK, "screen-fallback")
	shopper.get(link+"/document").leadsTo(t, path)
}

func TestDocumentChoiceMustBeKnown(t *testing.T) {
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	link := f.session(false)
	shopper := f.browser()
	shopper.get(link + "?force=fallback")
	shopper.post(link+"/document", nil).shows(t, http.StatusBadRequest, "notice-refused")
}

// reader stands for an installed document check.
type reader struct{}

func (reader) Begin(context.Context, session.Session) (string, error) {
	return "/d/first-page", nil
}

func TestAnInstalledReaderTakesOver(t *testing.T) {
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	f.pages.cfg.Documents = reader{}
	link := f.session(false)
	shopper := f.browser()
	shopper.get(link + "?force=fallback")
	shopper.post(link+"/document", url.Values{"choice": {"accept"}})
	shopper.get(link+"/document").leadsTo(t, "/d/first-page")
}

// A form must not lead to the merchant's site by a chain of redirects, which
// form-action would cut.
func TestAFormAfterThePassLeadsOnByAPage(t *testing.T) {
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
