package shopper

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate/internal/check/document/photo"
	"agegate/internal/rules/tenant"
	"agegate/templates"
)

func TestLanguageIsChosen(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(true)
	shopper := f.browser()
	for _, l := range f.pages.pages.Languages() {
		a := shopper.get(link + "?lang=" + l.Tag)
		if !strings.Contains(a.body, `<html lang="`+l.Tag+`" dir="`+l.Dir+`">`) {
			t.Errorf("%s was not chosen", l.Tag)
		}
		if again := shopper.get(link); again.Header.Get("Content-Language") != l.Tag {
			t.Errorf("%s was not remembered", l.Tag)
		}
	}
	if a := shopper.get(link + "?lang=xx"); a.StatusCode != http.StatusOK {
		t.Errorf("unknown language: %d", a.StatusCode)
	}
}

// Whoever changes the language keeps the tick of a consent. No link can set it, and
// nothing is agreed to by changing the language.
func TestALanguageKeepsATick(t *testing.T) {
	t.Parallel()
	asksShare := newFixture(t, tenant.Tenant{AgeVisibility: true}, scripted())
	shared, sharer := asksShare.session(true), asksShare.browser()
	sharer.post(shared+"/start", nil)
	asksPhoto := filmed(t, photo.Passed)
	filmed, filmer := asksPhoto.session(true), asksPhoto.browser()
	asksPhoto.offer(filmer, filmed)
	filmer.post(filmed+"/document", url.Values{"choice": {"photo"}})
	for _, tt := range []struct {
		f             *fixture
		b             *browser
		session, page string
		form, box     string
	}{
		{asksShare, sharer, shared, "", "/consent", "share"},
		{asksPhoto, filmer, filmed, "/photo", "/photo", "compare"},
	} {
		address := tt.session + tt.form + "?lang=de"
		languages := `formaction="` + strings.TrimPrefix(address, tt.f.server.URL) + `"`
		for _, ticked := range []bool{true, false} {
			form := url.Values{}
			if ticked {
				form.Set(tt.box, "yes")
			}
			a := tt.b.post(address, form)
			if a.StatusCode != http.StatusOK || !strings.Contains(a.body, `<html lang="de"`) ||
				strings.Contains(a.body, " checked ") != ticked || !strings.Contains(a.body, languages) {
				t.Errorf("%s, ticked %t: %d\n%s", tt.box, ticked, a.StatusCode, a.body)
			}
		}
		a := tt.b.get(tt.session + tt.page + "?lang=fr&" + tt.box + "=yes")
		if !strings.Contains(a.body, `<html lang="fr"`) || !strings.Contains(a.body, languages) ||
			strings.Contains(a.body, " checked ") {
			t.Errorf("%s by a link:\n%s", tt.box, a.body)
		}
		tt.b.get(tt.session+"/consent").leadsTo(t, strings.TrimPrefix(tt.session, tt.f.server.URL))
		if s := tt.f.stored(tt.session); s.ConsentedAt != nil || s.FaceMatchAt != nil {
			t.Errorf("%s: agreed at %v, %v", tt.box, s.ConsentedAt, s.FaceMatchAt)
		}
	}
}

// A merchant's choice limits the languages that are offered, even if the shopper
// chose another elsewhere or the browser requests one.
func TestOfferedLanguages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{Languages: []string{"de", "fr"}}, scripted())
	link := f.session(true)
	for _, tt := range []struct{ query, cookie, accept, want string }{
		{"", "", "", "de"}, {"", "", "en-US,en", "de"}, {"", "", "en,fr-CA;q=0.5", "fr"}, {"?lang=fr", "", "de", "fr"},
		{"?lang=en", "", "", "de"}, {"", "en", "", "de"}, {"", "fr", "de", "fr"}, {"?lang=tr", "ar", "ja", "de"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link+tt.query, nil)
		must(t, err)
		req.Header.Set("Accept-Language", tt.accept)
		if tt.cookie != "" {
			req.Header.Set("Cookie", languageCookie+"="+tt.cookie)
		}
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		body, err := io.ReadAll(res.Body)
		must(t, err)
		must(t, res.Body.Close())
		if got := res.Header.Get("Content-Language"); got != tt.want || strings.Count(string(body), `href="?lang=`) != 2 {
			t.Errorf("%+v: %s, with %d languages to choose from", tt, got, strings.Count(string(body), `href="?lang=`))
		}
	}
}

// The languages that a merchant can choose from are those of the page.
func TestLanguagesAreThoseOfTheSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	var tags []string
	for _, l := range f.pages.pages.Languages() {
		tags = append(tags, l.Tag)
	}
	if tags[0] != tenant.Languages[0] || !slices.Equal(slices.Sorted(slices.Values(tags)),
		slices.Sorted(slices.Values(tenant.Languages))) {
		t.Errorf("the page has %v, the settings %v", tags, tenant.Languages)
	}
}

