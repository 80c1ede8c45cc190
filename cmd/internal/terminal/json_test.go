package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"agegate/internal/rules/tenant"

	"pgregory.net/rapid"
)

// Printed text has no hidden characters, and a program that reads the JSON gets
// the original text.
func TestVisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(
			rapid.String(),
			rapid.SampledFrom([]string{"\x1b[2J\n", "\x7f\u009b", "\u202egnp\u2066", "\U000e0041\ufeff", "\xff\xc2",
				`back\slash "q"`, "☕\ufe0f 酒屋", "\u3164"}),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.Rune(), func(r rune) string { return string(r) }),
			rapid.Map(rapid.Int32Range(0, utf8.MaxRune), func(r int32) string { return string(r) }),
		)
		text := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		shown := tenant.Visible(text)
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, tenant.IsHidden) {
			t.Errorf("%q is shown as %q", text, shown)
		}
		if utf8.ValidString(text) && !strings.ContainsFunc(text, tenant.IsHidden) && shown != text {
			t.Errorf("%q has nothing to hide and is shown as %q", text, shown)
		}
		var out bytes.Buffer
		if err := JSON(&out, map[string]string{"text": text}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(strings.ReplaceAll(out.String(), "\n", ""), tenant.IsHidden) {
			t.Errorf("%q is printed as %q", text, out.String())
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["text"] != string([]rune(text)) {
			t.Errorf("%q reads back as %q, %v", text, back["text"], err)
		}
	})
}
