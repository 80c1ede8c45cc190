package page

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// reference is the language that every other catalogue must match. Browsers that accept none of the languages get it.
const reference = "en"

// Locale is one language of the pages.
type Locale struct {
	Tag  string // BCP 47
	Name string // in the language itself
	Dir  string // ltr or rtl

	tag   language.Tag
	texts map[string]text
}

// text returns the text of a key. It fills the {placeholders} from pairs of name and value, numbers as figure
// writes them; the value of n chooses the form of a plural text. An unknown key is an error, so that no page shows
// a key. In right-to-left text, values are isolated (Unicode UAX #9), because otherwise the punctuation around a
// Latin name would move.
func (l *Locale) text(key string, pairs ...any) (string, error) {
	entry, ok := l.texts[key]
	if !ok {
		return "", fmt.Errorf("locale %s has no text %q", l.Tag, key)
	}
	filled := entry.plain
	if entry.forms != nil {
		n, ok := valueOf(counted, pairs).(int)
		if !ok {
			return "", fmt.Errorf("the plural text %q is used without a number %q", key, counted)
		}
		filled = entry.form(l.tag, n)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		value := fmt.Sprint(pairs[i+1])
		switch pairs[i+1].(type) {
		case int, int64, float64, Share, AtLeast:
			value = l.figure(pairs[i+1])
		}
		hole := fmt.Sprintf("{%v}", pairs[i])
		if strings.HasSuffix(value, ".") { // a name such as "Berger e.U." has the sentence's full stop
			filled = strings.ReplaceAll(filled, hole+".", hole)
		}
		if l.Dir == "rtl" {
			value = "\u2068" + value + "\u2069"
		}
		filled = strings.ReplaceAll(filled, hole, value)
	}
	return filled, nil
}

// Share is a part of a whole, from 0 to 1, which pages show in percent.
type Share float64

// AtLeast is a count that was limited, which pages show with a plus.
type AtLeast int64

// figure writes a number as the language does, in digits that all languages know: 1,234 and 45%, or in German
// 1.234 and 45 %. A text of digits counts as a number, and any other stays as it is.
func (l *Locale) figure(v any) string {
	sprint := message.NewPrinter(language.Make(l.Tag + "-u-nu-latn")).Sprint
	switch n := v.(type) {
	case Share:
		return sprint(number.Percent(float64(n), number.MaxFractionDigits(0)))
	case AtLeast:
		return l.figure(int64(n)) + "+"
	case float64:
		return sprint(number.Decimal(n, number.NoSeparator()))
	}
	if n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64); err == nil {
		return strings.Replace(sprint(number.Decimal(n)), "-", "−", 1)
	}
	return fmt.Sprint(v)
}

// Text is a text of the catalogue with its values, for views whose handlers
// choose the text. A template writes it with say.
type Text struct {
	Key    string
	Values []any // pairs of name and value
}

// Say returns a text with pairs of name and value. Its key must be among Config.Keys or be named by a template.
// Otherwise a missing text is found only when the page is rendered.
func Say(key string, pairs ...any) Text { return Text{key, pairs} }

// Keys returns the keys of texts that are a prefix and a name, for Config.Keys.
func Keys[S ~string](prefix string, names ...S) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = prefix + string(name)
	}
	return keys
}

func (l *Locale) say(t Text) (string, error) { return l.text(t.Key, t.Values...) }

// valueOf returns the value of a name in pairs of name and value, or nil.
func valueOf(name string, pairs []any) any {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == name {
			return pairs[i+1]
		}
	}
	return nil
}

