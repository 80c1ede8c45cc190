package shopper

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/check/document/photo"
	"agegate/internal/check/document/wallet"
	"agegate/internal/pages/page"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/labstack/echo/v4"
)

// After a change of a page on purpose, write its golden file again and read the
// difference:
//
//	go test ./internal/pages/shopper -run TestGolden -update
var update = flag.Bool("update", false, "write the golden files of the pages again")

type goldenScreen struct {
	screen string
	view   func() view // returns a new view for each rendering, which fills it in
	query  string
}

// goldenScreens are the pages in each of their variants, by golden file.
func goldenScreens() map[string]goldenScreen {
	named := look{Shop: "Corner Shop & Söhne"}
	live := layout{Path: "/v/TOKEN", look: named}
	test := layout{Path: "/v/TOKEN", look: named, Test: true, Forcible: true, Spoofable: true}
	form := func(action string) layout { return layout{Path: live.Path, look: named, Form: live.Path + action} }
	ended := layout{Path: "/v/TOKEN", look: named, Test: true}
	shop := exit{Merchant: "Corner Shop & Söhne", TargetAge: 18, Leave: "https://shop.example/cart?id=1&x=2"}
	reviewed := shop
	reviewed.Review = "https://shop.example/review?a=1&b=2"
	camera := func() *cameraView {
		return &cameraView{layout: live, exit: shop, Camera: "/v/TOKEN/camera", Handover: "/v/TOKEN/handover",
			Without: "/v/TOKEN/without-camera", Troubles: troubles}
	}
	asking := func() *walletView {
		return &walletView{layout: live, exit: shop, OtherWay: true, State: walletOpen,
			Requests: `[{"protocol":"org-iso-mdoc","data":{}}]`, Apps: []walletApp{
				{Name: wallet.SchemeProofOfAge, Link: "av://?nonce=1&response_uri=2", QR: "data:image/png;base64,QR"},
				{Name: wallet.SchemeOpenID, Link: "openid4vp://?nonce=1&response_uri=2", QR: "data:image/png;base64,QR"},
			}}
	}
	both := []session.Way{session.WayWallet, session.WayPhoto}
	handover := func(state string) goldenScreen {
		return goldenScreen{screen: "handover", view: func() view {
			return &handoverView{
				layout: live, exit: shop, State: state, QR: "data:image/png;base64,QR", Here: "/v/TOKEN/camera",
				Address: "https://verify.example/h/PHONE", Code: "4711",
			}
		}}
	}
	screens := map[string]goldenScreen{
		"intro": {screen: "intro", view: func() view { return &introView{layout: live, exit: shop} }},
		"intro-test-consents": {screen: "intro", view: func() view {
			older := shop
			older.TargetAge = 21
			return &introView{layout: test, exit: older, Consents: true}
		}},
		"intro-choice": {screen: "intro", view: func() view {
			return &introView{layout: live, exit: shop, Ways: both}
		}},
		"intro-document-only": {screen: "intro", view: func() view {
			return &introView{layout: live, exit: shop, DocumentOnly: true, Ways: both}
		}},
		"intro-camera-off": {screen: "intro", view: func() view {
			return &introView{layout: test, exit: exit{Merchant: "Shop", TargetAge: 18}, CameraOff: true}
		}},
		"intro-brand": {screen: "intro", view: func() view {
			branded := live
			branded.look = look{
				Shop: shop.Merchant, Logo: "/brand/HASH.png", Stylesheet: "/brand/1f5f5b-HASH.css",
				links: tenant.Links{PrivacyURL: "https://shop.example/privacy?a=1&b=2", HelpURL: "https://shop.example/help",
					TermsURL: "https://shop.example/terms"},
			}
			return &introView{layout: branded, exit: shop}
		}},
		"consent":         {screen: "consent", view: func() view { return &consentView{layout: form("/consent"), exit: shop} }},
		"camera":          {screen: "camera", view: func() view { return camera() }},
		"camera-assisted": {screen: "camera", query: "?assisted=1", view: func() view { return camera() }},
		"camera-again": {screen: "camera", view: func() view {
			v := camera()
			v.Why, v.Left = "again", 1
			return v
		}},
		"camera-document": {screen: "camera", view: func() view {
			v := camera()
			v.Why, v.Left, v.Document, v.Wallet = "again", 1, true, true
			return v
		}},
		"camera-phone": {screen: "camera", view: func() view {
			v := camera()
			v.Path, v.Camera, v.Handover, v.Leave, v.OnPhone = "/h/PHONE", "/h/PHONE", "", "", true
			v.Without = "/h/PHONE/without-camera"
			return v
		}},
		"document": {screen: "document", view: func() view {
			return &documentView{layout: layout{Path: "/v/TOKEN", Test: true, Forcible: true}, exit: shop,
				Ways: both}
		}},
		"document-preferred": {screen: "document", view: func() view {
			return &documentView{layout: live, exit: shop, Preferred: true, Ways: []session.Way{session.WayPhoto}}
		}},
		"document-refused": {screen: "document", view: func() view {
			return &documentView{layout: live, exit: shop, Ways: []session.Way{session.WayWallet},
				Refused: wallet.ReasonExpired, Left: 2}
		}},
		"document-used-up": {screen: "document", view: func() view {
			return &documentView{layout: live, exit: shop, Ways: []session.Way{session.WayWallet}, UsedUp: true}
		}},
		"privacy": {screen: "privacy", view: func() view { return &privacyView{} }},
		"photo":   {screen: "photo", view: func() view { return &photoView{layout: form("/photo"), exit: shop} }},
		"photo-consent-missing": {screen: "photo", view: func() view {
			return &photoView{layout: form("/photo"), exit: shop, OtherWay: true, Missing: true}
		}},
		"photo-camera-young": {screen: "camera", view: func() view {
			v := camera()
			v.Photo, v.Camera, v.Without, v.Back, v.Refused, v.Left = true, "/v/TOKEN/photo", "", "/v/TOKEN", photo.UnderAge, 1
			return v
		}},
		"photo-camera": {screen: "camera", view: func() view {
			v := camera()
			v.Photo, v.Camera, v.Without, v.Back, v.Refused = true, "/v/TOKEN/photo", "", "/v/TOKEN", photo.Expired
			v.Left = 1
			return v
		}},
		"document-unavailable": {screen: "document", view: func() view {
			return &documentView{layout: live, exit: shop}
		}},
		"wallet": {screen: "wallet", view: func() view { return asking() }},
		"wallet-mobile": {screen: "wallet", view: func() view {
			v := asking()
			v.Mobile, v.OtherWay = true, false
			return v
		}},
		"wallet-test-refused": {screen: "wallet", view: func() view {
			v := asking()
			v.Test, v.Forcible, v.State, v.Refused, v.Sample = true, true, "issuer_unknown", "issuer_unknown",
				"/sample-wallet/bm9uY2U9MQ"
			return v
		}},
		"sample": {screen: "sample", view: func() view {
			return &sampleView{layout: layout{Test: true}, Request: "/sample-wallet/bm9uY2U9MQ"}
		}},
		"fallback": {screen: "fallback",
			view: func() view { return &fallbackView{layout: ended, exit: reviewed, Why: whyEstimate} }},
		"fallback-no-review": {screen: "fallback",
			view: func() view { return &fallbackView{layout: ended, exit: shop, Why: whyNoEstimate} }},
		"fallback-document": {screen: "fallback",
			view: func() view { return &fallbackView{layout: ended, exit: shop, Why: whyDocument} }},
		"fallback-no-camera": {screen: "fallback",
			view: func() view { return &fallbackView{layout: ended, exit: shop, Why: whyNoCamera, Trouble: "missing"} }},
		"fallback-no-person": {screen: "fallback",
			view: func() view { return &fallbackView{layout: ended, exit: reviewed, Why: whyNoPerson} }},
		"spoof":            {screen: "spoof", view: func() view { return &introView{layout: live, exit: reviewed} }},
		"spoof-document":   {screen: "spoof", view: func() view { return &introView{layout: live, exit: shop, Ways: both} }},
		"onward":           {screen: "onward", view: func() view { return &introView{layout: live, exit: shop} }},
		"handover-waiting": handover(handoverWaiting),
		"handover-link": {screen: "handover", view: func() view {
			v := handover(handoverWaiting).view().(*handoverView)
			v.LinkFirst = true
			return v
		}},
		"handover-phone":   handover(handoverPhone),
		"handover-expired": handover(handoverExpired),
		"phone": {screen: "phone", view: func() view {
			return &introView{layout: layout{Path: "/h/PHONE"}, exit: shop, Code: "4711", Ways: both[1:]}
		}},
	}
	screens["notice-passed"] = goldenScreen{screen: "notice", view: func() view {
		return &noticeView{layout: layout{Path: "/h/PHONE"}, Name: "handover_done", Passed: true}
	}}
	screens["notice-answered"] = goldenScreen{screen: "notice", view: func() view {
		return &noticeView{layout: live, exit: shop, Name: "elsewhere", Icon: "info", Answered: true}
	}}
	for name, icon := range notices {
		screens["notice-"+name] = goldenScreen{screen: "notice", view: func() view {
			v := &noticeView{layout: live, exit: shop, Name: name, Icon: icon}
			switch name {
			case "refused":
				v.exit, v.Check = exit{}, "."
			case "error", "busy":
				v.exit, v.Retry = exit{}, "?"
			}
			return v
		}}
	}
	return screens
}

