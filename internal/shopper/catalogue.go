package shopper

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// reference is the language every other catalogue is measured against, and
// the one for browsers that ask for none of ours.
const reference = "en"

// locale is one language of the pages.
type locale struct {
	Tag   string // BCP 47
	Name  string // in the language itself
	Dir   string // ltr or rtl
	texts map[string]string
}

// text returns the text of a key with its {placeholders} filled from pairs of
// name and value. An unknown key is an error, so that no page shows one. In
// right-to-left text a value is isolated (Unicode UAX #9), or the punctuation
// around a Latin name would move.
func (l *locale) text(key string, pairs ...any) (string, error) {
	text, ok := l.texts[key]
	if !ok {
		return "", fmt.Errorf("locale %s has no text %q", l.Tag, key)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		value := fmt.Sprint(pairs[i+1])
		if l.Dir == "rtl" {
			value = "\u2068" + value + "\u2069"
		}
		text = strings.ReplaceAll(text, fmt.Sprintf("{%v}", pairs[i]), value)
	}
	return text, nil
}

// group returns the texts whose keys begin with prefix and a dot, by what
// follows.
func (l *locale) group(prefix string) map[string]string {
	group := map[string]string{}
	for key, text := range l.texts {
		if rest, ok := strings.CutPrefix(key, prefix+"."); ok {
			group[rest] = text
		}
	}
	return group
}

// catalogue is all languages, the reference first.
type catalogue struct {
	locales []*locale
	matcher language.Matcher
}

// loadCatalogue reads the catalogues and fails unless all of them have the
// keys and the placeholders of the reference.
func loadCatalogue(files fs.FS) (*catalogue, error) {
	names, err := fs.Glob(files, "locales/*.json")
	if err != nil {
		return nil, err
	}
	c := &catalogue{}
	for _, name := range names {
		l, err := loadLocale(files, name)
		if err != nil {
			return nil, err
		}
		c.locales = append(c.locales, l)
	}
	slices.SortFunc(c.locales, func(a, b *locale) int {
		if (a.Tag == reference) != (b.Tag == reference) {
			return map[bool]int{true: -1, false: 1}[a.Tag == reference]
		}
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	if len(c.locales) == 0 || c.locales[0].Tag != reference {
		return nil, fmt.Errorf("locales/%s.json is missing", reference)
	}
	tags := make([]language.Tag, len(c.locales))
	for i, l := range c.locales {
		if err := l.covers(c.locales[0]); err != nil {
			return nil, err
		}
		tags[i] = language.Make(l.Tag)
	}
	c.matcher = language.NewMatcher(tags)
	return c, nil
}

func loadLocale(files fs.FS, name string) (*locale, error) {
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	tag, err := language.Parse(strings.TrimSuffix(path.Base(name), ".json"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l := &locale{Tag: tag.String(), Name: display.Self.Name(tag), Dir: "ltr"}
	if err := json.Unmarshal(raw, &l.texts); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if script, _ := tag.Script(); script.String() == "Arab" {
		l.Dir = "rtl"
	}
	return l, nil
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// covers reports the first difference in keys or placeholders from ref.
func (l *locale) covers(ref *locale) error {
	for _, key := range slices.Sorted(maps.Keys(l.texts)) {
		if _, ok := ref.texts[key]; !ok {
			return fmt.Errorf("locale %s has a text %q that %s has not", l.Tag, key, ref.Tag)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ref.texts)) {
		text, ok := l.texts[key]
		if !ok || strings.TrimSpace(text) == "" {
			return fmt.Errorf("locale %s has no text %q", l.Tag, key)
		}
		if !slices.Equal(placeholders(text), placeholders(ref.texts[key])) {
			return fmt.Errorf("locale %s: the placeholders of %q differ from %s", l.Tag, key, ref.Tag)
		}
	}
	return nil
}

// placeholders returns the distinct placeholders of a text, sorted.
func placeholders(text string) []string {
	found := placeholder.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// byTag returns the language with exactly this tag.
func (c *catalogue) byTag(tag string) (*locale, bool) {
	for _, l := range c.locales {
		if l.Tag == tag {
			return l, true
		}
	}
	return nil, false
}

// match returns the best language for an Accept-Language header.
func (c *catalogue) match(acceptLanguage string) *locale {
	tags, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		return c.locales[0]
	}
	_, index, _ := c.matcher.Match(tags...)
	return c.locales[index]
}
