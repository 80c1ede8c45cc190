package shopper

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document"
	"agegate/internal/check/document/photo"
	"agegate/internal/check/document/wallet"
	"agegate/internal/check/document/wallet/wallettest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// offer opens the document check of a session for a browser, like a refused
// estimate.
func (f *fixture) offer(b *browser, link string) {
	f.t.Helper()
	b.get(link)
	b.post(link+"/start", nil)
	sess := f.stored(link)
	_, err := f.sessions.Resolve(f.t.Context(), sess,
		session.CheckResult{Result: session.ResultFallback, Source: session.SourceCamera})
	must(f.t, err)
}

// asked returns a browser whose session waits for a wallet.
func (f *fixture) asked(livemode bool) (link string, shopper *browser) {
	f.t.Helper()
	link, shopper = f.session(livemode), f.browser()
	f.offer(shopper, link)
	f.ask(shopper, link)
	return link, shopper
}

// ask chooses the wallet.
func (f *fixture) ask(shopper *browser, link string) {
	f.t.Helper()
	shopper.post(link+"/document", url.Values{"choice": {"wallet"}}).leadsTo(f.t, strings.TrimPrefix(link, f.server.URL)+
		"/wallet")
}

var (
	appLink     = regexp.MustCompile(`href="(openid4vp|haip-vp|av)(://[^"]+)"`)
	requestData = regexp.MustCompile(`data-requests="([^"]+)"`)
)

// links returns the links to wallets that the page shows, by scheme.
func (f *fixture) links(shopper *browser, link string) map[string]string {
	f.t.Helper()
	a := shopper.get(link + "/wallet")
	a.shows(f.t, http.StatusOK, "screen-wallet")
	found := map[string]string{}
	for _, m := range appLink.FindAllStringSubmatch(a.body, -1) {
		found[m[1]] = html.UnescapeString(m[1] + m[2])
	}
	return found
}

// testIssuer returns an issuer made for the test.
func testIssuer(t testing.TB, secret byte) *wallet.SampleIssuer {
	t.Helper()
	issuer, err := wallet.NewSampleIssuer(bytes.Repeat([]byte{secret}, 32))
	must(t, err)
	return issuer
}

// trust adds an issuer to the trust list, for every kind of document.
func (f *fixture) trust(issuer *wallet.SampleIssuer) {
	f.t.Helper()
	f.trustFor(issuer, wallet.DocTypes()...)
}

// trustFor adds an issuer to the trust list for kinds of documents.
func (f *fixture) trustFor(issuer *wallet.SampleIssuer, docTypes ...string) {
	f.t.Helper()
	for _, entry := range issuer.Trusted() {
		if !slices.Contains(docTypes, entry.DocType) {
			continue
		}
		_, err := document.NewTrust(f.db, f.clock).Add(f.t.Context(), audit.System("test"), document.NewIssuer{
			Name: "Utopia", Country: "UT", DocType: entry.DocType, SignerUsage: document.AnySignerUsage,
			PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: entry.Certificate.Raw}),
		})
		must(f.t, err)
	}
}

// answer posts a wallet's answer to the address that the request names.
func (f *fixture) answer(issuer *wallet.SampleIssuer, request string, d wallet.SampleDocument) answer {
	f.t.Helper()
	to, form, err := issuer.AnswerLink(request, d, f.clock())
	must(f.t, err)
	return f.postAs(to, form)
}

// postAs posts a form like an app: without a cookie and without an origin.
func (f *fixture) postAs(to string, form url.Values) answer {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, to, strings.NewReader(form.Encode()))
	must(f.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return f.browser().do(req)
}

func (f *fixture) expect(link string, status session.Status, way session.Way, attempts int) {
	f.t.Helper()
	if s := f.stored(link); s.Status != status || s.DocumentWay != way || s.DocumentAttempts != attempts {
		f.t.Errorf("the session is %s by %q after %d documents, want %s by %q after %d", s.Status, s.DocumentWay,
			s.DocumentAttempts, status, way, attempts)
	}
}

