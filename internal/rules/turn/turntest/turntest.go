// Package turntest checks what a computation may cost.
package turntest

import (
	"testing"
	"time"
)

// Within fails the test if do takes longer than limit in each of three calls: the
// machine may stand still during one. It calls do again only after a slow call.
func Within(t testing.TB, limit time.Duration, what string, do func()) {
	t.Helper()
	var took time.Duration
	for range 3 {
		start := time.Now()
		do()
		if took = time.Since(start); took <= limit {
			return
		}
	}
	t.Errorf("%s took %s, at most %s is allowed", what, took, limit)
}
