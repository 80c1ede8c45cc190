package age

import (
	"math"
	"testing"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"

	"pgregory.net/rapid"
)

func TestJoined(t *testing.T) {
	scale := inference.Scale{{Reading: 10, Years: 15}, {Reading: 30, Years: 25}}
	nan := math.NaN()
	rows := []struct {
		name         string
		tail, second float64
		years, apart float64
	}{
		{"agreed", 20, 20, 20, 0},
		{"the tail is higher", 30, 10, 22.5, 15},
		{"the second is higher", 18, 30, 18, 7},
		{"the second is too much higher", 18, 43, 13, 20},
		{"the second has no number", 30, nan, 0, 0},
		{"the tail has no number", nan, 30, 0, 25},
	}
	for _, row := range rows {
		f := &vision.Features{Tuned: new([inference.AgeBins]float32), Second: row.second}
		if at := int(row.tail); at > 0 {
			f.Tuned[at] = 1
		}
		got := (Joined{Second: scale}).Estimate(f)
		if math.Abs(got.Years-row.years) > 1e-6 || math.Abs(got.Apart-row.apart) > 1e-6 {
			t.Errorf("%s: %+v, want %v and %v", row.name, got, row.years, row.apart)
		}
	}
}

// TestJoin: the joined age is not above the tail's, not negative, and rises with the
// tail's. It lies between both ages and does not fall with the second's while they are
// at most maxApart years apart.
func TestJoin(t *testing.T) {
	years := rapid.Float64Range(0, 120)
	rapid.Check(t, func(t *rapid.T) {
		a, b, more := years.Draw(t, "tail"), years.Draw(t, "second"), rapid.Float64Range(0.01, 50).Draw(t, "more")
		joined := Join(a, b)
		switch {
		case joined < 0 || joined > a:
			t.Fatalf("%v of %v and %v", joined, a, b)
		case joined > 0 && Join(a+more, b) <= joined:
			t.Fatalf("%v of %v and %v does not rise", joined, a, b)
		case b-a > maxApart:
			return
		case joined < min(a, b):
			t.Fatalf("%v of %v and %v is not between them", joined, a, b)
		case b+more-a <= maxApart && Join(a, b+more) < joined:
			t.Fatalf("%v of %v and %v falls", joined, a, b)
		}
	})
}
