package shopper

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/check/document/wallet"
	"agegate/internal/check/document/wallet/wallettest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"rsc.io/qr"
)

// code returns the text of the code for a scheme.
func (f *fixture) code(link, scheme string) string {
	f.t.Helper()
	sess := f.stored(link)
	request, err := f.pages.cfg.Wallets.RequestOf(f.t.Context(), sess)
	must(f.t, err)
	exchange, err := f.pages.cfg.Wallets.Exchange(f.t.Context(), sess, request)
	must(f.t, err)
	text, err := f.pages.linkOf(visit{sess: sess}, request, exchange, scheme, true)
	must(f.t, err)
	return text
}

// Codes are small enough for the cameras of phones, also with the address of a
// real installation, and do not hold the session's link.
func TestCodesAreSmall(t *testing.T) {
	t.Parallel()
	const host = "https://age-verification.example.com" // longer than most
	for _, tt := range []struct {
		scheme string
		signed bool
		most   int // bytes
	}{
		{wallet.SchemeOpenID, true, 200},
		{wallet.SchemeProofOfAge, true, 520},
		{wallet.SchemeProofOfAge, false, 520},
		{wallet.SchemeOpenID, false, 1320}, // the whole request, without the issuers
	} {
		f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
		if tt.signed {
			f, _, _ = registered(t, false)
		} else {
			f.trust(testIssuer(t, 1))
		}
		link, _ := f.asked(true)
		f.pages.cfg.VerifyURL = host
		text := f.code(link, tt.scheme)
		if _, err := qr.Encode(text, qr.L); err != nil || len(text) > tt.most {
			t.Errorf("%s, signed %t: %d bytes: %s", tt.scheme, tt.signed, len(text), text)
		}
		if _, token, _ := strings.Cut(link, "/v/"); strings.Contains(text, token) {
			t.Errorf("%s holds the link: %s", tt.scheme, text)
		}
	}
}

// A wallet on another device answers a code and has nothing to return to. The
// shopper's own browser applies the answer.
func TestAWalletAnswersACode(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{wallet.SchemeOpenID, wallet.SchemeProofOfAge} {
		f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
		issuer := testIssuer(t, 1)
		f.trust(issuer)
		link, shopper := f.asked(true)
		code := f.code(link, scheme)
		if a := f.answer(testIssuer(t, 2), code, wallet.SampleDocument{Age: 40}); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s, an unknown issuer's: %d", scheme, a.StatusCode)
		}
		if a := f.answer(issuer, code, wallet.SampleDocument{Age: 18}); a.StatusCode != http.StatusOK ||
			strings.TrimSpace(a.body) != "{}" {
			t.Errorf("%s: %d %s", scheme, a.StatusCode, a.body)
		}
		if a := f.answer(issuer, code, wallet.SampleDocument{Age: 18}); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s, again: %d", scheme, a.StatusCode)
		}
		f.expect(link, session.StatusPending, "", 0)
		shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-onward")
		f.expect(link, session.StatusPassed, session.WayWallet, 0)
		for _, request := range []string{"!", "AAAAAAAAAAAAAAAAAAAAAA"} {
			if a := f.postAs(f.server.URL+codePath+request, nil); a.StatusCode != http.StatusBadRequest {
				t.Errorf("%s, no request %q: %d", scheme, request, a.StatusCode)
			}
		}
		if a := f.answer(issuer, code, wallet.SampleDocument{Age: 18}); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s, of a session that has ended: %d", scheme, a.StatusCode)
		}
	}
}

