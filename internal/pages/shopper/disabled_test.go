package shopper

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// disable disables the fixture's tenant.
func (f *fixture) disable() {
	f.t.Helper()
	must(f.t, f.tenants.SetDisabled(f.t.Context(), audit.System("test"), f.tenant.ID, true, ""))
}

func TestPagesOfADisabledTenant(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true, AgeVisibility: true}, scripted(stepBegun))
	shopper, phone := f.browser(), f.browser()
	begun, phoneLink, _ := f.handedOver(shopper, true)
	other, taken, _ := f.handedOver(shopper, true)
	phone.post(taken+"/start", nil)
	offered := f.session(false)
	shopper.get(offered + "?force=fallback")
	passed := f.session(false)
	passing(t, shopper.get(passed+"?force=verified"), f.stored(passed).ID.String())
	fresh := f.session(false)
	f.disable()

	sessions := []string{begun, other, offered, passed, fresh}
	var before []session.Session
	for _, link := range sessions {
		before = append(before, f.stored(link))
	}
	var answers []answer
	for _, link := range sessions {
		for _, path := range []string{"", "/", "/camera", "/document", "/stream", "/handover"} {
			answers = append(answers, shopper.get(link+path))
		}
		for path, form := range map[string]url.Values{
			"/start": nil, "/without-camera": nil, "/consent": {"share": {"yes"}}, "/handover": nil,
			"/document": {"choice": {"accept"}},
		} {
			answers = append(answers, shopper.post(link+path, form))
		}
		answers = append(answers, shopper.post(link+"/document", url.Values{"choice": {"decline"}}))
	}
	for _, link := range []string{offered, passed, fresh} {
		answers = append(answers, shopper.get(link+"?force=verified"), f.browser().get(link+"?force=fallback"))
	}
	for _, link := range []string{phoneLink, taken} {
		answers = append(answers, phone.get(link), phone.get(link+"/"), phone.get(link+"/stream"),
			phone.post(link+"/start", nil), phone.post(link+"/without-camera", nil))
	}
	for _, a := range answers {
		if t.Failed() {
			t.Fatalf("%s %s", a.Request.Method, a.Request.URL.Path)
		}
		a.shows(t, http.StatusForbidden, "notice-not_available")
		if len(a.Cookies()) > 0 || strings.Contains(a.body, "shop.example") || strings.Contains(a.body, "Corner Shop") {
			t.Errorf("the page says more than it must, cookies %v:\n%s", a.Cookies(), a.body)
		}
	}
	contains(t, answers[0].body, "ask it how you can show your age")
	a := shopper.get(begun + "/handover/state")
	if a.StatusCode != http.StatusForbidden || strings.TrimSpace(a.body) != `{"state":"over"}` {
		t.Errorf("the state of the handover: %d, %s", a.StatusCode, a.body)
	}
	for i, link := range sessions {
		if after := f.stored(link); !reflect.DeepEqual(after, before[i]) {
			t.Errorf("the session changed from\n%+v to\n%+v", before[i], after)
		}
	}
	shopper.get(fresh+"?force=x").shows(t, http.StatusBadRequest, "notice-force_unknown")
	shopper.get(begun+"?force=verified").shows(t, http.StatusBadRequest, "notice-force_live")
	shopper.get(f.server.URL+"/v/unknown").shows(t, http.StatusNotFound, "notice-unknown")
}

func TestStreamsOfADisabledTenant(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		frames  uint32 // frames sent before the tenant is disabled
		verdict age.Step
	}{
		{"before the attempt", 0, stepBegun},
		{"a pass", 1, verdict(age.VerdictMet, 40)},
		{"a refusal", 1, verdict(age.VerdictBelow, 12)},
		{"a strike", 1, verdict(age.VerdictSpoof, 0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted(stepBegun, test.verdict))
			shopper := f.browser()
			link, c := f.begun(shopper)
			for seq := range test.frames {
				c.send(frame(scriptNonce, seq))
				c.read()
			}
			before := f.stored(link)
			f.disable()
			c.finds(test.frames)
			if after := f.stored(link); !reflect.DeepEqual(after, before) {
				t.Errorf("the session changed from\n%+v to\n%+v", before, after)
			}
			shopper.get(link).shows(t, http.StatusForbidden, "notice-not_available")
		})
	}
}
