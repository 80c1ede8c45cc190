package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// text is one entry of a catalogue. It is a string, or an object with a string for each
// CLDR plural form of the language; the value of n then chooses the form.
type text struct {
	plain string
	forms map[plural.Form]string // nil for a plain text
}

// counted is the placeholder whose value chooses the plural form.
const counted = "n"

var formNames = map[string]plural.Form{
	"zero": plural.Zero, "one": plural.One, "two": plural.Two, "few": plural.Few, "many": plural.Many,
	"other": plural.Other,
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &t.plain); err == nil {
		return nil
	}
	var forms map[string]string
	if err := json.Unmarshal(raw, &forms); err != nil {
		return errors.New("a text is neither a string nor an object of plural forms")
	}
	t.forms = map[plural.Form]string{}
	for name, form := range forms {
		known, ok := formNames[name]
		if !ok {
			return fmt.Errorf("unknown plural form %q", name)
		}
		t.forms[known] = form
	}
	return nil
}

// all returns the text in each of its forms.
func (t text) all() []string {
	if t.forms == nil {
		return []string{t.plain}
	}
	return slices.Collect(maps.Values(t.forms))
}

// form returns the plural form for n in a language.
func (t text) form(tag language.Tag, n int) string {
	if form, ok := t.forms[plural.Cardinal.MatchPlural(tag, n, 0, 0, 0, 0)]; ok {
		return form
	}
	return t.forms[plural.Other]
}

// pluralForms returns the forms that a language has for whole numbers, and "other", which every language has.
func pluralForms(tag language.Tag) []plural.Form {
	forms := []plural.Form{plural.Other}
	for _, n := range append(numbersTo(200), 1_000_000) {
		if form := plural.Cardinal.MatchPlural(tag, n, 0, 0, 0, 0); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

func numbersTo(limit int) []int {
	numbers := make([]int, limit)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

// complete returns an error for a text that is empty, or that does not have exactly the plural forms of the language.
func (t text) complete(tag language.Tag) error {
	for _, form := range t.all() {
		if strings.TrimSpace(form) == "" {
			return errors.New("is empty")
		}
	}
	if t.forms == nil {
		return nil
	}
	needed := pluralForms(tag)
	for name, form := range formNames {
		_, has := t.forms[form]
		switch {
		case !has && slices.Contains(needed, form):
			return fmt.Errorf("lacks the plural form %q", name)
		case has && !slices.Contains(needed, form):
			return fmt.Errorf("has the plural form %q, which the language does not use", name)
		}
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// placeholders returns the distinct names of a text's values, sorted. A plural
// text always has n, even if a form writes it as a word.
func (t text) placeholders() []string {
	var names []string
	if t.forms != nil {
		names = append(names, counted)
	}
	for _, form := range t.all() {
		for _, match := range placeholder.FindAllStringSubmatch(form, -1) {
			names = append(names, match[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
