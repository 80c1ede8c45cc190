package shopper

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document/photo"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

var (
	phoneAddress = regexp.MustCompile(`data-testid="address">(http[^<]+)<`)
	shownCode    = regexp.MustCompile(`data-testid="code">(\d{4})<`)
)

// found returns the expression's match in a page.
func found(t testing.TB, expression *regexp.Regexp, body string) string {
	t.Helper()
	m := expression.FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("the page has no %s:\n%s", expression, body)
	}
	return m[1]
}

// handedOver starts a session in a browser and offers it to a phone, whose
// link and code are returned.
func (f *fixture) handedOver(desktop *browser, livemode bool) (link, phoneLink, code string) {
	f.t.Helper()
	link = f.session(livemode)
	desktop.post(link+"/start", nil)
	desktop.post(link+"/handover", nil).leadsTo(f.t, strings.TrimPrefix(link, f.server.URL)+"/handover")
	page := desktop.get(link + "/handover")
	page.shows(f.t, http.StatusOK, "handover-waiting")
	return link, found(f.t, phoneAddress, page.body), found(f.t, shownCode, page.body)
}

func (b *browser) handoverState(link string) string {
	b.t.Helper()
	return strings.TrimSpace(b.get(link + "/handover/state").body)
}

func TestAPhoneMakesTheCheckAndTheDesktopIsRedirected(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepBegun, verdict(age.VerdictMet, 40)))
	desktop, phone := f.browser(), f.browser()
	link, phoneLink, code := f.handedOver(desktop, true)
	if got := desktop.handoverState(link); got != `{"state":"waiting"}` {
		t.Errorf("state %s", got)
	}
	page := phone.get(phoneLink)
	page.shows(t, http.StatusOK, "screen-phone")
	if got := found(t, shownCode, page.body); got != code || !strings.Contains(page.body, "Corner Shop") {
		t.Errorf("the phone shows %s, the desktop %s", got, code)
	}
	contains(t, page.body, "Are you 18 or over?", "Your camera looks at your face", "The pictures are deleted at once",
		"Corner Shop learns whether and how")
	phone.post(phoneLink+"/start", nil).leadsTo(t, strings.TrimPrefix(phoneLink, f.server.URL))
	primer := phone.get(phoneLink)
	primer.shows(t, http.StatusOK, "screen-primer")
	contains(t, primer.body, "Are you 18 or over?")
	if got := desktop.handoverState(link); got != `{"state":"phone"}` {
		t.Errorf("state %s", got)
	}
	desktop.get(link+"/handover").shows(t, http.StatusOK, "handover-phone")

	f.advance(session.HandoverTTL) // the phone keeps what it accepted in time
	c := phone.camera(phoneLink)
	c.read()
	c.send(frame(scriptNonce, 0))
	c.read()
	c.send(frame(scriptNonce, 1))
	c.read()
	if got := desktop.handoverState(link); got != `{"state":"over"}` {
		t.Errorf("state %s", got)
	}
	desktop.get(link+"/handover").shows(t, http.StatusOK, "screen-onward") // which leads on to the link
	passing(t, desktop.get(link), f.stored(link).ID.String())
	done := phone.get(phoneLink)
	done.shows(t, http.StatusOK, "notice-handover_done")
	contains(t, done.body, "<h1>Age confirmed</h1>", "Your other screen continues by itself")
	if strings.Contains(done.body, "shop.example") {
		t.Error("the phone was given an address of the merchant")
	}
	phone.get(link).shows(t, http.StatusOK, "notice-completed")
}

