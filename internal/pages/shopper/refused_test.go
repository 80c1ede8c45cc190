package shopper

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/rules/tenant"
)

// TestWhyAndWhatNow: the page after a refusal names only the reason that applies,
// and links to the merchant's review if one is set. After a refused estimate it advises no other camera check.
func TestWhyAndWhatNow(t *testing.T) {
	t.Parallel()
	const review = "https://shop.example/review?a=1&b=2"
	texts := map[reason]string{
		whyEstimate: "look clearly older", whyNoEstimate: "before we could estimate", whyNoCamera: "camera gave the page no",
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
		}, whyDeclined},
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

// TestACameraWithoutPictures: where the camera gave no picture at last, the page of the refusal helps with that
// and not with the light, also after a document that was declined. Where pictures came since, it does not.
func TestACameraWithoutPictures(t *testing.T) {
	t.Parallel()
	const document, inBrowser = "begin with a document", "in your browser, such as"
	const none, ended, below, declined = "gave the page no picture", "before we could", "clearly older", "without showing"
	const missing, blocked, light = "a computer, connect a camera", "Allow the camera for this page", "face a window"
	unseen, below16 := verdict(age.VerdictNoCapture, 0), verdict(age.VerdictBelow, 16.2)
	for name, test := range map[string]struct {
		documents bool     // the tenant takes documents too
		does      string   // the acts of the shopper: "begin", "end", or a trouble that the browser names
		last      age.Step // of the attempt
		says, not []string
	}{
		"no camera":             {false, "missing end", unseen, []string{none, missing}, []string{ended, light}},
		"blocked later":         {false, "begin refused end", unseen, []string{ended, blocked}, []string{none, light}},
		"by the network":        {false, "blocked end", unseen, []string{ended, "Use mobile data"}, []string{none, light}},
		"in an app":             {false, "embedded end", unseen, []string{none, inBrowser}, []string{light}},
		"an attempt since":      {false, "missing begin end", unseen, []string{ended, light}, []string{none, missing}},
		"an estimate since":     {false, "missing begin", below16, []string{below}, []string{none, missing, light}},
		"a document declined":   {true, "refused end", unseen, []string{declined, blocked}, []string{none, light, document}},
		"so, after an estimate": {true, "refused begin", below16, []string{declined, document}, []string{blocked, light}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{DocumentCheck: test.documents}, scripted(stepBegun, test.last))
			shopper, link := f.browser(), f.session(true)
			shopper.post(link+"/start", nil)
			for act := range strings.FieldsSeq(test.does) {
				f.advance(time.Minute)
				switch act {
				case "begin":
					c := shopper.opened(link)
					c.send(frame(scriptNonce, 0))
					c.read()
					c.finds(1)
				case "end":
					shopper.post(link+"/without-camera", nil)
				default:
					shopper.post(link+"/trouble/"+act, nil)
				}
			}
			shopper.post(link+"/document", url.Values{"choice": {"decline"}})
			page := shopper.get(link)
			page.shows(t, http.StatusOK, "screen-fallback")
			contains(t, page.body, test.says...)
			if n := strings.Count(page.body, "lets you try again"); n > 1 {
				t.Errorf("%d points begin with the same words", n)
			}
			for _, text := range test.not {
				if strings.Contains(page.body, text) {
					t.Errorf("the page says %q", text)
				}
			}
		})
	}
}
