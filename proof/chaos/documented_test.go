//go:build linux

package chaos

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// commands returns block n of the commands in a section of a document.
func commands(t *testing.T, document, section string, n int) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/" + document)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "# "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	text, _, _ = strings.Cut(text, "\n### ")
	blocks := strings.Split(text, "\n```sh\n")
	if len(blocks) < n+2 {
		t.Fatalf("section %q of %s has %d blocks", section, document, len(blocks)-1)
	}
	block, _, _ := strings.Cut(blocks[n+1], "\n```")
	return block
}

// runDocumented runs commands in a directory and returns what they print.
func runDocumented(t *testing.T, dir, commands string, env []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", commands)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
