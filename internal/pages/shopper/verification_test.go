package shopper

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/tenant"
)

// passing reports whether an answer is the success redirect.
func passing(t *testing.T, a answer, id string) {
	t.Helper()
	if a.StatusCode != http.StatusSeeOther {
		t.Fatalf("status %d, want 303", a.StatusCode)
	}
	to, err := url.Parse(a.Header.Get("Location"))
	must(t, err)
	q := to.Query()
	if to.Host != "shop.example" || q.Get("order") != "7" || q.Get("session") != id || q.Get("status") != "VERIFIED" ||
		q.Get("is_adult") != "true" || !strings.Contains(q.Get("token"), ".") {
		t.Errorf("redirect to %s", to)
	}
	if a.Header.Get("Referrer-Policy") != "no-referrer" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("redirect headers %v", a.Header)
	}
}

func TestTheShopperIsLedThroughTheScreens(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{AgeVisibility: true}, scripted())
	link := f.session(true)
	path := strings.TrimPrefix(link, f.server.URL)
	shopper := f.browser()

	shopper.get(link).shows(t, http.StatusOK, "screen-intro")
	if f.stored(link).BrowserHash != nil {
		t.Error("opening the link alone has bound the session")
	}
	shopper.post(link+"/start", nil).leadsTo(t, path)
	shopper.get(link).shows(t, http.StatusOK, "screen-consent")
	if body := shopper.get(link).body; strings.Contains(body, "checked") {
		t.Error("the consent box is ticked")
	}
	shopper.post(link+"/consent", url.Values{"share": {"yes"}}).leadsTo(t, path+"/camera")
	if f.stored(link).ConsentedAt == nil {
		t.Error("consent was not recorded")
	}
	shopper.get(link+"/camera").shows(t, http.StatusOK, "screen-primer")
	shopper.post(link+"/consent", nil).leadsTo(t, path+"/camera")
	if f.stored(link).ConsentedAt != nil {
		t.Error("consent was not withdrawn")
	}
}

// Mail scanners and previews also open links, and a form may be sent twice before
// its answer is read.
func TestAFormSentTwiceClaimsTheSessionOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(true)
	shopper := f.browser()
	shopper.get(link)
	lost := f.browser() // has the same cookie, but its answer is never seen
	address, err := url.Parse(link)
	must(t, err)
	lost.client.Jar.SetCookies(address, shopper.client.Jar.Cookies(address))
	lost.post(link+"/start", nil)
	shopper.post(link+"/start", nil)
	shopper.get(link).shows(t, http.StatusOK, "screen-primer")
}

func TestCookies(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"https": "__Host-agegate-", "http": "agegate-"} {
		f := newFixture(t, tenant.Tenant{}, scripted())
		var err error
		f.pages.pages, err = loadPages(base + "://verify.example")
		must(t, err)
		cookies := f.browser().get(f.session(true)).Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%d cookies", len(cookies))
		}
		c := cookies[0]
		if !strings.HasPrefix(c.Name, want) || c.Secure != (base == "https") || !c.HttpOnly ||
			c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			t.Errorf("%s: %v", base, c)
		}
	}
}

func TestAnErrorRepeatsNothingOfTheRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	for _, path := range []string{"/v/canary", "/v/canary/camera?canary=canary", "/v/canary/stream", "/h/canary",
		"/static/canary/canary.js", "/canary"} {
		a := f.browser().get(f.server.URL + path)
		if a.StatusCode < 400 || strings.Contains(a.body, "canary") {
			t.Errorf("%s: %d\n%s", path, a.StatusCode, a.body)
		}
	}
	a := f.browser().post(f.server.URL+"/v/canary/start", url.Values{"canary": {"canary"}})
	if a.StatusCode != http.StatusNotFound || strings.Contains(a.body, "canary") {
		t.Errorf("POST: %d\n%s", a.StatusCode, a.body)
	}
}

