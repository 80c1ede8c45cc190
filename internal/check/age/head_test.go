package age

import (
	"math"
	"testing"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
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

// TestTuned: who may be young or old is estimated nearer to young, whether the
// tail doubts it or the two disagree, and only the tail knows the old.
func TestTuned(t *testing.T) {
	lifted := func(years float64) float64 { return nearLift*(years+nearShift) - nearShift }
	nan := math.NaN()
	rows := []struct {
		name  string
		tail  map[int]float32
		other Head
		want  float64
	}{
		{"both sure", map[int]float32{20: 1}, fixed(20), lifted(20)},
		{"the tail alone, sure", map[int]float32{20: 1}, nil, lifted(20)},
		{"15 or 35", map[int]float32{15: 0.5, 35: 0.5}, nil, lifted(20.298)},
		{"15 against 35", map[int]float32{15: 1}, fixed(35), lifted(20.298)},
		{"35 against 15", map[int]float32{35: 1}, fixed(15), lifted(20.298)},
		{"a little belief in a great age", map[int]float32{15: 0.75, 75: 0.25}, fixed(16), lifted(16.870)},
		{"a child", map[int]float32{5: 1}, fixed(0), lifted(1.325)},
		{"the tail does not decide yet", map[int]float32{35: 1}, fixed(20), lifted(24.981)},
		{"the tail half decides", map[int]float32{40: 1}, fixed(20), 20 + lifted(25.906)/2},
		{"the tail decides", map[int]float32{45: 1}, fixed(20), 45},
		{"old", map[int]float32{60: 0.5, 80: 0.5}, fixed(20), 70},
		{"no number from the other head", map[int]float32{20: 1}, fixed(nan), 0},
		{"no number from the tail", map[int]float32{20: float32(nan)}, nil, 0},
		{"nothing from the tail", nil, fixed(20), 0},
	}
	for _, row := range rows {
		f := new(vision.Features)
		f.Whole.Distribution[90] = 1 // the stock model's word does not count
		f.Tuned = new([inference.AgeBins]float32)
		for age, p := range row.tail {
			f.Tuned[age] = p
		}
		if got := (Tuned{Other: row.other}).Age(f); math.Abs(got-row.want) > 0.001 {
			t.Errorf("%s: age %.3f, want %.3f", row.name, got, row.want)
		}
	}
}
