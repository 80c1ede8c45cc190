package wallets

import (
	"flag"
	"os"
	"strings"
	"testing"
)

// record writes what was measured to the document, which the tests otherwise
// compare with it: `make wallets`.
var record = flag.Bool("record", false, "write the results to results.md")

const recorded = "results.md"

// documented compares a section of the document with the lines that a test
// measured, or writes them there.
func documented(t *testing.T, section string, lines []string) {
	t.Helper()
	begin, end := "<!-- begin of what `make wallets` writes: "+section+" -->\n", "<!-- end of "+section+" -->\n"
	page, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	was, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s: the marks of %q are missing", recorded, section)
	}
	is := strings.Join(lines, "\n") + "\n"
	switch {
	case is == was:
	case *record && !t.Failed():
		if err := os.WriteFile(recorded, []byte(before+begin+is+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s differs from what was measured (write it with make wallets):\n%s", recorded, is)
	}
}

// tableRow returns a line of a table in Markdown.
func tableRow(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |" }

// tableHead returns the lines of a table's head.
func tableHead(cells ...string) []string {
	return []string{tableRow(cells...), strings.Repeat("|---", len(cells)) + "|"}
}
