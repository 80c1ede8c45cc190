package shopper

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate/internal/check/document/photo"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// allow restricts the tenant's ways of the document check.
func (f *fixture) allow(ways ...string) {
	f.t.Helper()
	_, err := f.tenants.Update(f.t.Context(), audit.System("test"), f.tenant.ID, tenant.Changes{DocumentWays: &ways})
	must(f.t, err)
}

// The page offers the tenant's ways, and the server refuses the others.
func TestOnlyTheTenantsWaysAreOffered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		allowed []string
		offered map[string]bool
	}{
		{nil, map[string]bool{"wallet": true, "photo": true}},
		{[]string{"wallet"}, map[string]bool{"wallet": true}},
		{[]string{"photo"}, map[string]bool{"photo": true}},
	} {
		f := filmed(t, photo.Passed)
		f.allow(tt.allowed...)
		for _, way := range tenant.DocumentWays {
			link, shopper := f.session(false), f.browser()
			f.offer(shopper, link)
			path := strings.TrimPrefix(link, f.server.URL)
			a := shopper.get(link)
			a.shows(t, http.StatusOK, "screen-document")
			if got := strings.Contains(a.body, `data-testid="way-`+way+`"`); got != tt.offered[way] {
				t.Errorf("%v: %s is offered: %t", tt.allowed, way, got)
			}
			chosen := shopper.post(link+"/document", url.Values{"choice": {way}})
			if tt.offered[way] {
				chosen.leadsTo(t, path+"/"+way)
				continue
			}
			chosen.shows(t, http.StatusBadRequest, "notice-refused")
			shopper.get(link+"/"+way).leadsTo(t, path)
			shopper.post(link+"/photo", url.Values{"compare": {"yes"}, "choice": {way}})
			if s := f.stored(link); way == "photo" && s.FaceMatchAt != nil || s.Status != session.StatusPending {
				t.Errorf("%v: after %s was asked for: %s, consent %v", tt.allowed, way, s.Status, s.FaceMatchAt)
			}
		}
	}
}

// The ways have the order of AGEGATE_DOCUMENT_WAYS, which a tenant's choice does not change. A phone's page speaks of
// this phone.
func TestWaysHaveTheOperatorsOrder(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.Passed)
	offered := regexp.MustCompile(`data-testid="way-(\w+)"`)
	for _, order := range [][]session.Way{{session.WayWallet, session.WayPhoto}, {session.WayPhoto, session.WayWallet}} {
		f.pages.cfg.Ways = order
		for _, allowed := range [][]string{nil, {"wallet", "photo"}, {"photo", "wallet"}} {
			f.allow(allowed...)
			link, shopper := f.session(false), f.browser()
			f.offer(shopper, link)
			body := shopper.get(link).body
			ways := offered.FindAllStringSubmatch(body, -1)
			if len(ways) != 2 || ways[0][1] != string(order[0]) || ways[1][1] != string(order[1]) {
				t.Errorf("%v, of which the tenant allows %v: %v", order, allowed, ways)
			}
			contains(t, body, "Use a wallet on your phone")
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
			must(t, err)
			req.Header.Set("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X)")
			contains(t, shopper.do(req).body, "Use a wallet on this phone")
		}
	}
}

// No page sends the shopper to another way of the document check where there is none.
func TestPagesNameAnotherWayOnlyWhereThereIsOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		allowed []string
		other   bool
	}{
		{nil, true}, {[]string{"wallet"}, false}, {[]string{"photo"}, false},
	} {
		f := filmed(t, photo.Expired)
		f.allow(tt.allowed...)
		offers := func(way string) bool { return tt.allowed == nil || slices.Contains(tt.allowed, way) }
		link, shopper := f.session(false), f.browser()
		f.offer(shopper, link)
		shown := map[string]string{"document": shopper.get(link).body}
		if offers("wallet") {
			f.ask(shopper, link)
			shown["wallet"] = shopper.get(link + "/wallet").body
		}
		if offers("photo") {
			shopper.post(link+"/document", url.Values{"choice": {"photo"}})
			shown["photo"] = shopper.get(link + "/photo").body
			shown["photo without consent"] = shopper.post(link+"/photo", nil).body
			shopper.post(link+"/photo", url.Values{"compare": {"yes"}})
			shown["camera"] = shopper.get(link + "/photo").body
			shopper.films(link)
			shown["camera after a refusal"] = shopper.get(link + "/photo?refused=expired").body
			shown["document after a refusal"] = shopper.get(link + "?refused=expired").body
		}
		for name, body := range shown {
			leads := strings.Contains(name, "wallet") || strings.Contains(name, "photo") || strings.Contains(name, "camera")
			if got := strings.Contains(body, "another way"); got != (tt.other && leads) {
				t.Errorf("ways %v: the page %q names another way: %t", tt.allowed, name, got)
			}
		}
	}
}

// A way that is no longer allowed ends at once for those who use it: they return
// to the choice, and nothing that they show passes or counts.
func TestAPhotographIsRefusedOnceTheWayIsGone(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.Passed)
	link, shopper := f.agreed()
	c := shopper.camera(link)
	c.read()
	c.send(frame(scriptNonce, 0))
	c.read()
	f.trust(testIssuer(t, 1))
	f.allow("wallet")
	c.send(frame(scriptNonce, 1))
	var last onwardMessage
	must(t, json.Unmarshal([]byte(c.read()), &last))
	c.closes(closeReload)
	if last.Next != "reload" {
		t.Errorf("the page is told %+v", last)
	}
	f.expect(link, session.StatusPending, "", 0)
	path := strings.TrimPrefix(link, f.server.URL)
	shopper.get(link+"/photo").leadsTo(t, path)
	shopper.camera(link).closes(closeReload)
	shopper.post(link+"/handover", nil).leadsTo(t, path)
	a := shopper.get(link)
	a.shows(t, http.StatusOK, "way-wallet")
	if strings.Contains(a.body, "way-photo") {
		t.Error("the way is still offered")
	}
}

func TestAWalletIsRefusedOnceTheWayIsGone(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.Passed)
	issuer := testIssuer(t, 1)
	f.trust(issuer)
	link, shopper := f.asked(true)
	path := strings.TrimPrefix(link, f.server.URL)
	request := f.links(shopper, link)[wallet.SchemeOpenID]
	answered, other := f.asked(true)
	if a := f.answer(issuer, f.links(other, answered)[wallet.SchemeOpenID],
		wallet.SampleDocument{Age: 30}); a.StatusCode != http.StatusOK {
		t.Fatalf("answered with %d", a.StatusCode)
	}
	f.allow("photo")
	if a := f.answer(issuer, request, wallet.SampleDocument{Age: 30}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a wallet's answer: %d", a.StatusCode)
	}
	if a := shopper.get(link + "/wallet/state"); strings.TrimSpace(a.body) != `{"state":"over"}` {
		t.Errorf("the page is told %s", a.body)
	}
	shopper.get(link+"/wallet").leadsTo(t, path)
	other.get(answered+"/wallet").leadsTo(t, strings.TrimPrefix(answered, f.server.URL))
	f.expect(link, session.StatusPending, "", 0)
	f.expect(answered, session.StatusPending, "", 0)
	f.allow()
	other.get(answered+"/wallet").shows(t, http.StatusOK, "screen-onward")
	f.expect(answered, session.StatusPassed, session.WayWallet, 0)
}
