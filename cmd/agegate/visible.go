package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"agegate/internal/tenant"
)

// visible makes foreign text safe for a terminal: it escapes every code point
// that is invisible or changes the text around it as JSON does (\u202e), and
// writes a byte that is not UTF-8 as \ufffd. Inside a JSON string, the result
// denotes the same text.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1, r <= 0xffff && tenant.IsHidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		case tenant.IsHidden(r):
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// printJSON writes one JSON object, indented for people, its strings made
// visible.
func printJSON(w io.Writer, v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	// Line breaks here come from the encoder; those inside strings are escaped.
	for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if _, err := fmt.Fprintln(w, visible(line)); err != nil {
			return err
		}
	}
	return nil
}
