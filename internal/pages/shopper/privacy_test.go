package shopper

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"agegate/internal/rules/tenant"
)

// TestPrivacy: the footer leads to the gateway's own page on privacy unless the
// tenant has one.
func TestPrivacy(t *testing.T) {
	t.Parallel()
	own := "https://shop.example/privacy"
	for _, row := range []struct{ set, want string }{{"", PrivacyPath}, {own, own}} {
		f := newFixture(t, tenant.Tenant{Links: tenant.Links{PrivacyURL: row.set}}, nil)
		shopper := f.browser()
		if page := shopper.get(f.session(true)); !strings.Contains(page.body, `href="`+row.want+`"`) {
			t.Errorf("no link to %s", row.want)
		}
		page := shopper.get(f.server.URL + PrivacyPath)
		page.shows(t, http.StatusOK, "screen-privacy")
		if strings.Contains(page.body, `href="`+PrivacyPath+`"`) {
			t.Error("the page on privacy links to itself")
		}
	}
}

// TestRetentionIsTold: the page on privacy says after how many days sessions are deleted
// where the operator has set it, and leads to the operator.
func TestRetentionIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, nil)
	at := f.server.URL + PrivacyPath
	const until, days, ask = "until the shop deletes it", "We delete all this 90\u00a0days after", `data-testid="ask"`
	if body := f.browser().get(at).body; !strings.Contains(body, until) || strings.Contains(body, ask) {
		t.Errorf("a gateway without settings says %s", body)
	}
	f.pages.cfg.Retention = 90 * 24 * time.Hour
	f.pages.cfg.Operator = Operator{Name: "Checks Co", Imprint: "https://age.example/imprint",
		Links: tenant.Links{HelpURL: "https://age.example/help"}}
	body := f.browser().get(at).body
	contains(t, body, "the attempts, why they gave no result, and what your browser said about its camera", "order number",
		"whether and how the check was passed, or why not")
	contains(t, body, days, "Checks Co runs this age check.", `href="https://age.example/imprint"`,
		`<a href="https://age.example/help" target="_blank" rel="noopener noreferrer" `+ask)
	if strings.Contains(body, until) {
		t.Error("it also speaks of a time that is not set")
	}
}

// TestPrivacyIsReadInPieces: on a phone, a text longer than this fills most of the screen, in any language.
func TestPrivacyIsReadInPieces(t *testing.T) {
	t.Parallel()
	piece, tag := regexp.MustCompile(`(?s)<(?:p|li)\b[^>]*>(.*?)</(?:p|li)>`), regexp.MustCompile(`<[^>]*>`)
	f := newFixture(t, tenant.Tenant{}, nil)
	for _, l := range f.pages.pages.Languages() {
		page := goldenScreens()["privacy"].rendered(t, f.pages.pages, l.Tag)
		for _, m := range piece.FindAllStringSubmatch(page, -1) {
			if text := tag.ReplaceAllString(m[1], ""); utf8.RuneCountInString(text) > 280 {
				t.Errorf("%s: %d letters in one piece: %s", l.Tag, utf8.RuneCountInString(text), text)
			}
		}
	}
}

// TestFamilies: the page explains how to allow the camera in the right browser.
func TestFamilies(t *testing.T) {
	t.Parallel()
	for userAgent, want := range map[string]string{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131.0 " +
			"Mobile/15E148 Safari/604.1": "ios",
		"Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile " +
			"Safari/537.36": "android",
		"Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 Firefox/132.0":   "android",
		"Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0": "firefox",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 " +
			"Edg/131.0.0.0": "chrome",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 " +
			"Safari/605.1.15": "safari",
		"curl/8.5.0": "",
	} {
		if got := familyOf(userAgent); got != want {
			t.Errorf("%q for %s, want %q", got, userAgent, want)
		}
	}
}
