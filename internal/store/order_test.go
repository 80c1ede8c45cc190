package store

import (
	"strings"
	"testing"
)

// TestOrderPatternIsOnePiece: whatever is searched for, no wildcard is within the
// text, where it would be tried at each place of each URL.
func TestOrderPatternIsOnePiece(t *testing.T) {
	for order, want := range map[string]string{
		"1042": "%=1042&%", "order=1042": "%&order=1042&%", "a%=b%c": "%&a!%25=b!%25c&%", "x_y": "%=x!_y&%",
		"=": "%=&%", "=1042": "%=1042&%",
		strings.Repeat("=", 3): "%=!%3D!%3D&%",
	} {
		if got := orderPattern(order); got != want {
			t.Errorf("%q: %q, want %q", order, got, want)
		}
	}
}
