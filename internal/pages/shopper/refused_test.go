package shopper

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/rules/tenant"
)

// TestWhyAndWhatNow: the page after a refusal names only the reason that applies,
// and links to the merchant's review if one is set. After a refused estimate it advises no other camera check.
func TestWhyAndWhatNow(t *testing.T) {
	t.Parallel()
	const review = "https://shop.example/review?a=1&b=2"
	texts := map[reason]string{
		whyEstimate: "look clearly older", whyNoEstimate: "before we could estimate",
		whyDocument: "document check has ended without confirming", whyDeclined: "without showing a document",
	}
	for name, test := range map[string]struct {
		settings tenant.Tenant
		end      func(f *fixture, b *browser) string
		why      reason
	}{
		"below": {tenant.Tenant{}, func(f *fixture, b *browser) string {
			link, c := f.begun(b)
			for i := range 3 {
				c.send(frame(scriptNonce, uint32(i)))
				c.read()
			}
			c.closes(closeReload)
			return link
		}, whyEstimate},
		"without the camera": {tenant.Tenant{}, func(f *fixture, b *browser) string {
			link := f.session(true)
			b.get(link)
			b.post(link+"/start", nil)
			b.post(link+"/without-camera", nil)
			return link
		}, whyNoEstimate},
		"document declined": {tenant.Tenant{DocumentCheck: true}, func(f *fixture, b *browser) string {
			link := f.session(false)
			b.get(link + "?force=fallback")
			b.post(link+"/document", url.Values{"choice": {"decline"}})
			return link
		}, whyDeclined},
		"document not passed, forced": {tenant.Tenant{DocumentCheck: true}, func(f *fixture, b *browser) string {
			link := f.session(false)
			b.get(link + "?force=fallback")
			b.get(link + "?force=fallback")
			return link
		}, whyDocument},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.settings, scripted(stepFraming, stepBegun, verdict(age.VerdictBelow, 16.2)))
			shopper := f.browser()
			link := test.end(f, shopper)
			page := shopper.get(link)
			page.shows(t, http.StatusOK, "screen-fallback")
			for why, text := range texts {
				if strings.Contains(page.body, text) != (why == test.why) {
					t.Errorf("%s: the page says %q, or does not", test.why, text)
				}
			}
			light, document := strings.Contains(page.body, "face a window"), strings.Contains(page.body, "begin with a document")
			if light != (test.why == whyNoEstimate) || document != (test.why == whyDocument || test.why == whyDeclined) {
				t.Errorf("%s: advice about another camera check: %v, about a document: %v", test.why, light, document)
			}
			if strings.Contains(page.body, `data-testid="review"`) || strings.Contains(page.body, "16.2") {
				t.Error("the page leads to a review that nobody set, or holds the estimate")
			}
			f.set(tenant.Changes{ReviewURL: new(review)})
			contains(t, shopper.get(link).body, `<a href="https://shop.example/review?a=1&amp;b=2" target="_blank" rel="noopener noreferrer" data-testid="review">`)
		})
	}
}
