package accuracy

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"agegate/internal/check/inference"
)

// invented returns readings of two models that err by a few years each, of people
// of 5 to 69, and of made-up copies of the youngsters, which the first model reads
// older years too old.
func invented(older float64) []Reading {
	random := rand.New(rand.NewPCG(1, 2))
	var all []Reading
	for _, collection := range []string{"one", "two"} {
		for i := range 65 * 40 {
			years := 5 + i%65
			p := Picture{Path: fmt.Sprint(i), Age: years, Collection: collection, Held: true}
			r := Reading{p, Unaltered, float64(years) + 3*random.NormFloat64(), float64(years) - 2 + 4*random.NormFloat64()}
			all = append(all, r)
			if young(years) {
				r.Altered = "make-up"
				r.Tail += older
				all = append(all, r)
			}
		}
	}
	return all
}

// TestFit: the scales rise, few enough youngsters of the worst group reach the
// cutoff, and a youngster more would be too many only there.
func TestFit(t *testing.T) {
	const falsePass = 0.035
	for _, older := range []float64{0, 6} {
		f, err := Fit(invented(older), falsePass)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []inference.Scale{f.Tail, f.Second} {
			for i := 1; i < len(s); i++ {
				if s[i].Reading <= s[i-1].Reading || s[i].Years <= s[i-1].Years {
					t.Errorf("older %v: the scale does not rise: %v", older, s)
				}
			}
		}
		worst := 0.0
		for _, m := range f.Young {
			worst = max(worst, m.Pass.Rate)
		}
		if len(f.Young) != 4 || worst > falsePass || worst < falsePass-0.02 {
			t.Errorf("older %v: %+v", older, f.Young)
		}
		if got := f.Years(Reading{Tail: 50, Second: 48}); got < 48 || got > 52 {
			t.Errorf("older %v: a person of 50 is estimated %v", older, got)
		}
	}
	if _, err := Fit(nil, falsePass); err == nil {
		t.Error("scales were fitted to nobody")
	}
}
