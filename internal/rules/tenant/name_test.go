package tenant

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"agegate/internal/rules/fault"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name string
		want string // part of the error; empty: accepted
	}{
		{"Corner Cellar", ""},
		{"Vin & Øl \"quoted\" (2)", ""},
		{"Ώμος · 酒屋 · حانة · दुकान · 🍷", ""},
		{"e\u0301 as two code points", ""},
		{"ideographic\u3000space", ""},
		{"", "must not be empty"},
		{" \t", "must not be empty"},
		{"\u00a0\u3000\u2003", "must not be empty"},
		{"\u200b\u200b", "control or invisible"},
		{"\u2800", "control or invisible"}, // braille blank: an invisible symbol
		{"\u3164", "control or invisible"}, // Hangul filler: an invisible letter
		{"X\x1b[2J", "control or invisible"},
		{"two\nlines", "control or invisible"},
		{"two\u2028lines", "control or invisible"},
		{"C1 \u009b2J", "control or invisible"},
		{"DEL \u007f", "control or invisible"},
		{"bidi \u202egnp", "control or invisible"},
		{"isolate \u2066x\u2069", "control or invisible"},
		{"mark \u200e", "control or invisible"},
		{"zero\u200bwidth", "control or invisible"},
		{"joiner \U0001f468\u200d\U0001f373", "control or invisible"},
		{"non-joiner می\u200cخواهم", "control or invisible"},
		{"byte order mark\ufeff", "control or invisible"},
		{"soft\u00adhyphen", "control or invisible"},
		{"tag \U000e0041\U000e0042", "control or invisible"},
		{"variation \u2615\ufe0f", "control or invisible"},
		{"variation supplement \U000e0100", "control or invisible"},
		{"grapheme\u034fjoiner", "control or invisible"},
		{"private \ue000", "control or invisible"},
		{"private \U0010fffd", "control or invisible"},
		{"unassigned \u0378", "control or invisible"},
		{"noncharacter \uffff", "control or invisible"},
		{"not UTF-8 \xff", "control or invisible"},
	} {
		err := checkName(tt.name)
		if (err == nil) != (tt.want == "") || err != nil &&
			(fault.CodeOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), "name ") ||
				!strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Every code point of an invisible category is refused, and every visible
// letter is accepted.
func TestNamesByCategory(t *testing.T) {
	refused := []*unicode.RangeTable{
		unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Noncharacter_Code_Point, unicode.Bidi_Control, unicode.Join_Control,
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue // a surrogate cannot be in a string
		}
		ok := checkName("a"+string(r)+"b") == nil
		switch {
		case unicode.In(r, refused...) && ok:
			t.Errorf("%U is accepted", r)
		case unicode.IsLetter(r) && !unicode.In(r, refused...) && !ok:
			t.Errorf("the letter %U is refused", r)
		}
	}
}