// Every guidance and prompt of the camera check needs a text. The constants of
// these types in the source are the list.
func TestEveryGuidanceAndPromptHasAText(t *testing.T) {
	t.Parallel()
	texts := textsOf(t, templates.Shopper(), "en.json")
	var sources []string
	for _, room := range []string{"vision", "liveness"} {
		files, err := filepath.Glob("../../check/" + room + "/*.go")
		must(t, err)
		sources = append(sources, files...)
	}
	constant := regexp.MustCompile(`(?m)^\s*(?:const )?(Guidance|Prompt)\w+\s+(?:Guidance|Prompt)\s*=\s*"(\w+)"`)
	known := map[string]int{}
	for _, source := range sources {
		code, err := os.ReadFile(source)
		must(t, err)
		for _, m := range constant.FindAllStringSubmatch(string(code), -1) {
			known[m[1]]++
			if key := strings.ToLower(m[1]) + "." + m[2]; texts[key] == nil {
				t.Errorf("there is no text %q", key)
			}
		}
	}
	if known["Guidance"] < 10 || known["Prompt"] < 1 {
		t.Errorf("found only %v in the source", known)
	}
}

// From right to left, a browser shows "<" as ">" unless it is isolated: the
// shopper would look for signs that no document has.
func TestSignsOfDocumentsAreNotMirrored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	for _, l := range f.pages.pages.Languages() {
		for key, value := range textsOf(t, templates.Shopper(), l.Tag+".json") {
			text, _ := value.(string)
			if l.Dir == "rtl" {
				text = strings.ReplaceAll(text, "\u2066<<<\u2069", "")
			} else {
				text = strings.ReplaceAll(text, "<<<", "")
			}
			if strings.Contains(text, "<") {
				t.Errorf("%s: %s", l.Tag, key)
			}
		}
	}
}

// TestTextsStandOnTheirOwn: in every language a folded line does not end in a colon, and no one word is both a step
// back within the check and the beginning of the way to the shop. Short words with a hyphen stay on one line.
func TestTextsStandOnTheirOwn(t *testing.T) {
	t.Parallel()
	summary := regexp.MustCompile(`(?s)<summary[^>]*>(.*?)</summary>`)
	f := newFixture(t, tenant.Tenant{}, nil)
	for _, l := range f.pages.pages.Languages() {
		for name, g := range goldenScreens() {
			for _, m := range summary.FindAllStringSubmatch(g.rendered(t, f.pages.pages, l.Tag), -1) {
				if text := strings.TrimSpace(m[1]); strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：") {
					t.Errorf("%s, %s: folded, nothing follows %q", l.Tag, name, text)
				}
			}
		}
		texts := textsOf(t, templates.Shopper(), l.Tag+".json")
		for key, text := range texts {
			if text, _ := text.(string); regexp.MustCompile(`(?i)\b(id|qr)-`).MatchString(text) {
				t.Errorf("%s: a line may end within a word of %s, which needs the hyphen U+2011: %q", l.Tag, key, text)
			}
		}
		if back := texts["page.back"].(string); strings.Contains(texts["page.leave"].(string), back) {
			t.Errorf("%s: %q also begins the way to the shop", l.Tag, back)
		}
	}
}

// TestFrenchSignsDoNotBreak: a space before one of French's high signs, or within its quotes, does not break.
func TestFrenchSignsDoNotBreak(t *testing.T) {
	t.Parallel()
	var texts map[string]any
	all := []map[string]any{textsOf(t, templates.Shopper(), "fr.json")}
	raw, err := os.ReadFile("../../../sdk/door/texts.json")
	must(t, err)
	must(t, json.Unmarshal(raw, &texts))
	all = append(all, texts["fr"].(map[string]any))
	raw, err = fs.ReadFile(templates.Dashboard(), "shopper-replies.json")
	must(t, err)
	var replies []map[string]any
	must(t, json.Unmarshal(raw, &replies))
	breaks := regexp.MustCompile(`[^\x{202f}\x{a0}][;»]|«[^\x{202f}\x{a0}]| [:!?%€]`)
	i := slices.IndexFunc(replies, func(reply map[string]any) bool { return reply["tag"] == "fr" })
	for _, texts := range append(all, replies[i]) {
		for key, text := range texts {
			if found := breaks.FindString(fmt.Sprint(text)); found != "" {
				t.Errorf("%s: a line may end within %q: %q", key, found, text)
			}
		}
	}
}

// TestSentencesEndAsTheirScriptDoes: after a Chinese or Japanese sign no Latin full stop or comma follows.
func TestSentencesEndAsTheirScriptDoes(t *testing.T) {
	t.Parallel()
	foreign := regexp.MustCompile(`[\p{Han}\p{Hiragana}\p{Katakana}）」”][.,;:]`)
	for _, tag := range []string{"ja", "zh-Hans"} {
		for key, text := range textsOf(t, templates.Shopper(), tag+".json") {
			if found := foreign.FindString(fmt.Sprint(text)); found != "" {
				t.Errorf("%s: %s has %q", tag, key, found)
			}
		}
	}
}

