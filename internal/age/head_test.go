package age

import (
	"math"
	"testing"

	"agegate/internal/inference"
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

// fixed is a head that always says the same.
type fixed float64

func (f fixed) Age(*vision.Features) float64 { return float64(f) }

func TestTuned(t *testing.T) {
	f := new(vision.Features)
	f.Whole.Distribution[90] = 1 // the stock model's word does not count
	f.Tuned = new([inference.AgeBins]float32)
	f.Tuned[20], f.Tuned[30] = 0.5, 0.5
	for _, row := range []struct {
		other Head
		want  float64
	}{{nil, 25}, {fixed(15), 20}, {fixed(math.NaN()), 0}} {
		if got := (Tuned{Other: row.other}).Age(f); got != row.want {
			t.Errorf("with %v: age %v, want %v", row.other, got, row.want)
		}
	}
	for _, row := range []struct {
		tail int
		want float64
	}{{30, 25}, {35, 27.5}, {40, 33.75}, {45, 45}, {70, 70}} {
		f.Tuned = new([inference.AgeBins]float32)
		f.Tuned[row.tail] = 1
		if got := (Tuned{Other: fixed(20)}).Age(f); got != row.want {
			t.Errorf("the tail says %d and the other head 20: age %v, want %v", row.tail, got, row.want)
		}
	}
	f.Tuned = new([inference.AgeBins]float32)
	f.Tuned[15], f.Tuned[75] = 0.75, 0.25 // 30 expected, but 20 with the cap
	if got := (Tuned{Other: fixed(16)}).Age(f); got != 18 {
		t.Errorf("a little belief in a great age: %v, want 18", got)
	}
	f.Tuned[20] = float32(math.NaN())
	if got := (Tuned{}).Age(f); got != 0 {
		t.Errorf("a tail that gives no numbers says %v", got)
	}
}
