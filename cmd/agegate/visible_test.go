package main

import (
	"bytes"
	"database/sql"
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
		if err := printJSON(&out, map[string]string{"text": text}); err != nil {
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

// Text from others reaches the operator's terminal with control characters
// escaped: a receiver's answer, and a name stored before names were checked.
func TestStoredTextIsShownVisibly(t *testing.T) {
	const hostile = "a\x1b[2Jb\u009b31mc\u007fd\u202ee\u2066f\u200bg\u200ch\ufeffi\u2028j\U000e0041k\u3164l\nm\ttail"
	c := newConsole(t)
	id := parsed[createdTenant](c, "tenant", "create", "--name", "Shop", "--json").TenantID.String()
	const event = "evt_0190c0de-0000-7000-8000-000000000001"
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(c.env["AGEGATE_DATABASE_URL"], "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const at = "2026-01-01 00:00:00+00:00"
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE tenants SET name = ?", hostile)
	exec(`INSERT INTO webhook_events
		(id, tenant_id, session_id, livemode, destination, endpoint_id, body, status, created_at, attempts, step, last_class, last_status)
		VALUES (?, ?, ?, 0, '', '', ?, 'failed', ?, 1, 1, 'http_error', 500)`, event, id, id, []byte(`{}`), at)
	exec(`INSERT INTO webhook_attempts (event_id, number, at, class, status_code, latency_us, excerpt)
		VALUES (?, 1, ?, 'http_error', 500, 1, ?)`, event, at, []byte(hostile+"\xff"))
	for _, args := range [][]string{
		{"webhook", "show", event}, {"webhook", "show", event, "--json"},
		{"tenant", "list"}, {"tenant", "list", "--json"},
		{"tenant", "set", id, "--age-visibility"},
	} {
		out := c.run(args...)
		if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && tenant.IsHidden(r) }) || !utf8.ValidString(out) {
			t.Errorf("agegate %s prints hidden characters: %q", strings.Join(args, " "), out)
		}
		if !strings.Contains(out, `\u202e`) || !strings.Contains(out, "tail") || strings.Contains(out, "\nm") {
			t.Errorf("agegate %s does not spell them out: %q", strings.Join(args, " "), out)
		}
	}
	// A program that reads the JSON gets the text as it is stored.
	if got := parsed[[]listedTenant](c, "tenant", "list", "--json")[0].Name; got != hostile {
		t.Errorf("the name reads back as %q", got)
	}
}