// TestNumbersKeepTheirUnits: no line ends between a number and its unit. The other words may begin a line.
func TestNumbersKeepTheirUnits(t *testing.T) {
	t.Parallel()
	follows := regexp.MustCompile(`(?:\{(?:age|n|total)\}|\d) (\pL[\pL\pM]*)`)
	others := strings.Fields("or of oder von in van sur dans di de da z af av i من")
	f := newFixture(t, tenant.Tenant{}, nil)
	for _, l := range f.pages.pages.Languages() {
		for key, text := range textsOf(t, templates.Shopper(), l.Tag+".json") {
			for _, m := range follows.FindAllStringSubmatch(fmt.Sprint(text), -1) {
				if !slices.Contains(others, m[1]) {
					t.Errorf("%s: %s needs a space that does not break in %q", l.Tag, key, m[0])
				}
			}
		}
	}
}

// TestTheOldFrenchCardIsNamedWhereItFits: like a card that can be read, it has rows of letters and <<<. In France the
// first lines and the ways that lead there name what is read instead; elsewhere it stands among what cannot be read.
func TestTheOldFrenchCardIsNamedWhereItFits(t *testing.T) {
	t.Parallel()
	french := regexp.MustCompile(`(?i)fr[ae]n[cçzs]|フランス|法国|الفرنسية`)
	f := newFixture(t, tenant.Tenant{}, nil)
	for _, l := range f.pages.pages.Languages() {
		texts := textsOf(t, templates.Shopper(), l.Tag+".json")
		for key, want := range map[string]bool{"photo.limits": true, "photo.lead": l.Tag == "fr"} {
			if text := texts[key].(string); french.MatchString(text) != want {
				t.Errorf("%s: %s names the old French card: %t: %q", l.Tag, key, !want, text)
			}
		}
	}
	texts := textsOf(t, templates.Shopper(), "fr.json")
	for _, key := range []string{"intro.prefer.photo", "intro.prefer.both", "document.about.photo", "photo.lead"} {
		contains(t, texts[key].(string), "au format carte bancaire")
	}
}

// TestAChoiceNamesWhatIsRead: nobody gives the camera up for a document that cannot be read. The texts of the choice
// name the rows of a document, and the wallets by their standards; apps of a country that are none are not invited.
func TestAChoiceNamesWhatIsRead(t *testing.T) {
	t.Parallel()
	unread := map[string][]string{"da": {"MitID", "Kørekort-appen"}, "sv": {"BankID", "Freja"}, "de": {"AusweisApp"},
		"nl": {"DigiD"}, "es": {"miDGT", "MiDNI"}, "pt": {"CNH Digital", "gov.br"}, "tr": {"e‑Devlet"},
		"fr": {"FranceConnect"}, "it": {"SPID"}, "ja": {"マイナ免許証"}, "zh-Hans": {"支付宝"}}
	f := newFixture(t, tenant.Tenant{}, nil)
	for _, l := range f.pages.pages.Languages() {
		texts := textsOf(t, templates.Shopper(), l.Tag+".json")
		for _, key := range []string{"intro.prefer.photo", "intro.prefer.both", "document.about.photo", "photo.lead"} {
			contains(t, texts[key].(string), "<<<")
		}
		for _, key := range []string{"wallet.app.openid4vp", "wallet.open.openid4vp"} {
			contains(t, texts[key].(string), "ISO\u00a018013‑5")
		}
		for _, key := range []string{"intro.prefer.wallet", "document.about.wallet", "wallet.tells"} {
			contains(t, texts[key].(string), append(unread[l.Tag], "ISO\u00a018013‑5")...)
		}
	}
}

// TestOutcomesAreNamedAsOnTheDashboard: the bar of a test session and the dashboard's buttons lead to the same pages.
func TestOutcomesAreNamedAsOnTheDashboard(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"en", "de"} {
		page := textsOf(t, templates.Shopper(), tag+".json")
		dashboard := textsOf(t, templates.Dashboard(), tag+"/session.json")
		for _, outcome := range []string{"verified", "fallback", "spoof"} {
			if got, want := page["test."+outcome], dashboard["outcome."+outcome]; got != want {
				t.Errorf("%s: %s is %q, on the dashboard %q", tag, outcome, got, want)
			}
		}
	}
}

// textsOf returns a file of texts.
func textsOf(t *testing.T, of fs.FS, file string) (texts map[string]any) {
	t.Helper()
	raw, err := fs.ReadFile(of, "locales/"+file)
	must(t, err)
	must(t, json.Unmarshal(raw, &texts))
	return texts
}
