package tenant

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"agegate/internal/rules/fault"
)

// The rules of names.
var (
	ErrNameEmpty  = fault.New(fault.Invalid, "name must not be empty")
	ErrNameHidden = fault.New(fault.Invalid,
		"name must not have control or invisible characters, such as joiners and variation selectors")
)

// checkName refuses a name that is blank, that could change the layout of a terminal or page, or that could look like
// another name. The joiners and variation selectors of composed emoji, and the joiners of some scripts, are refused
// with the rest.
func checkName(name string) error {
	if strings.TrimSpace(name) == "" {
		return ErrNameEmpty
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, IsHidden) {
		return ErrNameHidden
	}
	return nil
}

// brailleBlank is a symbol that is empty.
const brailleBlank = '\u2800'

// IsHidden reports whether a code point is invisible or changes how the text around it is shown: controls, format and
// bidirectional marks, line and paragraph separators, variation selectors, fillers, and code points that are private
// or unassigned in the Unicode version of the Go release. Spaces are not hidden.
func IsHidden(r rune) bool {
	return !unicode.IsGraphic(r) || r == brailleBlank ||
		unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Visible makes foreign text safe for a terminal or a page: it replaces every code point that is invisible or changes
// the text around it by its JSON escape (\u202e), and every byte that is not UTF-8 by \ufffd. Inside a JSON string,
// the result denotes the same text.
func Visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1, r <= 0xffff && IsHidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		case IsHidden(r):
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