func TestASessionBelongsToTheBrowserThatStartedIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(true)
	first, second := f.browser(), f.browser()
	first.post(link+"/start", nil)
	second.get(link).shows(t, http.StatusOK, "notice-elsewhere")
	second.post(link+"/start", nil)
	second.get(link).shows(t, http.StatusOK, "notice-elsewhere")
	second.get(link+"/camera").leadsTo(t, strings.TrimPrefix(link, f.server.URL))
	if a := second.get(link + "/stream"); a.StatusCode != http.StatusForbidden {
		t.Errorf("stream of another browser: %d", a.StatusCode)
	}
	first.get(link).shows(t, http.StatusOK, "screen-primer")
}

func TestScreensOfASessionThatCannotGoOn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		livemode bool
		off      bool // estimator
		prepare  func(f *fixture, link string)
		status   int
		shows    string
	}{
		{"expired", true, false, func(f *fixture, _ string) { f.advance(time.Hour) }, http.StatusGone, "notice-expired"},
		{"estimator off, live", true, true, nil, http.StatusServiceUnavailable, "notice-not_available"},
		{"estimator off, test", false, true, nil, http.StatusOK, "camera-off"},
		{"completed in another browser", false, false, func(f *fixture, link string) {
			f.browser().get(link + "?force=fallback")
		}, http.StatusOK, "notice-completed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			capture := scripted()
			if test.off {
				capture = nil
			}
			f := newFixture(t, tenant.Tenant{}, capture)
			link := f.session(test.livemode)
			if test.prepare != nil {
				test.prepare(f, link)
			}
			a := f.browser().get(link)
			a.shows(t, test.status, test.shows)
			if a.Header.Get("Retry-After") != "" || strings.Contains(a.body, `data-testid="retry"`) {
				t.Error("it asks to try again, but waiting changes nothing")
			}
			if !strings.Contains(a.body, f.tenant.CancelURL) {
				t.Error("no way out")
			}
		})
	}
}

func TestUnknownLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	f.browser().get(f.server.URL+"/v/nothing").shows(t, http.StatusNotFound, "notice-unknown")
	f.browser().post(f.server.URL+"/v/nothing/start", nil).shows(t, http.StatusNotFound, "notice-unknown")
}

func TestUnsafeRequestsOfAnotherSiteAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(true)
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link+"/start", nil)
		must(t, err)
		req.Header.Set(header, value)
		f.browser().do(req).shows(t, http.StatusForbidden, "notice-refused")
	}
	if f.stored(link).BrowserHash != nil {
		t.Error("another site's form has bound the session")
	}
}

func TestPageHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	h := f.browser().get(f.session(true)).Header
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("policy %q lacks %q", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	if h.Get("Permissions-Policy") == "" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", h)
	}
}

// A shopper who cannot move their head says so once: the next attempt and another
// language keep the choice.
func TestTheCheckWithoutHeadTurnsStaysChosen(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{AgeVisibility: true}, scripted())
	shopper := f.browser()
	link := f.session(true)
	shopper.post(link+"/start", nil)
	const arrows = "Follow the arrows"
	if usual := shopper.get(link + "/camera"); !strings.Contains(usual.body, arrows) {
		t.Error("the usual check does not say that the head moves")
	}
	camera := shopper.get(link + "/camera?assisted=1")
	camera.shows(t, http.StatusOK, "assisted-on")
	if strings.Contains(camera.body, arrows) {
		t.Error("the page asks for head turns")
	}
	next := found(t, regexp.MustCompile(`data-link="([^"]*)"`), camera.body)
	shopper.get(f.server.URL+next).shows(t, http.StatusOK, "assisted-on")
	other := html.UnescapeString(found(t, regexp.MustCompile(`href="([^"]*lang=de[^"]*)"`), camera.body))
	shopper.get(link+"/camera"+other).shows(t, http.StatusOK, "assisted-on")
}
