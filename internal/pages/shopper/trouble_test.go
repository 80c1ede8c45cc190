package shopper

import (
	"net/http"
	"strings"
	"testing"

	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// kept returns the words of a session's setbacks and notes.
func (f *fixture) kept(link string) string {
	var words []string
	for _, back := range f.stored(link).Setbacks {
		words = append(words, back.Why)
	}
	return strings.Join(words, " ")
}

// TestTheBrowserSaysWhatIsWrongWithTheCamera: the server keeps each word of a closed list once, from
// the browser that makes the check or its phone, and nothing of it changes what the shopper may do.
func TestTheBrowserSaysWhatIsWrongWithTheCamera(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepBegun))
	desktop, phone, other := f.browser(), f.browser(), f.browser()
	link, phoneLink, _ := f.handedOver(desktop, true)
	says := func(b *browser, link, word string, status int, kept string) {
		t.Helper()
		if a := b.post(link+"/trouble/"+word, nil); a.StatusCode != status || strings.Contains(a.body, "cAnArY") {
			t.Errorf("%s: %d %s", word, a.StatusCode, a.body)
		}
		if got := f.kept(link); got != kept {
			t.Errorf("after %s: kept %q, want %q", word, got, kept)
		}
	}
	says(desktop, link, "cAnArY", http.StatusNotFound, "")
	says(other, link, "refused", http.StatusNoContent, "") // its own page says that the check is elsewhere
	says(desktop, link, "refused", http.StatusNoContent, "browser_refused")
	says(desktop, link, "refused", http.StatusNoContent, "browser_refused")
	says(desktop, link, "in_use", http.StatusNoContent, "browser_refused browser_in_use")
	says(desktop, link, "refused", http.StatusNoContent, "browser_in_use browser_refused")
	primer := desktop.get(link).body
	if f.stored(link).Why() != "" || !strings.Contains(primer, `data-again data-testid="again" hidden`) {
		t.Error("the page speaks of an attempt that gave no result")
	}
	for _, word := range session.Troubles {
		desktop.post(link+"/trouble/"+word, nil)
	}
	if n := len(f.stored(link).Setbacks); n != len(session.Troubles) {
		t.Errorf("%d words are kept", n)
	}
	phone.post(phoneLink+"/start", nil)
	phone.post(phoneLink+"/trouble/embedded", nil)
	if got := f.kept(link); !strings.HasSuffix(got, " browser_embedded") {
		t.Errorf("of the phone: %q", got)
	}
}

// TestTheCameraPageTellsItsTroubles: the page marks the troubles that it tells, and no others.
func TestTheCameraPageTellsItsTroubles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	shopper, link := f.browser(), f.session(true)
	shopper.post(link+"/start", nil)
	for _, part := range strings.Split(shopper.get(link).body, `data-screen="`)[1:] {
		kind, _, _ := strings.Cut(part, `"`)
		told := strings.Contains(part, "data-told")
		if want := strings.Contains(" "+strings.Join(session.Troubles, " ")+" ", " "+kind+" "); told != want {
			t.Errorf("%s: told %v", kind, told)
		}
	}
}