func TestAWalletProvesTheAge(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{wallet.SchemeOpenID, wallet.SchemeProofOfAge} {
		for _, livemode := range []bool{false, true} {
			f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
			issuer := testIssuer(t, 1)
			f.trust(issuer)
			link, shopper := f.asked(livemode)
			path := strings.TrimPrefix(link, f.server.URL)
			request := f.links(shopper, link)[scheme]
			a := f.answer(issuer, request, wallet.SampleDocument{Age: 18})
			if want := `{"redirect_uri":"` + link + `/wallet"}`; a.StatusCode != http.StatusOK ||
				strings.TrimSpace(a.body) != want {
				t.Errorf("%s: %d %s, want %s", scheme, a.StatusCode, a.body, want)
			}
			f.expect(link, session.StatusPending, "", 0)
			if again := f.answer(issuer, request, wallet.SampleDocument{Age: 18}); again.StatusCode != http.StatusBadRequest {
				t.Errorf("a second answer: %d", again.StatusCode)
			}
			// A relayed code: the browser that answered it is not the shopper's.
			f.browser().get(link+"/wallet").leadsTo(t, path)
			f.expect(link, session.StatusPending, "", 0)
			shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-onward")
			f.expect(link, session.StatusPassed, session.WayWallet, 0)
			if to := shopper.get(link).Header.Get("Location"); !strings.HasPrefix(to, "https://shop.example/done?") {
				t.Errorf("the pass leads to %q", to)
			}
		}
	}
}

func TestAWalletInTheBrowserProvesTheAge(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	issuer := testIssuer(t, 1)
	f.trust(issuer)
	for n := range 3 {
		link, shopper := f.asked(true)
		path := strings.TrimPrefix(link, f.server.URL)
		stranger := f.browser()
		var requests []struct {
			Protocol string          `json:"protocol"`
			Data     json.RawMessage `json:"data"`
		}
		m := requestData.FindStringSubmatch(shopper.get(link + "/wallet").body)
		must(t, json.Unmarshal([]byte(html.UnescapeString(m[1])), &requests))
		if len(requests) != 3 {
			t.Fatalf("%d requests", len(requests))
		}
		present := func(b *browser, issuer *wallet.SampleIssuer, origin string, age int) answer {
			data, err := wallettest.AnswerBrowser(issuer, requests[n].Protocol, requests[n].Data, origin,
				wallet.SampleDocument{Age: age}, f.clock())
			must(t, err)
			body, err := json.Marshal(map[string]any{"protocol": requests[n].Protocol, "data": data})
			must(t, err)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link+"/wallet/browser", bytes.NewReader(body))
			must(t, err)
			req.Header.Set("Sec-Fetch-Site", "same-origin")
			return b.do(req)
		}
		says := func(a answer, want string) {
			t.Helper()
			if a.StatusCode != http.StatusOK || strings.TrimSpace(a.body) != want {
				t.Errorf("%d %s, want %s", a.StatusCode, a.body, want)
			}
		}
		says(present(stranger, issuer, f.server.URL, 30), `{"next":"`+path+`"}`)
		f.expect(link, session.StatusPending, "", 0)
		says(present(shopper, testIssuer(t, 2), f.server.URL, 30), `{"refused":"issuer_unknown"}`)
		says(present(shopper, issuer, "https://phishing.example", 30), `{"refused":"unverified"}`)
		f.expect(link, session.StatusPending, "", 0)
		says(present(shopper, issuer, f.server.URL, 17), `{"next":"`+path+`?refused=under_age"}`)
		f.expect(link, session.StatusPending, session.WayWallet, 1)
		young := shopper.get(link + "?refused=under_age")
		young.shows(t, http.StatusOK, "refused-under_age")
		_, below, _ := strings.Cut(young.body, `data-testid="way-wallet"`)
		contains(t, below, youngEnds)
		contains(t, young.body, "Your document must show that you are 18 or over")
		says(present(shopper, issuer, f.server.URL, 30), `{"next":"`+path+`"}`) // its request is over
		f.ask(shopper, link)
		f.answer(issuer, f.links(shopper, link)[wallet.SchemeOpenID], wallet.SampleDocument{Age: 17})
		// What a wallet posted is applied first; its refusal is shown and counts.
		says(present(shopper, issuer, f.server.URL, 30), `{"next":"`+path+`/wallet"}`)
		shopper.get(link+"/wallet").leadsTo(t, path+"?refused=under_age")
		f.expect(link, session.StatusPending, session.WayWallet, 2)
		f.ask(shopper, link)
		m = requestData.FindStringSubmatch(shopper.get(link + "/wallet").body)
		must(t, json.Unmarshal([]byte(html.UnescapeString(m[1])), &requests))
		says(present(shopper, issuer, f.server.URL, 18), `{"next":"`+path+`"}`)
		f.expect(link, session.StatusPassed, session.WayWallet, 2)
	}
}

