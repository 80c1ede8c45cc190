package main

import (
	"testing"

	"agegate/internal/rules/audit"
)

// TestDetailNamesAnotherPath: the log keeps only the host and port of a URL, so it says in words that the path changed.
func TestDetailNamesAnotherPath(t *testing.T) {
	for want, c := range map[string]audit.Change{
		`webhook_url: "a:443" to another path`: {Setting: "webhook_url", Old: "a:443", New: "a:443"},
		`webhook_url: "a:443" to "b:443"`:      {Setting: "webhook_url", Old: "a:443", New: "b:443"},
	} {
		if got := detailText(audit.Detail{Changes: []audit.Change{c}}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