// Identification data are asked for and accepted only where the tenant wants them,
// also by a signed request.
func TestAPIDWhereTheTenantWantsIt(t *testing.T) {
	t.Parallel()
	for _, wanted := range []bool{false, true} {
		f := newFixture(t, tenant.Tenant{DocumentCheck: true, WalletPID: wanted}, scripted())
		issuer := testIssuer(t, 1)
		f.trustFor(issuer, wallet.DocTypePID)
		link, shopper := f.session(true), f.browser()
		f.offer(shopper, link)
		if !wanted {
			if a := shopper.post(link+"/document", url.Values{"choice": {"wallet"}}); a.StatusCode != http.StatusBadRequest {
				t.Errorf("the wallet is offered: %d", a.StatusCode)
			}
			f.trustFor(issuer, wallet.DocTypeMDL)
			f.ask(shopper, link)
			if page := shopper.get(link + "/wallet").body; strings.Contains(page, wallet.DocTypePID) ||
				strings.Contains(page, "birth date instead") {
				t.Error("identification data are asked for")
			}
			continue
		}
		f.ask(shopper, link)
		found := f.links(shopper, link)
		if _, offered := found[wallet.SchemeProofOfAge]; offered ||
			!strings.Contains(shopper.get(link+"/wallet").body, "birth date instead") {
			t.Errorf("the page does not say what is asked for: %v", found)
		}
		f.answer(issuer, found[wallet.SchemeOpenID], wallet.SampleDocument{Age: 17})
		shopper.get(link+"/wallet").leadsTo(t, strings.TrimPrefix(link, f.server.URL)+"?refused=under_age")
		f.ask(shopper, link)
		f.answer(issuer, f.code(link, wallet.SchemeOpenID), wallet.SampleDocument{Age: 18})
		shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-onward")
		f.expect(link, session.StatusPassed, session.WayWallet, 1)
	}
}

// TestTheLinkIsOpenedAgain: when a wallet has answered a page that was closed, the link goes on in the browser that
// began, and changes nothing in another one, which sends nobody to the shop. The answer to a signed link on the same
// device still needs the wallet's return.
func TestTheLinkIsOpenedAgain(t *testing.T) {
	t.Parallel()
	const toShop, quiet = `class="button primary" href="https://shop.example/cart`,
		`class="button quiet" href="https://shop.example/cart`
	for name, tt := range map[string]struct{ signed, code, goesOn bool }{
		"unsigned": {false, false, true}, "signed code": {true, true, true}, "signed link": {true, false, false},
	} {
		f, _, issuer := registered(t, false)
		if !tt.signed {
			f = newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
			f.trust(issuer)
		}
		link, shopper := f.asked(true)
		path, other := strings.TrimPrefix(link, f.server.URL), f.browser()
		shopper.get(link).shows(t, http.StatusOK, "screen-document")
		a := other.get(link)
		a.shows(t, http.StatusOK, "notice-elsewhere")
		contains(t, a.body, toShop, "go back and start a new check")
		request := f.links(shopper, link)[wallet.SchemeOpenID]
		if tt.code {
			request = f.code(link, wallet.SchemeOpenID)
		}
		to, form, err := issuer.AnswerLink(request, wallet.SampleDocument{Age: 40}, f.clock())
		if tt.signed {
			client, object := f.fetch(request, "")
			to, form, err = wallettest.AnswerObject(issuer, client, object, wallet.SampleDocument{Age: 40}, f.clock())
		}
		must(t, err)
		if a := f.postAs(to, form); a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", name, a.StatusCode, a.body)
		}
		a = other.get(link)
		a.shows(t, http.StatusOK, "notice-elsewhere")
		if !tt.goesOn {
			contains(t, a.body, toShop)
			shopper.get(link).shows(t, http.StatusOK, "screen-document")
			f.expect(link, session.StatusPending, "", 0)
			continue
		}
		contains(t, a.body, quiet, "Your other screen continues by itself.")
		if strings.Contains(a.body, "primary") || strings.Contains(a.body, "start a new check") {
			t.Errorf("%s: the other browser is sent to the shop: %s", name, a.body)
		}
		shopper.get(link).leadsTo(t, path+"/wallet")
		f.expect(link, session.StatusPending, "", 0)
		shopper.get(link+"/wallet").shows(t, http.StatusOK, "screen-onward")
		f.expect(link, session.StatusPassed, session.WayWallet, 0)
	}
}