// A phone says that the age was confirmed only if it was, and only if it has accepted the hand-over.
func TestAPhoneSaysHowTheCheckEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	for outcome, confirmed := range map[string]bool{"verified": true, "fallback": false, "spoof": false} {
		desktop, phone := f.browser(), f.browser()
		link, phoneLink, _ := f.handedOver(desktop, false)
		phone.post(phoneLink+"/start", nil)
		other, otherLink, _ := f.handedOver(desktop, false)
		desktop.get(link + "?force=" + outcome)
		desktop.get(other + "?force=" + outcome)
		ended := phone.get(phoneLink)
		ended.shows(t, http.StatusOK, "notice-handover_done")
		if strings.Contains(ended.body, "Age confirmed") != confirmed {
			t.Errorf("after %s the phone shows %s", outcome, ended.body)
		}
		if a := f.browser().get(otherLink); strings.Contains(a.body, "Age confirmed") {
			t.Error("a phone that accepted nothing learns of a pass")
		}
	}
}

// A phone that films a document of somebody too young leaves the end of the check to the other screen.
func TestAPhoneEndsNoDocumentCheck(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.UnderAge)
	link, desktop := f.agreed()
	desktop.post(link+"/handover", nil)
	address := found(t, phoneAddress, desktop.get(link+"/handover").body)
	phone := f.browser()
	greeted := phone.get(address).body
	contains(t, greeted, "Photograph a passport or an identity card", "The pictures are deleted at once")
	if strings.Contains(greeted, "Your camera looks at your face") {
		t.Error("the phone announces the camera check of an age")
	}
	phone.post(address+"/start", nil)
	phone.films(address)
	refused := phone.get(address + "?refused=under_age").body
	contains(t, refused, "Your document must show that you are 18 or over", "To stop, close this page")
	if strings.Contains(refused, `name="choice"`) {
		t.Error("the phone offers a form that it cannot send")
	}
}

func TestAHandoverIsForOnePhone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	desktop, phone, other := f.browser(), f.browser(), f.browser()
	_, phoneLink, _ := f.handedOver(desktop, true)
	other.get(phoneLink).shows(t, http.StatusOK, "screen-phone")
	phone.post(phoneLink+"/start", nil)
	other.post(phoneLink+"/start", nil)
	if a := other.post(f.server.URL+"/h/cAnArY/start", nil); a.StatusCode != http.StatusGone ||
		strings.Contains(a.body+a.Header.Get("Location"), "cAnArY") {
		t.Errorf("unknown link: %d, %s", a.StatusCode, a.Header)
	}
	other.get(phoneLink).shows(t, http.StatusGone, "notice-handover_gone")
	if a := other.get(phoneLink + "/stream"); a.StatusCode == http.StatusSwitchingProtocols || a.StatusCode < 400 {
		t.Errorf("stream for another phone: %d", a.StatusCode)
	}
	phone.get(phoneLink).shows(t, http.StatusOK, "screen-primer")
}

func TestAHandoverHasItsTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	desktop, phone := f.browser(), f.browser()
	link, phoneLink, _ := f.handedOver(desktop, true)
	f.advance(session.HandoverTTL)
	phone.post(phoneLink+"/start", nil)
	phone.get(phoneLink).shows(t, http.StatusGone, "notice-handover_gone")
	desktop.get(link+"/handover").shows(t, http.StatusOK, "handover-expired")

	desktop.post(link+"/handover", nil)
	fresh := found(t, phoneAddress, desktop.get(link+"/handover").body)
	if fresh == phoneLink {
		t.Error("the new code is the old one")
	}
	phone.get(fresh).shows(t, http.StatusOK, "screen-phone")
	phone.get(phoneLink).shows(t, http.StatusGone, "notice-handover_gone")
}

func TestOnlyTheSessionsBrowserHandsOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	desktop, other := f.browser(), f.browser()
	link, _, _ := f.handedOver(desktop, true)
	before := desktop.get(link + "/handover").body
	other.post(link+"/handover", nil).leadsTo(t, strings.TrimPrefix(link, f.server.URL))
	other.get(link+"/handover").leadsTo(t, strings.TrimPrefix(link, f.server.URL))
	if desktop.get(link+"/handover").body != before {
		t.Error("another browser has changed the code")
	}
}

