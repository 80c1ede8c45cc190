package wallets

import (
	"crypto/elliptic"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/check/document/wallet"
	"agegate/internal/gatewaytest"
)

// honest returns an answer to the shopper's request that would pass.
func (p *shopper) honest(issuer *authority, f form) *sending {
	p.t.Helper()
	return newAnswer(p.question(f), issuer, newKey(p.t, elliptic.P256())).sending(p)
}

// refused fails unless an answer gets status 400 and the session stays as it was.
func (p *shopper) refused(what string, s *sending) {
	p.t.Helper()
	if status, body := s.post(p); status != http.StatusBadRequest {
		p.t.Errorf("%s gets %d %s", what, status, body)
	}
	if status := p.returns(); status != pending {
		p.t.Errorf("%s: the session is %s", what, status)
	}
}

// An answer counts once, for the request and in the session for which it was made.
func TestReplays(t *testing.T) {
	issuer := newAuthority(t)
	all := startAll(t, issuer)
	for _, f := range []form{formLink, formProofOfAge, formSigned, formPID, formSignedPID} {
		t.Run(string(f), func(t *testing.T) {
			r := all[identityFor(f)]
			s := &shop{t, r.shop.g, r.shop.key}
			one, other := s.shopper(18), s.shopper(18)
			first := one.honest(issuer, f)
			moved := *first
			moved.to = other.question(f).responseURI
			other.refused("another session's answer", &moved)
			one.send(http.MethodPost, one.created.VerificationURL+"/document", url.Values{"choice": {"wallet"}})
			one.read()
			one.refused("an answer to the request before", first)
			second := one.honest(issuer, f)
			if status, body := second.post(one); status != http.StatusOK {
				t.Errorf("an honest answer gets %d %s", status, body)
			}
			if status, body := second.post(one); status != http.StatusBadRequest {
				t.Errorf("the same answer again gets %d %s", status, body)
			}
			if status := one.returns(); status != passed {
				t.Errorf("the session is %s", status)
			}
			if status, body := second.post(one); status < 400 || status >= 500 {
				t.Errorf("the same answer after the end gets %d %s", status, body)
			}
		})
	}
}

// A wallet on the shopper's device passes only once it returns to the session's own
// page with the code of its answer.
func TestSameDeviceReturn(t *testing.T) {
	issuer := newAuthority(t)
	r := startAll(t, issuer)[byCertHash]
	w := startNPM(t)
	w.do("issue", issuer.order(t, wallet.DocTypeMDL, wallet.DocTypeMDL, 30), nil)
	answer := func(p *shopper) string {
		var a received
		w.do("answer", map[string]any{"wallet": r.about(wallet.DocTypeMDL, true), "link": p.links[wallet.SchemeOpenID]}, &a)
		var back struct {
			To string `json:"redirect_uri"`
		}
		decode(t, []byte(a.Body), &back)
		return back.To
	}
	one, other := r.shop.shopper(18), r.shop.shopper(18)
	to, toOther := answer(one), answer(other)
	code, codeOther := mustQuery(t, to).Get("response_code"), mustQuery(t, toOther).Get("response_code")
	const bits128 = 32 // hexadecimal digits
	if len(code) != bits128 || code == codeOther {
		t.Errorf("the codes are %q and %q", code, codeOther)
	}
	for _, wrong := range []string{"", codeOther, strings.ToUpper(code) + "x", code[:31]} {
		one.send(http.MethodGet, one.created.VerificationURL+"/wallet?response_code="+wrong, nil)
		if status := one.status(); status != pending {
			t.Errorf("with the code %q the session is %s", wrong, status)
		}
	}
	one.send(http.MethodHead, to, nil)
	stranger := *other
	stranger.browser = gatewaytest.Browser()
	stranger.send(http.MethodGet, to, nil)
	if status := one.status(); status != pending {
		t.Errorf("after the return in another browser the session is %s", status)
	}
	one.send(http.MethodGet, to, nil)
	if status := one.status(); status != passed {
		t.Errorf("after the return the session is %s", status)
	}
}

// Every request has its own nonce and key (nonce entropy, key reuse), a signed one
// may be fetched twice (RequestUriFetchedTwice), and repeats the wallet's nonce
// (RequestUriMethodPost).
func TestRequestsDiffer(t *testing.T) {
	all := startAll(t, newAuthority(t))
	const sessions, nonceChars = 20, 32 // 192 bits in base64url
	seen := map[string]bool{}
	fresh := func(what, value string) {
		if seen[value] || value == "" {
			t.Errorf("the %s %q occurs again", what, value)
		}
		seen[value] = true
	}
	for range sessions {
		q := all[unsigned].shop.shopper(18).question(formLink)
		if len(q.nonce) != nonceChars {
			t.Errorf("the nonce has %d characters", len(q.nonce))
		}
		fresh("nonce", q.nonce)
		fresh("key", string(q.thumbprint(t)))
		p := all[byHostName].shop.shopper(18)
		signed, again := p.question(formSigned), p.question(formSigned)
		fresh("nonce", signed.nonce)
		fresh("key", string(signed.thumbprint(t)))
		fresh("state", signed.state)
		if signed.nonce != again.nonce || signed.state != again.state {
			t.Error("the request fetched again is another one")
		}
	}
	p := all[byCertHash].shop.shopper(18)
	at := mustQuery(t, p.links[wallet.SchemeOpenID]).Get("request_uri")
	_, object := p.send(http.MethodPost, at, url.Values{"wallet_nonce": {"n-1"}, "wallet_metadata": {"{}"}})
	if parts := strings.Split(object, "."); len(parts) != 3 ||
		!strings.Contains(string(unbase64(t, parts[1])), `"wallet_nonce":"n-1"`) {
		t.Errorf("the wallet's nonce is not repeated: %.100s", object)
	}
	for _, form := range []url.Values{{"wallet_nonce": {strings.Repeat("n", 513)}},
		{"wallet_nonce": {strings.Repeat("n", 20_000)}}} {
		if status, _ := p.send(http.MethodPost, at, form); status != http.StatusBadRequest {
			t.Errorf("a nonce of %d bytes gets %d", len(form.Get("wallet_nonce")), status)
		}
	}
}
