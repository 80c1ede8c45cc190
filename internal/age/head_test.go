package age

import (
	"math"
	"testing"

	"agegate/internal/vision"
)

func TestExpectedValue(t *testing.T) {
	f := new(vision.Features)
	f.Whole.Distribution[10], f.Whole.Distribution[40] = 0.25, 0.75
	f.Inner.Distribution[90] = 1 // the inner crop does not count
	if got := (ExpectedValue{}).Age(f); math.Abs(got-32.5) > 1e-6 {
		t.Errorf("age %v, want 32.5", got)
	}
}
