package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestChangelog: dpkg reads the changelog without a complaint, and its first entry
// is that of the build.
func TestChangelog(t *testing.T) {
	for _, described := range []string{"v0.2.0", "v9.9.9", "v0.2.0+20261126164121.03ca2f8d-dirty"} {
		r := sample(described, "changelog")
		text, err := debianChangelog(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "changelog")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("dpkg-parsechangelog", "--all", "--file", path).CombinedOutput()
		if err != nil || strings.Contains(string(out), "warning:") ||
			strings.Count(string(text), "agegate ("+debianVersion(described, r.time)+") ") != 1 {
			t.Errorf("%s: %v\n%.600s", described, err, out)
		}
	}
}
