package shopper

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/check/document"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

var choosesDocument = url.Values{"choice": {"document"}}

// TestAChoiceOfADocumentIsOffered: only where the tenant's document check is on
// and has a way that the session can take.
func TestAChoiceOfADocumentIsOffered(t *testing.T) {
	t.Parallel()
	filmed := func(session.Session, bool) document.PhotoCheck { return nil }
	for name, tt := range map[string]struct {
		settings tenant.Tenant
		live     bool // sessions, in which no issuer of wallets is trusted
		photos   func(session.Session, bool) document.PhotoCheck
		prefer   string // the text of the choice; empty: no choice
	}{
		"document check off": {tenant.Tenant{}, false, filmed, ""},
		"both ways":          {tenant.Tenant{DocumentCheck: true}, false, filmed, "both"},
		"wallet alone": {tenant.Tenant{DocumentCheck: true, DocumentWays: []string{"wallet"}}, false, filmed,
			"wallet"},
		"photo alone": {tenant.Tenant{DocumentCheck: true, DocumentWays: []string{"photo"}}, false, filmed,
			"photo"},
		"live, no issuer trusted":  {tenant.Tenant{DocumentCheck: true}, true, filmed, "photo"},
		"live, no way can be used": {tenant.Tenant{DocumentCheck: true}, true, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tt.settings, scripted())
			f.photos = tt.photos
			f = f.replica(scripted())
			link, shopper := f.session(tt.live), f.browser()
			a := shopper.get(link)
			a.shows(t, http.StatusOK, "screen-intro")
			if offered := strings.Contains(a.body, `data-testid="prefer-document"`); offered != (tt.prefer != "") {
				t.Errorf("offered: %t", offered)
			}
			if cameraOnly := strings.Contains(a.body, `class="button scripted"`); cameraOnly != (tt.prefer == "photo") {
				t.Errorf("a browser without scripts has no use for a document: %t", cameraOnly)
			}
			text := map[string]string{"both": "With a wallet app, such as",
				"wallet": "With the EU’s age verification app", "photo": "With a photo of your passport"}[tt.prefer]
			if !strings.Contains(a.body, text) {
				t.Errorf("the page does not say %q", text)
			}
			only := map[string]string{"wallet": "/wallet", "photo": "/photo"}[tt.prefer]
			shopper.post(link+"/start", choosesDocument).leadsTo(t, strings.TrimPrefix(link, f.server.URL)+only)
			if s := f.stored(link); s.DocumentOpen() != (tt.prefer != "") || s.DocumentPreferred != s.DocumentOpen() ||
				s.Status != session.StatusPending {
				t.Errorf("%s, document open: %t, preferred: %t", s.Status, s.DocumentOpen(), s.DocumentPreferred)
			}
		})
	}
}

// TestAPreferredDocument: the document check opens once, costs nothing until it
// ends, and ends like any other.
func TestAPreferredDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true, AgeVisibility: true}, scripted(stepFraming))
	f.photos = func(session.Session, bool) document.PhotoCheck { return nil }
	f = f.replica(scripted(stepFraming))
	link, shopper := f.session(true), f.browser()
	path := strings.TrimPrefix(link, f.server.URL)
	shopper.get(link)
	shopper.post(link+"/start", choosesDocument).leadsTo(t, path+"/photo")
	shopper.post(link+"/start", choosesDocument).leadsTo(t, path) // a double click
	a := shopper.get(link)
	a.shows(t, http.StatusOK, "screen-document")
	if !strings.Contains(a.body, "Show your age with a document") || strings.Contains(a.body, "did not confirm") {
		t.Error("the page speaks of a camera check")
	}
	s := f.stored(link)
	if !s.DocumentPreferred || s.Attempts != 0 || s.BegunAt != nil || s.Basis.Cutoff != nil {
		t.Errorf("stored %+v", s)
	}
	f.endsWithoutEstimate(link)

	shopper.post(link+"/start", url.Values{"choice": {"camera"}}).leadsTo(t, path)
	shopper.camera(link).closes(closeReload)
	f.browser().get(link).shows(t, http.StatusOK, "notice-elsewhere")
	f.browser().post(link+"/start", choosesDocument).leadsTo(t, path)

	shopper.post(link+"/document", url.Values{"choice": {"decline"}}).leadsTo(t, path)
	shopper.get(link).shows(t, http.StatusOK, "screen-fallback")
	f.hasEnded(link, 1)
}