// Only documents that were read and refused count, and the third one ends the
// check.
func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	issuer := testIssuer(t, 1)
	f.trust(issuer)
	link, shopper := f.asked(false)
	path := strings.TrimPrefix(link, f.server.URL)
	other, _ := f.asked(false)
	for n, tt := range []struct {
		document wallet.SampleDocument
		leadsTo  string
		shows    string
	}{
		{wallet.SampleDocument{Age: 17}, path + "?refused=under_age", "refused-under_age"},
		{wallet.SampleDocument{Age: 60, Expired: true}, path + "?refused=expired", "refused-expired"},
		{wallet.SampleDocument{Age: 3}, path, "screen-fallback"},
	} {
		request := f.links(shopper, link)[wallet.SchemeOpenID]
		to, form, err := issuer.AnswerLink(request, wallet.SampleDocument{Age: 40}, f.clock())
		must(t, err)
		for name, a := range map[string]answer{
			"nothing":             f.postAs(to, nil),
			"no answer":           f.postAs(to, url.Values{"vp_token": {"{}"}, "response": {"a.b.c.d.e"}}),
			"too much":            f.postAs(to, url.Values{"vp_token": {strings.Repeat("x", 4*wallet.MaxResponseBytes)}}),
			"an unknown issuer's": f.answer(testIssuer(t, 2), request, wallet.SampleDocument{Age: 40}),
			"to another request":  f.postAs(to[:strings.LastIndex(to, "/")+1]+strings.Repeat("0", 32), form),
			"to another session":  f.postAs(strings.Replace(to, path, strings.TrimPrefix(other, f.server.URL), 1), form),
			"with another's request ID": f.postAs(strings.Replace(to, path+"/wallet", strings.TrimPrefix(other, f.server.URL)+
				"/wallet", 1), form),
		} {
			if a.StatusCode != http.StatusBadRequest || strings.TrimSpace(a.body) != `{"error":"invalid_request"}` {
				t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
			}
		}
		f.expect(link, session.StatusPending, f.stored(link).DocumentWay, n)
		if a := f.answer(issuer, request, tt.document); a.StatusCode != http.StatusOK {
			t.Fatalf("%+v: %d", tt.document, a.StatusCode)
		}
		shopper.get(link+"/wallet").leadsTo(t, tt.leadsTo)
		shopper.get(link+strings.TrimPrefix(tt.leadsTo, path)).shows(t, http.StatusOK, tt.shows)
		if n < 2 {
			f.expect(link, session.StatusPending, session.WayWallet, n+1)
			f.ask(shopper, link)
		}
	}
	f.expect(link, session.StatusFallback, session.WayWallet, session.MaxDocuments)
	f.expect(other, session.StatusPending, "", 0)
}

// A holder who declines, and a wallet that cannot answer, see a message and may
// continue; neither counts as a document.
func TestAWalletsError(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	link, shopper := f.asked(false)
	for _, scheme := range []string{wallet.SchemeOpenID, wallet.SchemeProofOfAge} {
		for code, says := range map[string]string{"access_denied": "You declined in your wallet",
			"vp_formats_not_supported": "Your wallet could not answer"} {
			to, form, err := testIssuer(t, 1).AnswerLink(f.links(shopper, link)[scheme], wallet.SampleDocument{Age: 40},
				f.clock())
			must(t, err)
			if len(form) != 1 {
				t.Fatal(form)
			}
			if a := f.postAs(to, url.Values{"error": {code}}); a.StatusCode != http.StatusOK ||
				strings.TrimSpace(a.body) != `{"redirect_uri":"`+link+`/wallet"}` {
				t.Errorf("%s: %d %s", code, a.StatusCode, a.body)
			}
			if page := shopper.get(link + "/wallet"); !strings.Contains(page.body, `data-testid="said">`+says) {
				t.Errorf("%s: the page does not say so", code)
			}
			f.expect(link, session.StatusPending, "", 0)
		}
	}
}

