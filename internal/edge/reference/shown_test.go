package reference

import (
	"strings"
	"testing"
)

// TestShownWords: what is shown of a text around a match begins and ends with whole
// words, also where a word alone is longer than the limit.
func TestShownWords(t *testing.T) {
	filler := strings.Repeat("abcde ", 40)
	long := strings.Repeat("x", 3*around)
	for _, tt := range []struct{ text, before, after string }{
		{filler + "match " + filler, "… " + strings.Repeat("abcde ", 11), strings.Repeat(" abcde", 11) + " …"},
		{"one match two", "one ", " two"},
		{long + "-match-" + long, "… " + long[:around-1] + "-", "-" + long[:around-1] + " …"},
	} {
		f := entry{text: tt.text}.shown("match")
		if f.Before != tt.before || f.Match != "match" || f.After != tt.after {
			t.Errorf("%.20q: %q, %q, %q", tt.text, f.Before, f.Match, f.After)
		}
	}
}
