package shopper

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

func TestForcedOutcomes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		outcome string
		status  session.Status
		shows   string
	}{
		{"fallback", session.StatusFallback, "screen-fallback"},
		{"spoof", session.StatusSpoof, "screen-spoof"},
	}
	for _, offered := range []bool{false, true} { // a spoof's page names the document only where the next check has one
		f := newFixture(t, tenant.Tenant{DocumentCheck: offered}, scripted())
		page := f.browser().get(f.session(false) + "?force=spoof")
		if strings.Contains(page.body, "begin with a document") != offered ||
			strings.Contains(page.body, "even light") == offered {
			t.Errorf("a spoof, with documents %t: %s", offered, page.body)
		}
	}
	for _, test := range tests {
		t.Run(test.outcome, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{}, nil)
			link := f.session(false)
			a := f.browser().get(link + "?force=" + test.outcome)
			a.shows(t, http.StatusOK, test.shows)
			if !strings.Contains(a.body, f.tenant.CancelURL) || strings.Contains(a.body, "shop.example/done") {
				t.Error("the return action must use the cancel URL and nothing the success URL")
			}
			if got := f.stored(link).Status; got != test.status {
				t.Errorf("status %s", got)
			}
			// Forcing again, from any browser, changes nothing and shows the
			// same.
			f.browser().get(link+"?force=verified").shows(t, http.StatusOK, test.shows)
			if got := f.stored(link).Status; got != test.status {
				t.Errorf("status %s", got)
			}
		})
	}
}

func TestForcedPassRedirectsAndAgainOnlyInThatBrowser(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, nil)
	link := f.session(false)
	tester := f.browser()
	id := f.stored(link).ID.String()
	passing(t, tester.get(link+"?force=verified"), id)
	passing(t, tester.get(link), id)
	passing(t, tester.get(link+"?force=spoof"), id)
	f.browser().get(link).shows(t, http.StatusOK, "notice-completed")
	f.browser().get(link+"?force=verified").shows(t, http.StatusOK, "notice-completed")
	f.advance(session.RedirectGrace + time.Second)
	tester.get(link).shows(t, http.StatusOK, "notice-completed")
}

// Another browser does not learn the outcome, so its page shows no sign of success.
func TestAnotherBrowserSeesNoTick(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, nil)
	for outcome := range forcedResults {
		link := f.session(false)
		f.browser().get(link + "?force=" + outcome)
		page := f.browser().get(link)
		page.shows(t, http.StatusOK, "notice-completed")
		contains(t, page.body, "This check has ended", "can see the result")
		if strings.Contains(page.body, `<path d="M8 12.300l2.800 2.800L16.300 9.500"/>`) {
			t.Errorf("%s: the page has a tick", outcome)
		}
	}
}

func TestForceDecidesASessionBegunElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(false)
	shopper := f.browser()
	shopper.post(link+"/start", nil)
	id := f.stored(link).ID.String()
	passing(t, f.browser().get(link+"?force=verified"), id)
	passing(t, shopper.get(link), id)
}

// TestFallbackOfTheBar: with the document check on, the banner's fallback ends the session, and the document before it
// has a link of its own.
func TestFallbackOfTheBar(t *testing.T) {
	t.Parallel()
	for _, check := range []bool{true, false} {
		f := newFixture(t, tenant.Tenant{DocumentCheck: check}, nil)
		link := f.session(false)
		page := f.browser().get(link)
		contains(t, page.body, `?force=fallback&amp;end" data-testid="force-fallback">Fallback`)
		if strings.Contains(page.body, `?force=fallback" data-testid="force-document">Document`) != check {
			t.Errorf("document check %t: the banner offers a document: %t", check, !check)
		}
		f.browser().get(link+"?force=fallback&end").shows(t, http.StatusOK, "screen-fallback")
		if got := f.stored(link).Status; got != session.StatusFallback {
			t.Errorf("document check %t: status %s", check, got)
		}
	}
}