// list returns the texts of keys, for a template that repeats them in every row of a table.
func (l *Locale) list(keys []string) ([]string, error) {
	texts := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if texts[i], err = l.text(key); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// group returns the plain texts whose keys begin with prefix and a dot. The names in
// the result are the rest of the keys.
func (l *Locale) group(prefix string) map[string]string {
	group := map[string]string{}
	for key, entry := range l.texts {
		if rest, ok := strings.CutPrefix(key, prefix+"."); ok && entry.forms == nil {
			group[rest] = entry.plain
		}
	}
	return group
}

// catalogue has all languages, the reference first.
type catalogue struct {
	locales []*Locale
	matcher language.Matcher
}

// loadCatalogue reads the catalogues. It fails unless each has the keys and the
// placeholders of the reference, and the plural forms of its language.
func loadCatalogue(files fs.FS) (*catalogue, error) {
	c, err := readLocales(files)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(c.locales, func(a, b *Locale) int {
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
		tags[i] = l.tag
	}
	c.matcher = language.NewMatcher(tags)
	return c, nil
}

// readLocales reads the languages. A language is one file, locales/<tag>.json, or a
// folder of files, locales/<tag>/*.json.
func readLocales(files fs.FS) (*catalogue, error) {
	whole, err := fs.Glob(files, "locales/*.json")
	if err != nil {
		return nil, err
	}
	parts, err := fs.Glob(files, "locales/*/*.json")
	if err != nil {
		return nil, err
	}
	c := &catalogue{}
	for _, name := range append(whole, parts...) {
		tag := strings.TrimSuffix(path.Base(name), ".json")
		if dir := path.Dir(name); dir != "locales" {
			tag = path.Base(dir)
		}
		l, err := c.locale(tag)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := l.read(files, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return c, nil
}

// locale returns the language of a tag. If there is none, it adds one.
func (c *catalogue) locale(name string) (*Locale, error) {
	tag, err := language.Parse(name)
	if err != nil {
		return nil, err
	}
	if l, ok := c.byTag(tag.String()); ok {
		return l, nil
	}
	l := &Locale{tag: tag, Tag: tag.String(), Name: LanguageName(name), Dir: "ltr", texts: map[string]text{}}
	if script, _ := tag.Script(); script.String() == "Arab" {
		l.Dir = "rtl"
	}
	c.locales = append(c.locales, l)
	return l, nil
}

// LanguageName returns the name of a language in itself, as a list of languages shows it.
func LanguageName(tag string) string {
	if name, ok := map[string]string{"pt": "Português (Brasil)", "pt-PT": "Português (Portugal)"}[tag]; ok {
		return name
	}
	name := display.Self.Name(language.Make(tag))
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// read adds the texts of a file. A key that another file already has is an error.
func (l *Locale) read(files fs.FS, name string) error {
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	var texts map[string]text
	if err := json.Unmarshal(raw, &texts); err != nil {
		return err
	}
	for key, entry := range texts {
		if _, taken := l.texts[key]; taken {
			return fmt.Errorf("the key %q is in another file too", key)
		}
		l.texts[key] = entry
	}
	return nil
}

// Has reports whether the catalogue has a text.
func (l *Locale) Has(key string) bool {
	_, ok := l.texts[key]
	return ok
}

// covers reports the first difference from the keys and placeholders of ref and from the plural forms of the language.
func (l *Locale) covers(ref *Locale) error {
	for _, key := range slices.Sorted(maps.Keys(l.texts)) {
		if _, ok := ref.texts[key]; !ok {
			return fmt.Errorf("locale %s has a text %q that %s does not have", l.Tag, key, ref.Tag)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ref.texts)) {
		entry, ok := l.texts[key]
		if !ok {
			return fmt.Errorf("locale %s has no text %q", l.Tag, key)
		}
		if err := entry.complete(l.tag); err != nil {
			return fmt.Errorf("locale %s: %q %w", l.Tag, key, err)
		}
		if (entry.forms == nil) != (ref.texts[key].forms == nil) {
			return fmt.Errorf("locale %s: %q is a plural text in one of %s and %s only", l.Tag, key, l.Tag, ref.Tag)
		}
		if !slices.Equal(entry.placeholders(), ref.texts[key].placeholders()) {
			return fmt.Errorf("locale %s: the placeholders of %q differ from %s", l.Tag, key, ref.Tag)
		}
	}
	return nil
}

// byTag returns the language with exactly this tag.
func (c *catalogue) byTag(tag string) (*Locale, bool) {
	for _, l := range c.locales {
		if l.Tag == tag {
			return l, true
		}
	}
	return nil, false
}

// only returns a catalogue of the languages with these tags; the first becomes the
// default. If the catalogue has none of them, only returns the catalogue itself.
func (c *catalogue) only(tags []string) *catalogue {
	some := &catalogue{}
	var order []language.Tag
	for _, tag := range tags {
		if l, ok := c.byTag(tag); ok {
			some.locales, order = append(some.locales, l), append(order, l.tag)
		}
	}
	if len(order) == 0 {
		return c
	}
	some.matcher = language.NewMatcher(order)
	return some
}

// match returns the best language for an Accept-Language header.
func (c *catalogue) match(acceptLanguage string) *Locale {
	tags, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		return c.locales[0]
	}
	_, index, _ := c.matcher.Match(tags...)
	return c.locales[index]
}
