package shopper

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/check/document/photo"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// A tenant that takes documents only has no camera estimate made, whatever a
// browser asks for.
func TestDocumentOnlyTakesNoEstimate(t *testing.T) {
	t.Parallel()
	for name, capture := range map[string]func(session.Session, bool) Capture{
		"estimator on": scripted(), "estimator off": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tenant.Tenant{DocumentOnly: true, AgeVisibility: true}, capture)
			issuer := testIssuer(t, 1)
			f.trust(issuer)
			link, shopper := f.session(true), f.browser()
			path := strings.TrimPrefix(link, f.server.URL)

			a := shopper.get(link)
			a.shows(t, http.StatusOK, "screen-intro")
			if strings.Contains(a.body, `value="camera"`) || strings.Contains(a.body, "camera.js") {
				t.Error("the camera is offered")
			}
			shopper.post(link+"/start", url.Values{"choice": {"camera"}}).leadsTo(t, path)
			shopper.post(link+"/start", nil).leadsTo(t, path)
			shopper.post(link+"/consent", url.Values{"share": {"yes"}})
			shopper.get(link+"/camera").leadsTo(t, path)
			shopper.post(link+"/without-camera", nil).leadsTo(t, path)
			shopper.get(link).shows(t, http.StatusOK, "screen-intro")
			if s := f.stored(link); s.DocumentOpen() || s.Attempts != 0 || s.Status != session.StatusPending {
				t.Fatalf("%s, document open: %t, %d attempts", s.Status, s.DocumentOpen(), s.Attempts)
			}

			shopper.post(link+"/start", url.Values{"choice": {"document"}}).leadsTo(t, path+"/wallet")
			shopper.get(link).shows(t, http.StatusOK, "way-wallet")
			f.ask(shopper, link)
			f.answer(issuer, f.links(shopper, link)[wallet.SchemeOpenID], wallet.SampleDocument{Age: 30})
			shopper.get(link + "/wallet")
			f.expect(link, session.StatusPassed, session.WayWallet, 0)
		})
	}
}

// The first page promises of photographs what is true of them, and nothing where none are taken.
func TestDocumentOnlySaysWhatBecomesOfPictures(t *testing.T) {
	t.Parallel()
	for way, photographs := range map[string]bool{"": true, "photo": true, "wallet": false} {
		f := filmed(t, photo.Passed)
		on := true
		f.set(tenant.Changes{DocumentOnly: &on})
		if way != "" {
			f.allow(way)
		}
		body := f.browser().get(f.session(false)).body
		for _, text := range []string{"your face is compared with the photo in it", "rows of &lt;&lt;&lt;",
			"Not a driving licence", "deleted at once"} {
			if strings.Contains(body, text) != photographs {
				t.Errorf("ways %q: %q is said: %t", way, text, !photographs)
			}
		}
		if strings.Contains(body, "Use a wallet on your phone") == (way == "photo") {
			t.Errorf("ways %q: the page names a wallet wrongly", way)
		}
	}
}

// The introduction names the ways that the session has, as a gateway that trusts no issuer has in live mode. A way that
// is the only one needs no page to choose it, whether it is chosen here, instead of the camera or on the merchant's
// page.
func TestTheOnlyWayNeedsNoChoice(t *testing.T) {
	t.Parallel()
	for _, only := range []bool{true, false} {
		f := filmed(t, photo.Passed)
		f.set(tenant.Changes{DocumentOnly: &only})
		link, shopper := f.session(true), f.browser()
		a := shopper.get(link)
		a.shows(t, http.StatusOK, "screen-intro")
		if strings.Contains(strings.ToLower(a.body), "wallet") {
			t.Errorf("only documents: %t: a wallet is offered", only)
		}
		path := strings.TrimPrefix(link, f.server.URL)
		shopper.post(link+"/start", url.Values{"choice": {"document"}}).leadsTo(t, path+"/photo")
		shopper.get(link+"/photo").shows(t, http.StatusOK, "screen-photo")
		shopper.get(link).shows(t, http.StatusOK, "way-photo")
	}
}

func TestDocumentOnlyEndsAsFallback(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentOnly: true}, scripted())
	link, shopper := f.session(false), f.browser()
	shopper.get(link)
	shopper.post(link+"/start", url.Values{"choice": {"document"}})
	shopper.post(link+"/document", url.Values{"choice": {"decline"}})
	shopper.get(link).shows(t, http.StatusOK, "screen-fallback")
}

// A check that nobody can pass begins nothing and ends as nothing, so that it expires and is not billed.
func TestACheckThatNobodyCanPassIsNotBegun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentOnly: true}, scripted())
	link, shopper := f.session(true), f.browser() // in live mode no issuer is trusted at first
	a := shopper.get(link)
	a.shows(t, http.StatusOK, "document-unavailable")
	if strings.Contains(a.body, `data-testid="start"`) {
		t.Error("a check that nobody can pass is offered")
	}
	shopper.post(link+"/start", url.Values{"choice": {"document"}})
	shopper.post(link+"/document", url.Values{"choice": {"decline"}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link+"?asked", nil)
	must(t, err)
	req.Header.Set("Referer", "https://shop.example/")
	shopper.do(req).shows(t, http.StatusOK, "document-unavailable")
	if s := f.stored(link); s.DocumentOpen() || s.Status != session.StatusPending {
		t.Errorf("%s, document open: %t", s.Status, s.DocumentOpen())
	}
}

// Outcomes are forced as with an open document check.
func TestDocumentOnlyIsForced(t *testing.T) {
	t.Parallel()
	for force, want := range map[string]struct {
		status int
		end    session.Status
	}{
		"verified": {http.StatusSeeOther, session.StatusPassed},
		"fallback": {http.StatusOK, session.StatusFallback},
		"spoof":    {http.StatusBadRequest, session.StatusPending},
	} {
		f := newFixture(t, tenant.Tenant{DocumentOnly: true}, scripted())
		link := f.session(false)
		a := f.browser().get(link + "?force=" + force)
		if s := f.stored(link); a.StatusCode != want.status || s.Status != want.end {
			t.Errorf("%s: %d, %s", force, a.StatusCode, s.Status)
		}
		if force == "fallback" {
			contains(t, a.body, "You ended the check without showing a document")
		}
	}
}

// The setting ends camera checks that are under way, and strikes no longer count.
func TestDocumentOnlyEndsACameraCheck(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming, stepBegun))
	f.trust(testIssuer(t, 1))
	shopper := f.browser()
	link, c := f.begun(shopper)
	c.send(frame(scriptNonce, 0))
	c.read()
	on := true
	f.set(tenant.Changes{DocumentOnly: &on})
	c.send(frame(scriptNonce, 1))
	c.read()
	c.closes(closeReload)
	shopper.get(link).shows(t, http.StatusOK, "screen-intro")
	if _, err := f.sessions.Strike(t.Context(), f.stored(link), session.Claim{}); !isLate(err) {
		t.Errorf("a strike: %v", err)
	}
	shopper.post(link+"/start", url.Values{"choice": {"document"}})
	shopper.get(link).shows(t, http.StatusOK, "screen-document")
}