// Requests ask for documents of issuers on the trust list. The way is not offered
// while the list has no valid issuer.
func TestOnlyWhatIsTrustedIsAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	issuer := testIssuer(t, 1)
	link, shopper := f.session(true), f.browser()
	f.offer(shopper, link)
	shopper.get(link).shows(t, http.StatusOK, "screen-document")
	if a := shopper.post(link+"/document", url.Values{"choice": {"wallet"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("with nobody trusted: %d", a.StatusCode)
	}
	f.trustFor(issuer, wallet.DocTypeMDL)
	f.ask(shopper, link)
	found := f.links(shopper, link)
	if _, offered := found[wallet.SchemeProofOfAge]; offered ||
		strings.Contains(found[wallet.SchemeOpenID], wallet.DocTypeProofOfAge) {
		t.Errorf("a proof of age is asked for: %v", found)
	}
	page := html.UnescapeString(shopper.get(link + "/wallet").body)
	if strings.Contains(page, wallet.DocTypeProofOfAge) || !strings.Contains(page, wallet.DocTypeMDL) {
		t.Error("the page asks for something else than licences")
	}
	f.answer(issuer, found[wallet.SchemeOpenID], wallet.SampleDocument{Age: 18})
	shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-onward")
	f.expect(link, session.StatusPassed, session.WayWallet, 0)
}

// A waiting answer is applied before a way begins: choosing the wallet again, or
// the camera, drops no refusal and no proof. Opening the link again leads to it, too.
func TestAWaitingAnswerIsAppliedFirst(t *testing.T) {
	t.Parallel()
	begin := map[string]func(b *browser, link string) answer{
		"wallet": func(b *browser, link string) answer {
			return b.post(link+"/document", url.Values{"choice": {"wallet"}})
		},
		"photo": func(b *browser, link string) answer {
			return b.post(link+"/document", url.Values{"choice": {"photo"}})
		},
		"consent": func(b *browser, link string) answer { return b.post(link+"/photo", url.Values{"compare": {"yes"}}) },
		"link":    func(b *browser, link string) answer { return b.get(link) },
	}
	for name, begins := range begin {
		t.Run(name, func(t *testing.T) {
			f := filmed(t, photo.Passed)
			issuer := testIssuer(t, 1)
			f.trust(issuer)
			link, shopper := f.asked(true)
			path := strings.TrimPrefix(link, f.server.URL)
			for n := 1; n <= session.MaxDocuments; n++ {
				request := f.links(shopper, link)[wallet.SchemeOpenID]
				f.answer(issuer, request, wallet.SampleDocument{Age: 17})
				begins(shopper, link).leadsTo(t, path+"/wallet")
				a := shopper.get(link + "/wallet")
				if n == session.MaxDocuments {
					a.leadsTo(t, path)
					f.expect(link, session.StatusFallback, session.WayWallet, n)
					break
				}
				a.leadsTo(t, path+"?refused=under_age")
				f.expect(link, session.StatusPending, session.WayWallet, n)
				f.ask(shopper, link)
			}

			link, shopper = f.asked(true)
			f.answer(issuer, f.links(shopper, link)[wallet.SchemeOpenID], wallet.SampleDocument{Age: 40})
			begins(shopper, link)
			f.expect(link, session.StatusPending, "", 0)
			shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-onward")
			f.expect(link, session.StatusPassed, session.WayWallet, 0)
		})
	}
}

// Choosing another way ends the open request: a later answer of the wallet is
// refused.
func TestAnotherWayEndsTheRequest(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.Passed)
	issuer := testIssuer(t, 1)
	f.trust(issuer)
	link, shopper := f.asked(true)
	request := f.links(shopper, link)[wallet.SchemeOpenID]
	path := strings.TrimPrefix(link, f.server.URL)
	shopper.post(link+"/photo", url.Values{"compare": {"yes"}}).leadsTo(t, path+"/photo")
	if a := f.answer(issuer, request, wallet.SampleDocument{Age: 17}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a wallet's answer: %d", a.StatusCode)
	}
	shopper.get(link+"/wallet").leadsTo(t, path+"?refused=gone")
	if a := shopper.get(link + "?refused=gone"); !strings.Contains(a.body, "The request to your wallet no longer exists.") ||
		strings.Contains(a.body, "attempts left") {
		t.Errorf("back from the wallet's page without its reason: %s", a.body)
	}
	f.expect(link, session.StatusPending, "", 0)
}

// A presentation is bound to its request: one for another session, or for an
// earlier request of the same session, proves nothing.
func TestAnotherSessionsPresentationIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	issuer := testIssuer(t, 1)
	f.trust(issuer)
	link, shopper := f.asked(true)
	victim, adult := f.asked(true)
	stolen, form, err := issuer.AnswerLink(f.links(adult, victim)[wallet.SchemeProofOfAge], wallet.SampleDocument{Age: 40},
		f.clock())
	must(t, err)
	mine, earlier, err := issuer.AnswerLink(f.links(shopper, link)[wallet.SchemeProofOfAge],
		wallet.SampleDocument{Age: 40}, f.clock())
	must(t, err)
	if a := f.postAs(mine, form); a.StatusCode != http.StatusBadRequest {
		t.Errorf("another session's presentation: %d", a.StatusCode)
	}
	shopper.get(link+"/wallet").shows(t, http.StatusOK, "said")
	f.ask(shopper, link)
	if a := f.postAs(mine, earlier); a.StatusCode != http.StatusBadRequest {
		t.Errorf("to a request that was replaced: %d", a.StatusCode)
	}
	now, _, err := issuer.AnswerLink(f.links(shopper, link)[wallet.SchemeProofOfAge], wallet.SampleDocument{Age: 40},
		f.clock())
	must(t, err)
	if a := f.postAs(now, earlier); a.StatusCode != http.StatusBadRequest {
		t.Errorf("an earlier request's presentation: %d", a.StatusCode)
	}
	shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-wallet")
	f.expect(link, session.StatusPending, "", 0)
	if a := f.postAs(stolen, form); a.StatusCode != http.StatusOK {
		t.Errorf("its own: %d", a.StatusCode)
	}
	f.advance(time.Hour)
	adult.get(victim+"/wallet").leadsTo(t, strings.TrimPrefix(victim, f.server.URL))
	adult.get(victim).shows(t, http.StatusGone, "notice-expired")
}

func TestTheStateOfARequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	issuer := testIssuer(t, 1)
	f.trust(issuer)
	link, shopper := f.asked(false)
	is := func(b *browser, want string) {
		t.Helper()
		if a := b.get(link + "/wallet/state"); a.StatusCode != http.StatusOK || strings.TrimSpace(a.body) != `{"state":"`+
			want+`"}` {
			t.Errorf("%d %s, want %s", a.StatusCode, a.body, want)
		}
	}
	is(shopper, "open")
	request := f.links(shopper, link)[wallet.SchemeOpenID]
	f.answer(testIssuer(t, 2), request, wallet.SampleDocument{Age: 40})
	is(shopper, "issuer_unknown")
	f.answer(issuer, request, wallet.SampleDocument{Age: 40})
	is(shopper, "over")
	is(f.browser(), "over")
	shopper.get(link + "/wallet")
	is(shopper, "over")
}

func TestTheSampleWallet(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	issuer := testIssuer(t, 1)
	f.trust(issuer)
	link, shopper := f.asked(false)
	path := strings.TrimPrefix(link, f.server.URL)
	sample := regexp.MustCompile(`href="(/sample-wallet/[^"]+)"`)
	find := func() string {
		t.Helper()
		m := sample.FindStringSubmatch(shopper.get(link + "/wallet").body)
		if m == nil {
			t.Fatal("no sample wallet")
		}
		return f.server.URL + html.UnescapeString(m[1])
	}
	at := find()
	shopper.get(at).shows(t, http.StatusOK, "screen-sample")
	for _, age := range []string{"", "x", "-1", "121"} {
		shopper.post(at, url.Values{"age": {age}}).shows(t, http.StatusBadRequest, "notice-refused")
	}
	shopper.post(at, url.Values{"age": {"30"}, "kind": {"untrusted"}}).leadsTo(t, path+"/wallet")
	f.links(shopper, link) // still open
	shopper.post(at, url.Values{"age": {"12"}}).leadsTo(t, path+"/wallet")
	shopper.get(link+"/wallet").leadsTo(t, path+"?refused=under_age")
	f.ask(shopper, link)
	f.browser().post(find(), url.Values{"age": {"30"}}).leadsTo(t, path+"/wallet") // on another device
	f.expect(link, session.StatusPending, session.WayWallet, 1)
	shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-onward")
	f.expect(link, session.StatusPassed, session.WayWallet, 1)

	// In live mode there is no sample wallet, and its documents prove nothing.
	live, buyer := f.asked(true)
	if page := buyer.get(live + "/wallet").body; sample.MatchString(page) {
		t.Error("the sample wallet is offered in live mode")
	}
	request := f.links(buyer, live)[wallet.SchemeOpenID]
	buyer.post(f.server.URL+sampleLink(request), url.Values{"age": {"30"}}).shows(t, http.StatusNotFound, "notice-unknown")
	to, form, err := f.pages.cfg.Wallets.AnswerSample(request,
		document.SampleDocument{SampleDocument: wallet.SampleDocument{Age: 30}})
	must(t, err)
	if a := f.postAs(to, form); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a sample document in live mode: %d", a.StatusCode)
	}
	f.expect(live, session.StatusPending, "", 0)
	shopper.get(at+"?lang=de").shows(t, http.StatusOK, "screen-sample")
	shopper.get(f.server.URL+samplePath+"!").shows(t, http.StatusNotFound, "notice-unknown")
	for _, query := range []string{"%zz", "response_uri=x", "response_uri=" +
		url.QueryEscape(f.server.URL+"/v/unknown/wallet/1")} {
		shopper.get(f.server.URL+sampleLink("av://?"+query)).shows(t, http.StatusNotFound, "notice-unknown")
	}
}