func TestForceWithTheDocumentCheck(t *testing.T) {
	t.Parallel()
	for outcome, ends := range map[string]session.Status{"verified": session.StatusPassed,
		"fallback": session.StatusFallback} {
		t.Run(outcome, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{DocumentCheck: true}, nil)
			link := f.session(false)
			offer := f.browser().get(link + "?force=fallback")
			offer.shows(t, http.StatusOK, "screen-document")
			// The words are those after a refused estimate.
			contains(t, offer.body, "The camera check did not confirm that you are 18 or over. A document can still prove it.")
			if got := f.stored(link).Status; got != session.StatusPending {
				t.Fatalf("status %s with the check on offer", got)
			}
			// No cookie was kept between the requests.
			a := f.browser().get(link + "?force=" + outcome)
			if got := f.stored(link).Status; got != ends {
				t.Errorf("status %s, want %s", got, ends)
			}
			if ends == session.StatusPassed {
				passing(t, a, f.stored(link).ID.String())
			} else {
				a.shows(t, http.StatusOK, "screen-fallback")
			}
		})
	}
}

func TestSpoofIsNotForcedWithTheDocumentCheckOpen(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, nil)
	link := f.session(false)
	tester := f.browser()
	offer := tester.get(link + "?force=fallback")
	offer.shows(t, http.StatusOK, "screen-document")
	if strings.Contains(offer.body, `"force-spoof"`) || !strings.Contains(offer.body, `"force-verified"`) {
		t.Error("the banner does not have the outcomes that apply")
	}
	before := f.stored(link)
	for _, b := range []*browser{tester, f.browser()} {
		b.get(link+"?force=spoof").shows(t, http.StatusBadRequest, "notice-force_document")
	}
	if after := f.stored(link); !reflect.DeepEqual(after, before) {
		t.Errorf("the session changed from\n%+v to\n%+v", before, after)
	}
	tester.get(link+"?force=fallback").shows(t, http.StatusOK, "screen-fallback")
	tester.get(link+"?force=spoof").shows(t, http.StatusOK, "screen-fallback")
}

func TestRefusedForce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, query string
		livemode    bool
		shows       string
	}{
		{"live", "force=verified", true, "notice-force_live"},
		{"live and unknown", "force=x", true, "notice-force_live"},
		{"unknown", "force=VERIFIED", false, "notice-force_unknown"},
		{"empty", "force=", false, "notice-force_unknown"},
		{"twice", "force=verified&force=fallback", false, "notice-force_unknown"},
		{"twice the same", "force=verified&force=verified", false, "notice-force_unknown"},
		{"twice, live", "force=verified&force=verified", true, "notice-force_live"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{}, scripted())
			link := f.session(test.livemode)
			a := f.browser().get(link + "?" + test.query)
			a.shows(t, http.StatusBadRequest, test.shows)
			if back := `href="` + strings.TrimPrefix(link, f.server.URL) +
				`" data-testid="check"`; !strings.Contains(a.body, back) {
				t.Errorf("no way back to the check:\n%s", a.body)
			}
			if s := f.stored(link); s.Status != session.StatusPending || s.BrowserHash != nil {
				t.Errorf("something changed: %s", s.Status)
			}
		})
	}
}

func TestForceOnAnExpiredSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, nil)
	link := f.session(false)
	f.advance(31 * time.Minute)
	f.browser().get(link+"?force=verified").shows(t, http.StatusGone, "notice-expired")
}

func TestHeadChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(false)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, link+"?force=verified", nil)
	must(t, err)
	if a := f.browser().do(req); a.StatusCode != http.StatusOK {
		t.Errorf("status %d", a.StatusCode)
	}
	if s := f.stored(link); s.Status != session.StatusPending || s.BrowserHash != nil {
		t.Error("HEAD has changed the session")
	}
}
