package app

import (
	"runtime"
	"testing"
)

// TestSpareProcessor: computing pictures never takes all of Go's processors, so
// that the network is looked at meanwhile.
func TestSpareProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, row := range []struct{ before, turns, want int }{{2, 2, 3}, {1, 1, 2}, {2, 4, 5}, {4, 1, 4}, {3, 2, 3}} {
		runtime.GOMAXPROCS(row.before)
		spareProcessor(row.turns)
		if got := runtime.GOMAXPROCS(0); got != row.want {
			t.Errorf("%d turns on %d processors: %d", row.turns, row.before, got)
		}
	}
}
