package shopper

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

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

// TestACameraWithoutAFaceIsKept: support staff learn that a camera ran without a face to begin with, but
// not of one that sent no picture.
func TestACameraWithoutAFaceIsKept(t *testing.T) {
	for frames, kept := range []string{"", "camera_faceless"} {
		t.Run(kept, func(t *testing.T) {
			inOwnTime(t, func(t testing.TB) {
				f := newFixture(t, tenant.Tenant{}, scripted(stepFraming, stepFraming))
				shopper, link := f.browser(), f.session(true)
				shopper.post(link+"/start", nil)
				for range 2 {
					c := shopper.opened(link)
					for range frames {
						c.send(frame(scriptNonce, 0))
						c.read()
					}
					c.conn.CloseNow()
					synctest.Wait()
				}
				if got := f.kept(link); got != kept {
					t.Errorf("after %d pictures: kept %q, want %q", frames, got, kept)
				}
			})
		})
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
