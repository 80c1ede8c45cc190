package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

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
		(id, tenant_id, session_id, livemode, destination, endpoint_id, body, status, created_at, attempts, step,
			last_class, last_status)
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

// TestVersionFlag: --version prints what version prints.
func TestVersionFlag(t *testing.T) {
	c := newConsole(t)
	if flag, command := c.run("--version"), c.run("version"); flag != command || !strings.HasPrefix(flag, "agegate ") {
		t.Errorf("%q and %q", flag, command)
	}
}

// TestHelpNamesStatus: the help calls a passed check by its status in the API; VERIFIED is of webhooks and redirects.
func TestHelpNamesStatus(t *testing.T) {
	help := newConsole(t).run("tenant", "create", "--help")
	if strings.Contains(help, "VERIFIED") || !strings.Contains(help, "status PASSED") {
		t.Errorf("the help says of the Success URL:\n%s", help)
	}
}

// TestDoctorAdvisesOnce: several wrong variables are one advice.
func TestDoctorAdvisesOnce(t *testing.T) {
	c := newConsole(t)
	c.env["AGEGATE_LISTEN"], c.env["AGEGATE_ROLE"], c.env["AGEGATE_BASE_URL"] = "x", "x", "x"
	out, err := c.try("doctor")
	if err == nil || strings.Count(out, "configuration:") < 3 || strings.Count(out, "→") != 1 ||
		!strings.HasSuffix(out, "nothing else was examined\n") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestNumbersFitTheirWords: no command writes "1 sessions": a number stands after what it counts, not before.
func TestNumbersFitTheirWords(t *testing.T) {
	plural := regexp.MustCompile(`"[^"]*%d [a-z ]*?[a-z]{2,}s\b`)
	for _, pattern := range []string{"*.go", "../agegate-dev/*.go", "../../internal/app/doctor/*.go",
		"../../internal/rules/session/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || files == nil {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if !strings.HasSuffix(name, "_test.go") && plural.MatchString(line) && !strings.Contains(line, "%d of %d") {
					t.Errorf("%s: %s", name, strings.TrimSpace(line))
				}
			}
		}
	}
}

// TestUserListReadsEveryPage: more users than one page has are listed, each once.
func TestUserListReadsEveryPage(t *testing.T) {
	c := newConsole(t)
	c.run("user", "list")
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(c.env["AGEGATE_DATABASE_URL"], "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range account.MaxPage + 1 {
		if _, err := db.ExecContext(t.Context(), `INSERT INTO users (id, email, name, operator, locale, zone, created_at)
			VALUES (?, ?, 'Ann', 0, '', '', '2026-01-01 00:00:00+00:00')`, uuid.New().String(),
			fmt.Sprintf("%d@example.com", i)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[uuid.UUID]bool{}
	for _, u := range parsed[[]listedUser](c, "user", "list", "--json") {
		seen[u.ID] = true
	}
	if len(seen) != account.MaxPage+1 {
		t.Errorf("%d users are listed", len(seen))
	}
}