// When the session expires during a hand-over, the phone says that it has expired, and not
// that the check is done: both after the codes were confirmed and before.
func TestAPhoneIsToldThatTheSessionHasExpired(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	phone, lateDesktop, late := f.browser(), f.browser(), f.browser()
	_, phoneLink, _ := f.handedOver(f.browser(), true)
	phone.post(phoneLink+"/start", nil)
	phone.get(phoneLink).shows(t, http.StatusOK, "screen-primer")
	link, _, _ := f.handedOver(lateDesktop, true)
	f.advance(f.stored(link).ExpiresAt.Sub(f.clock()) - time.Minute)
	lateDesktop.post(link+"/handover", nil)
	lateLink := found(t, phoneAddress, lateDesktop.get(link+"/handover").body)
	late.get(lateLink).shows(t, http.StatusOK, "screen-phone")
	f.advance(time.Minute)
	late.post(lateLink+"/start", nil).leadsTo(t, strings.TrimPrefix(lateLink, f.server.URL))
	for visitor, address := range map[*browser]string{phone: phoneLink, late: lateLink} {
		page := visitor.get(address)
		page.shows(t, http.StatusGone, "notice-expired")
		if strings.Contains(page.body, "shop.example") {
			t.Error("the phone was given an address of the merchant")
		}
	}
}

// A form that was refused leads back to the page it came from, without
// repeating anything of the request.
func TestARefusedFormLeadsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link, phoneLink, _ := f.handedOver(f.browser(), true)
	for page, shows := range map[string]string{link: "notice-elsewhere", phoneLink: "screen-phone"} {
		visitor := f.browser()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page+"/start", nil)
		must(t, err)
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		a := visitor.do(req)
		a.shows(t, http.StatusForbidden, "notice-refused")
		back, err := req.URL.Parse(found(t, regexp.MustCompile(`href="([^"]*)" data-testid="check"`), a.body))
		must(t, err)
		visitor.get(back.String()).shows(t, http.StatusOK, shows)
	}
}

// A phone cannot scan what it shows itself.
func TestAPhoneIsToldToScanWithTheOtherDevice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	shopper := f.browser()
	link, _, _ := f.handedOver(shopper, true)
	for agent, words := range map[string]string{
		"Mozilla/5.0 (Linux; Android 14; Pixel 8)": "with the other device",
		"Mozilla/5.0 (X11; Linux)":                 "your phone’s camera",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link+"/handover", nil)
		must(t, err)
		req.Header.Set("User-Agent", agent)
		contains(t, shopper.do(req).body, words)
	}
}

// TestAComputerWithoutACamera: it offers another device before its camera, until it is a phone or tablet that asks.
func TestAComputerWithoutACamera(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	shopper := f.browser()
	link, _, _ := f.handedOver(shopper, true)
	const primary, camera = `class="button primary" data-testid="use-phone"`, `data-do="open" data-testid="open-camera"`
	for _, step := range []struct {
		agent  string
		first  bool // the page begins with another device
		missed int  // how often another device is first on all screens
	}{
		{"Mozilla/5.0 (X11; Linux) Firefox/132.0", false, 1}, {"Mozilla/5.0 (X11; Linux) Firefox/132.0", true, 3},
		{"Mozilla/5.0 (iPhone)", false, 0},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link+"/camera", nil)
		must(t, err)
		req.Header.Set("User-Agent", step.agent)
		body := shopper.do(req).body
		first := strings.Contains(body, `class="button" `+camera)
		if n := strings.Count(body, primary); first != step.first || n != step.missed {
			t.Errorf("%s: another device comes first on %d screens, and at the beginning: %t", step.agent, n, first)
		}
		if said := strings.Contains(body, "Go on with another device, or connect a camera"); said != (step.missed > 0) {
			t.Errorf("%s: it has the advice to computers: %t", step.agent, said)
		}
		shopper.post(link+"/trouble/missing", nil)
	}
}
