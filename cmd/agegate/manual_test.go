package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func noEnvironment(string) (string, bool) { return "", false }

// TestManual: each command has a page, and the configuration is on the first alone.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if err := run(t.Context(), []string{"manual", dir}, noEnvironment, os.Stdout, os.Stderr); err != nil {
		t.Fatal(err)
	}
	for page, configures := range map[string]bool{
		"agegate.1": true, "agegate-serve.1": false, "agegate-tenant-create.1": false,
	} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "AGEGATE_BASE_URL") != configures ||
			!strings.Contains(string(text), ".SH OPTIONS") {
			t.Errorf("%s:\n%s", page, text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "agegate-manual.1")); err == nil {
		t.Error("a hidden command has a page")
	}
}
