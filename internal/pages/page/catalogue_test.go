package page

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"agegate/internal/rules/strictjson"
	"agegate/templates"
)

func TestCatalogueRefusesWhatIsIncomplete(t *testing.T) {
	tests := map[string]string{
		"a missing key":          `{"a":"A {n}"}`,
		"an empty text":          `{"a":"A {n}","b":" "}`,
		"an extra key":           `{"a":"A {n}","b":"B","c":"C"}`,
		"a missing placeholder":  `{"a":"A","b":"B"}`,
		"a mistyped placeholder": `{"a":"A {m}","b":"B"}`,
		"no JSON":                `{`,
		"a plural on its own":    `{"a":"A {n}","b":{"one":"B","other":"B"}}`,
	}
	for name, de := range tests {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{
				"locales/en.json": {Data: []byte(`{"a":"a {n}","b":"b"}`)},
				"locales/de.json": {Data: []byte(de)},
			}
			if _, err := loadCatalogue(files); err == nil {
				t.Error("no error")
			}
		})
	}
	if _, err := loadCatalogue(fstest.MapFS{"locales/de.json": {Data: []byte(`{}`)}}); err == nil {
		t.Error("a catalogue without the reference")
	}
}

func TestCatalogueRefusesWrongPlurals(t *testing.T) {
	tests := map[string]struct {
		tag, entry string
		ok         bool
	}{
		"all four of Polish":     {"pl", `{"one":"{n} a","few":"{n} b","many":"{n} c","other":"{n} d"}`, true},
		"three of Polish's four": {"pl", `{"one":"{n} a","few":"{n} b","other":"{n} d"}`, false},
		"all six of Arabic": {"ar", `{"zero":"z","one":"a","two":"b","few":"{n} c","many":"{n} d","other":"{n} e"}`,
			true},
		"five of Arabic's six":     {"ar", `{"zero":"z","one":"a","few":"{n} c","many":"{n} d","other":"{n} e"}`, false},
		"the one form of Japanese": {"ja", `{"other":"{n}"}`, true},
		"one too many in Japanese": {"ja", `{"one":"{n}","other":"{n}"}`, false},
		"no form of that name":     {"de", `{"one":"{n}","others":"{n}","other":"{n}"}`, false},
		"an empty form":            {"de", `{"one":" ","other":"{n}"}`, false},
		"an extra value":           {"de", `{"one":"{n}","other":"{n} {m}"}`, false},
		"a list":                   {"de", `["{n}"]`, false},
		"plain, against a plural":  {"de", `"{n}"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := loadCatalogue(fstest.MapFS{
				"locales/en.json":             {Data: []byte(`{"a":{"one":"{n} a","other":"{n} b"}}`)},
				"locales/" + tt.tag + ".json": {Data: []byte(`{"a":` + tt.entry + `}`)},
			})
			if (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPluralFormFollowsTheNumber(t *testing.T) {
	c, err := loadCatalogue(fstest.MapFS{
		"locales/en.json": {Data: []byte(`{"a":{"one":"one","other":"{n} other"}}`)},
		"locales/pl.json": {Data: []byte(`{"a":{"one":"one","few":"{n} few","many":"{n} many","other":"{n} other"}}`)},
		"locales/ar.json": {Data: []byte(`{"a":{"zero":"zero","one":"one","two":"two","few":"{n} few","many":"{n} many","other":"{n} other"}}`)},
		"locales/ja.json": {Data: []byte(`{"a":{"other":"{n} other"}}`)},
	})
	must(t, err)
	for tag, forms := range map[string]map[int]string{
		"en": {0: "0 other", 1: "one", 2: "2 other"},
		"pl": {0: "0 many", 1: "one", 2: "2 few", 5: "5 many", 12: "12 many", 22: "22 few"},
		"ar": {0: "zero", 1: "one", 2: "two", 3: "\u20683\u2069 few", 11: "\u206811\u2069 many",
			100: "\u2068100\u2069 other"},
		"ja": {0: "0 other", 1: "1 other"},
	} {
		l, _ := c.byTag(tag)
		for n, want := range forms {
			if got, err := l.text("a", "n", n); got != want || err != nil {
				t.Errorf("%s, %d: %q, %v, want %q", tag, n, got, err, want)
			}
		}
		if _, err := l.text("a"); err == nil {
			t.Errorf("%s: a plural text without a number", tag)
		}
	}
}

// TestOneFullStopEndsASentence: a name that ends with a full stop does not get another.
func TestOneFullStopEndsASentence(t *testing.T) {
	c, err := loadCatalogue(fstest.MapFS{
		"locales/en.json": {Data: []byte(`{"a":"For {shop}. {shop} decides."}`)},
		"locales/ar.json": {Data: []byte(`{"a":"For {shop}. {shop} decides."}`)},
	})
	must(t, err)
	for _, tt := range [][3]string{
		{"en", "Berger e.U.", "For Berger e.U. Berger e.U. decides."}, {"en", "Berger", "For Berger. Berger decides."},
		{"ar", "B.", "For \u2068B.\u2069 \u2068B.\u2069 decides."},
	} {
		l, _ := c.byTag(tt[0])
		if got, err := l.text("a", "shop", tt[1]); got != tt[2] || err != nil {
			t.Errorf("%q, %v, want %q", got, err, tt[2])
		}
	}
}

func TestTemplatesGiveEveryValue(t *testing.T) {
	c, err := loadCatalogue(fstest.MapFS{"locales/en.json": {Data: []byte(`{"a":"{merchant}","b":{"one":"a","other":"{n}"}}`)}})
	must(t, err)
	for page, ok := range map[string]bool{
		`{{t "a" "merchant" .M}}{{t "b" "n" .N}}`: true, `{{t "a"}}`: false, `{{t "a" "shop" .M}}`: false, `{{t "b"}}`: false,
	} {
		files := fstest.MapFS{"layout.html": {Data: []byte("")}, "page.html": {Data: []byte(page)}}
		if _, err := parseScreens(Config{Files: files}, c); (err == nil) != ok {
			t.Errorf("%s: %v", page, err)
		}
	}
}

func TestTemplatesMayNotNameUnknownTexts(t *testing.T) {
	c, err := loadCatalogue(fstest.MapFS{"locales/en.json": {Data: []byte(`{"known":"text"}`)}})
	must(t, err)
	for _, page := range []string{`{{t "nope"}}`, `{{if .X}}{{t "nope"}}{{end}}`,
		`{{range .X}}{{else}}{{print (t "nope" "a" 1)}}{{end}}`, `{{with t "nope"}}{{end}}`} {
		files := fstest.MapFS{"layout.html": {Data: []byte(`{{t "known"}}`)}, "page.html": {Data: []byte(page)}}
		if _, err := parseScreens(Config{Files: files}, c); err == nil || !strings.Contains(err.Error(), "nope") {
			t.Errorf("%s: %v", page, err)
		}
	}
}

func TestLanguageFollowsTheBrowser(t *testing.T) {
	c, err := loadCatalogue(templates.Shopper())
	must(t, err)
	for header, want := range map[string]string{
		"":                          "en",
		"fr-CH, fr;q=0.9, en;q=0.8": "fr",
		"sv, de;q=0.5":              "sv",
		"fi, de;q=0.5":              "de",
		"da-DK, en;q=0.8":           "da",
		"nb":                        "da",
		"pt":                        "pt",
		"pt-BR":                     "pt",
		"pt-PT, pt;q=0.9, en;q=0.8": "pt-PT",
		"pt-AO":                     "pt-PT",
		"pt-MZ":                     "pt-PT",
		"zh-CN":                     "zh-Hans",
		"ar-EG":                     "ar",
		"en-GB, es;q=0.9":           "en",
		"sw":                        "en",
		"not a header; q=":          "en",
		"ja":                        "ja",
		"nl-BE":                     "nl",
		"pl":                        "pl",
		"it-CH":                     "it",
		"tr":                        "tr",
		"es-419, en;q=0.5":          "es",
	} {
		if got := c.match(header).Tag; got != want {
			t.Errorf("%q gives %s, want %s", header, got, want)
		}
	}
	for tag, header := range map[string]string{"pt": "pt-PT", "pt-PT": "pt-BR"} {
		if got := c.only([]string{"de", tag}).match(header).Tag; got != tag {
			t.Errorf("where %s is the only Portuguese, %s gets %s", tag, header, got)
		}
	}
}

// TestNumbersFollowTheLanguage: a number in a text and one alone have the separators of the language.
func TestNumbersFollowTheLanguage(t *testing.T) {
	for tag, want := range map[string]string{
		"en": "1,234,567 −1,234 12.5 46% 50,000+ 200 –",
		"de": "1.234.567 −1.234 12,5 46\u00a0% 50.000+ 200 –",
		"sv": "1\u00a0234\u00a0567 −1\u00a0234 12,5 46\u00a0% 50\u00a0000+ 200 –",
	} {
		c, err := loadCatalogue(fstest.MapFS{"locales/en.json": {Data: []byte(`{"n":"{n}"}`)},
			"locales/" + tag + ".json": {Data: []byte(`{"n":"{n}"}`)}})
		must(t, err)
		l, _ := c.byTag(tag)
		var alone, said []string
		for _, n := range []any{1234567, int64(-1234), 12.5, Share(0.456), AtLeast(50000), "200", "–"} {
			text, err := l.text("n", "n", n)
			must(t, err)
			alone, said = append(alone, l.figure(n)), append(said, text)
		}
		if strings.Join(alone, " ") != want || strings.Join(said, " ") != want {
			t.Errorf("%s: %q and %q, want %q", tag, alone, said, want)
		}
	}
	if got := (&Locale{Tag: "ar"}).figure(1234); got != "1,234" {
		t.Errorf("ar: %q", got)
	}
}

func TestLanguagesAreNamedInThemselves(t *testing.T) {
	for tag, want := range map[string]string{"pt": "Português (Brasil)", "pt-PT": "Português (Portugal)", "es": "Español",
		"de": "Deutsch", "zh-Hans": "简体中文", "ar": "العربية"} {
		if got := LanguageName(tag); got != want {
			t.Errorf("%s is called %q, want %q", tag, got, want)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTextsHaveOneKey: of two entries with one key in a file of texts, the later would hide the earlier.
func TestTextsHaveOneKey(t *testing.T) {
	read := 0
	for _, files := range []fs.FS{templates.Dashboard(), templates.Shopper()} {
		err := fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".json") {
				return err
			}
			data, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			read++
			if _, err := strictjson.Read(data, 8); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 30 {
		t.Errorf("%d files", read)
	}
}
