package main

import (
	"os/exec"
	"testing"
)

// TestLintian: Debian's own checks find nothing in the packages.
func TestLintian(t *testing.T) {
	t.Parallel()
	for _, name := range []string{full, documents} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := built(t)
			r.name = name
			cmd := exec.Command("lintian", "--allow-root", "--tag-display-limit", "0", "--fail-on", "error,warning",
				r.path(".deb"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("lintian: %v\n%s", err, out)
			}
		})
	}
}
