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
	if got := (ExpectedValue{}).Estimate(f).Years; math.Abs(got-32.5) > 1e-6 {
		t.Errorf("age %v, want 32.5", got)
	}
}

// TestTuned: a person who may be under age is estimated near that age, one who
// surely has an age gets that age, and the plain mean takes over for old people.
// The expected values were computed without this code.
func TestTuned(t *testing.T) {
	scale := inference.Scale{{Reading: 20, Years: 18}, {Reading: 30, Years: 25}}
	nan := math.NaN()
	rows := []struct {
		name  string
		tail  map[int]float32
		scale inference.Scale
		want  float64
	}{
		{"sure", map[int]float32{20: 1}, nil, 20.000},
		{"15 or 35", map[int]float32{15: 0.5, 35: 0.5}, nil, 18.391},
		{"20 or 35, hardly a minor", map[int]float32{20: 0.5, 35: 0.5}, nil, 21.331},
		{"a little belief in a great age", map[int]float32{15: 0.75, 75: 0.25}, nil, 17.041},
		{"a child", map[int]float32{5: 1}, nil, 5.000},
		{"the plain mean decides more than half", map[int]float32{16: 0.2, 60: 0.8}, nil, 39.623},
		{"the plain mean decides", map[int]float32{60: 0.5, 80: 0.5}, nil, 70.000},
		{"scaled", map[int]float32{25: 1}, scale, 21.5},
		{"scaled, below its points", map[int]float32{15: 1}, scale, 13},
		{"scaled, above its points", map[int]float32{60: 1}, scale, 55},
		{"no number", map[int]float32{20: float32(nan)}, nil, 0},
		{"nothing", nil, nil, 0},
	}
	for _, row := range rows {
		f := new(vision.Features)
		f.Whole.Distribution[90] = 1 // what the stock model says does not count
		f.Tuned = new([inference.AgeBins]float32)
		for age, p := range row.tail {
			f.Tuned[age] = p
		}
		if got := (Tuned{Scale: row.scale}).Estimate(f).Years; math.Abs(got-row.want) > 0.001 {
			t.Errorf("%s: age %.3f, want %.3f", row.name, got, row.want)
		}
	}
}
