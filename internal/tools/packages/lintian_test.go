package main

import (
	"os/exec"
	"testing"
)

// TestLintian: Debian's own checks find nothing in the packages.
func TestLintian(t *testing.T) {
	r := built(t)
	for _, r.name = range []string{full, documents} {
		lint(t, r)
	}
}

func lint(t *testing.T, r release) {
	t.Helper()
	cmd := exec.Command("lintian", "--allow-root", "--tag-display-limit", "0", "--fail-on", "error,warning",
		r.path(".deb"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("lintian: %v\n%s", err, out)
	}
}
