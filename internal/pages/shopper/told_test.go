package shopper

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document/photo"
	"agegate/internal/check/document/wallet"
	"agegate/internal/check/document/wallet/wallettest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// notes returns what a session keeps of its attempts.
func (f *fixture) notes(link string) (why []string) {
	for _, back := range f.stored(link).Setbacks {
		why = append(why, back.Why)
	}
	return why
}

// TestAnAnswerThatProvesNothingIsKept: what a wallet answered in vain is kept with why, once each, by whichever way it
// came; the page of the end says the same. A document that waits to be refused is kept with why at once.
func TestAnAnswerThatProvesNothingIsKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	issuer := testIssuer(t, 1)
	f.trust(issuer)
	posted := func(link string, b *browser, by *wallet.SampleIssuer, d wallet.SampleDocument) {
		f.answer(by, f.links(b, link)[wallet.SchemeOpenID], d)
	}
	for name, tt := range map[string]struct {
		answer func(link string, b *browser)
		kept   string
		ends   string // what the page says after the shopper declined
	}{
		"unknown issuer": {func(link string, b *browser) {
			for range 3 {
				posted(link, b, testIssuer(t, 2), wallet.SampleDocument{Age: 40})
			}
		}, "wallet_issuer_unknown", "without confirming your age. We do not know the issuer of that document."},
		"in the browser": {func(link string, b *browser) {
			var requests []struct {
				Protocol string          `json:"protocol"`
				Data     json.RawMessage `json:"data"`
			}
			m := requestData.FindStringSubmatch(b.get(link + "/wallet").body)
			must(t, json.Unmarshal([]byte(html.UnescapeString(m[1])), &requests))
			data, err := wallettest.AnswerBrowser(testIssuer(t, 2), requests[0].Protocol, requests[0].Data, f.server.URL,
				wallet.SampleDocument{Age: 40}, f.clock())
			must(t, err)
			body, err := json.Marshal(map[string]any{"protocol": requests[0].Protocol, "data": data})
			must(t, err)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link+"/wallet/browser", bytes.NewReader(body))
			must(t, err)
			req.Header.Set("Sec-Fetch-Site", "same-origin")
			b.do(req)
		}, "wallet_issuer_unknown", "without confirming your age. We do not know the issuer of that document."},
		"declined in the wallet": {func(link string, b *browser) {
			to, _, err := issuer.AnswerLink(f.links(b, link)[wallet.SchemeOpenID], wallet.SampleDocument{}, f.clock())
			must(t, err)
			f.postAs(to, url.Values{"error": {"access_denied"}})
		}, "wallet_declined", "without showing a document"},
		"expired, and the page was left": {func(link string, b *browser) {
			posted(link, b, issuer, wallet.SampleDocument{Age: 40, Expired: true})
		}, "document_expired", ""},
	} {
		link, shopper := f.asked(true)
		f.advance(time.Minute)
		tt.answer(link, shopper)
		if got := f.notes(link); !slices.Equal(got, []string{tt.kept}) {
			t.Errorf("%s: kept %v", name, got)
		}
		if tt.ends != "" {
			shopper.post(link+"/document", url.Values{"choice": {"decline"}})
			contains(t, shopper.get(link).body, tt.ends, "begin with a document")
		} else if shopper.get(link + "/wallet"); !slices.Equal(f.notes(link), []string{tt.kept}) {
			t.Errorf("%s: kept %v after the refusal", name, f.notes(link))
		}
	}
	link, shopper := f.asked(false) // the sample wallet
	shopper.post(f.server.URL+sampleLink(f.links(shopper, link)[wallet.SchemeOpenID]),
		url.Values{"age": {"30"}, "kind": {"untrusted"}})
	if got := f.notes(link); len(got) != 1 || !strings.HasPrefix(got[0], session.NoteWallet) {
		t.Errorf("the sample wallet: kept %v", got)
	}
}

// TestFilmingThatBrokeOffIsKept: a camera check of a document that ends without an outcome is kept with its stage, and
// one with an outcome is not. The page of the end does not say that no document was shown.
func TestFilmingThatBrokeOffIsKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		frames int
		kept   []string
	}{"no picture": {0, nil}, "the document": {1, []string{"photo_document"}}, "an outcome": {2, []string{"doubtful"}}} {
		f := filmed(t, photo.Doubtful)
		link, shopper := f.agreed()
		f.advance(time.Minute)
		c := shopper.camera(link)
		c.read()
		for n := range tt.frames {
			c.send(frame(scriptNonce, uint32(n)))
			c.read()
		}
		c.conn.CloseNow()
		for f.pages.Recording() > 0 { // its end is not kept yet
			time.Sleep(time.Millisecond)
		}
		if got := f.notes(link); !slices.Equal(got, tt.kept) {
			t.Errorf("%s: kept %v", name, got)
		}
		shopper.post(link+"/document", url.Values{"choice": {"decline"}})
		if page := shopper.get(link).body; strings.Contains(page, "without showing a document") != (tt.kept == nil) ||
			strings.Contains(page, "No real document was clearly seen") != (tt.frames == 2) {
			t.Errorf("%s: whether the page says that none was shown, or was not clear, is wrong", name)
		}
	}
}

// TestAnotherBrowserIsKeptOnce: a second browser's visit of an open check is kept, once, and with nothing of it.
func TestAnotherBrowserIsKeptOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(true)
	f.browser().get(link)
	if f.browser().get(link); len(f.notes(link)) > 0 {
		t.Error("kept before the check was begun")
	}
	f.browser().post(link+"/start", nil)
	f.browser().get(link)
	first := f.stored(link).Setbacks
	f.advance(time.Minute)
	for range 30 {
		f.browser().get(link)
	}
	if got := f.stored(link).Setbacks; len(got) != 1 || got[0] != first[0] || got[0].Why != session.NoteOther {
		t.Errorf("kept %v", got)
	}
}

// TestNoMovementIsNoLowEstimate: after every attempt was used without the movements, the page says that no estimate was
// made, what was not seen and what helps, whether a document follows or not.
func TestNoMovementIsNoLowEstimate(t *testing.T) {
	t.Parallel()
	for why, says := range map[age.Reason]string{age.ReasonUnmoved: "Point your nose further where each arrow points.",
		age.ReasonAstray: "Slowly point your nose where each arrow points.", age.ReasonHasty: "Too fast for the camera.",
		age.ReasonDrawn: "Your face looked changed."} {
		for _, documents := range []bool{false, true} {
			f := newFixture(t, tenant.Tenant{DocumentCheck: documents}, scripted(stepBegun, unfinished(why)))
			shopper, link := f.browser(), f.session(false)
			shopper.post(link+"/start", nil)
			f.attempts(link, session.MaxAttempts-1)
			c := shopper.opened(link)
			c.send(frame(scriptNonce, 0))
			c.read()
			c.finds(1)
			page := shopper.get(link)
			page.shows(t, http.StatusOK, f.shown())
			contains(t, page.body, "before we could estimate your age. This does not mean that you are too young.", says)
			unseen := why == age.ReasonUnmoved || why == age.ReasonAstray
			if unseen != strings.Contains(page.body, "We did not see the movements") {
				t.Errorf("%s: whether the movements were not seen is wrong", why)
			}
			if strings.Contains(page.body, "did not confirm that you are") {
				t.Errorf("%s: the page says the same as after a low estimate", why)
			}
		}
	}
}