// TestAChoiceThatComesTooLate changes nothing: after an attempt the camera page
// has a way on without the camera, and a tenant may turn the document check off
// while the page is open.
func TestAChoiceThatComesTooLate(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func(f *fixture, shopper *browser, link string){
		"an attempt has begun": func(f *fixture, shopper *browser, link string) {
			shopper.post(link+"/start", nil)
			f.attempts(link, 1)
		},
		"the document check was turned off": func(f *fixture, _ *browser, _ string) { f.set(tenant.Changes{DocumentCheck: new(bool)}) },
		"the camera was chosen, the document check was turned off": func(f *fixture, shopper *browser, link string) {
			shopper.post(link+"/start", nil)
			f.set(tenant.Changes{DocumentCheck: new(bool)})
		},
		"the session is in another browser": func(f *fixture, _ *browser, link string) {
			f.browser().post(link+"/start",
				nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
			link, shopper := f.session(false), f.browser()
			shopper.get(link).shows(t, http.StatusOK, "screen-intro")
			late(f, shopper, link)
			before := f.stored(link)
			shopper.post(link+"/start", choosesDocument).leadsTo(t, strings.TrimPrefix(link, f.server.URL))
			after := f.stored(link)
			if after.Status != session.StatusPending || after.DocumentOpen() ||
				string(after.BrowserHash) != string(before.BrowserHash) {
				t.Errorf("%s, document open: %t, bound: %t", after.Status, after.DocumentOpen(), after.BrowserHash != nil)
			}
		})
	}
	t.Run("an unknown choice", func(t *testing.T) {
		f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
		link := f.session(false)
		f.browser().post(link+"/start", url.Values{"choice": {"wallet"}}).shows(t, http.StatusBadRequest, "notice-refused")
		if f.stored(link).BrowserHash != nil {
			t.Error("the session is bound")
		}
	})
}

// TestWithoutTheCameraADocumentFollows: the button says so where it does, here
// and on a phone.
func TestWithoutTheCameraADocumentFollows(t *testing.T) {
	t.Parallel()
	const text = "Use a document instead"
	for name, tt := range map[string]struct {
		settings tenant.Tenant
		live     bool
		says     bool
	}{
		"document check off":         {tenant.Tenant{}, false, false},
		"document check on":          {tenant.Tenant{DocumentCheck: true}, false, true},
		"on, and no way can be used": {tenant.Tenant{DocumentCheck: true}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tt.settings, scripted())
			shopper, phone := f.browser(), f.browser()
			link, phoneLink, _ := f.handedOver(shopper, tt.live)
			a := shopper.get(link)
			a.shows(t, http.StatusOK, "without-camera")
			if says := strings.Contains(a.body, text); says != tt.says {
				t.Errorf("says that a document follows: %t", says)
			}
			phone.get(phoneLink)
			phone.post(phoneLink+"/start", nil)
			a = phone.get(phoneLink)
			a.shows(t, http.StatusOK, "without-camera")
			if says := strings.Contains(a.body, text); says != tt.says {
				t.Errorf("the phone says that a document follows: %t", says)
			}
		})
	}
}

// TestAMerchantHasAsked: a shopper from the merchant's own page does not read the same
// question again, but what is filmed, and chooses or consents where there is something to.
func TestAMerchantHasAsked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings      tenant.Tenant
		query, from   string
		shows, stands string // what the page shows, and what it must not show
	}{
		"asked":           {tenant.Tenant{}, "?asked&lang=de", "https://shop.example/", `data-testid="asked"`, "screen-intro"},
		"from elsewhere":  {tenant.Tenant{}, "?asked", "https://evil.example/", "screen-intro", "screen-primer"},
		"by http":         {tenant.Tenant{}, "?asked", "http://shop.example/", "screen-intro", "screen-primer"},
		"no referrer":     {tenant.Tenant{}, "?asked", "", "screen-intro", "screen-primer"},
		"not asked":       {tenant.Tenant{}, "", "https://shop.example/", "screen-intro", "screen-primer"},
		"with a consent":  {tenant.Tenant{AgeVisibility: true}, "?asked", "https://shop.example/", "screen-intro", "screen-primer"},
		"with a choice":   {tenant.Tenant{DocumentCheck: true}, "?asked", "https://shop.example/", "prefer-document", "screen-primer"},
		"documents alone": {tenant.Tenant{DocumentOnly: true}, "?asked", "https://shop.example/", "screen-document", "screen-intro"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tt.settings, scripted())
			f.photos = func(session.Session, bool) document.PhotoCheck { return nil }
			f = f.replica(scripted())
			link, shopper := f.session(false), f.browser()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link+tt.query, nil)
			must(t, err)
			req.Header.Set("Referer", tt.from)
			a := shopper.do(req)
			if a.StatusCode == http.StatusSeeOther {
				a = shopper.get(f.server.URL + a.Header.Get("Location"))
			}
			if !strings.Contains(a.body, tt.shows) || strings.Contains(a.body, tt.stands) {
				t.Errorf("%d, want %s and not %s:\n%s", a.StatusCode, tt.shows, tt.stands, a.body)
			}
		})
	}
}