var staticHash = regexp.MustCompile(`/static/[0-9a-f]{16}/`)

// rendered returns the HTML of a screen in a language, without the hash of the
// static files.
func (g goldenScreen) rendered(t *testing.T, pages *page.Set, language string) string {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/v/TOKEN"+g.query, nil)
	req.Header.Set("Accept-Language", language)
	rec := httptest.NewRecorder()
	p := &Pages{pages: pages}
	must(t, p.render(echo.New().NewContext(req, rec), http.StatusOK, g.screen, g.view()))
	return staticHash.ReplaceAllString(rec.Body.String(), "/static/HASH/")
}

// TestGoldenPages: the English pages are exactly those in testdata/golden.
func TestGoldenPages(t *testing.T) {
	t.Parallel()
	pages, err := loadPages("https://verify.example")
	must(t, err)
	folder := filepath.Join("testdata", "golden")
	covered := map[string]bool{}
	screens := goldenScreens()
	for name, g := range screens {
		covered[g.screen] = true
		got, file := g.rendered(t, pages, "en"), filepath.Join(folder, name+".html")
		if *update {
			must(t, os.WriteFile(file, []byte(got), 0o600))
			continue
		}
		want, err := os.ReadFile(file)
		must(t, err)
		if got != string(want) {
			t.Errorf("%s differs from %s:\n%s", name, file, firstDifference(got, string(want)))
		}
	}
	for _, screen := range templateNames(t) {
		if !covered[screen] {
			t.Errorf("the screen %s has no golden file", screen)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.html"))
	must(t, err)
	for _, file := range files {
		if _, ok := screens[strings.TrimSuffix(filepath.Base(file), ".html")]; !ok {
			t.Errorf("%s belongs to no screen", file)
		}
	}
}

// TestEveryPageInEveryLanguage: no page fails or shows a placeholder in any
// language, and Japanese and Chinese set spaces around Latin, but not between sentences.
func TestEveryPageInEveryLanguage(t *testing.T) {
	t.Parallel()
	pages, err := loadPages("https://verify.example")
	must(t, err)
	raw := regexp.MustCompile(`\{[a-z_]+\}`)
	const east = `[\p{Hiragana}\p{Katakana}\p{Han}]`
	spacing := regexp.MustCompile(`。 |` + east + `[0-9A-Za-z]|[0-9A-Za-z]` + east)
	for _, l := range pages.Languages() {
		for name, g := range goldenScreens() {
			got := g.rendered(t, pages, l.Tag)
			if found := raw.FindString(got); found != "" {
				t.Errorf("%s, %s: shows %s", name, l.Tag, found)
			}
			if found := spacing.FindString(got); found != "" {
				t.Errorf("%s, %s: sets %q", name, l.Tag, found)
			}
			if !strings.Contains(got, `<html lang="`+l.Tag+`"`) {
				t.Errorf("%s, %s: another language", name, l.Tag)
			}
		}
	}
}

func templateNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "templates", "shopper", "*.html"))
	must(t, err)
	var names []string
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".html"); name != "layout" {
			names = append(names, name)
		}
	}
	if len(names) != len(screens) {
		t.Errorf("there are %d templates for %d screens", len(names), len(screens))
	}
	return names
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one of them ends earlier"
}
