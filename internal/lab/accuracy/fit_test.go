package accuracy

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

// invented returns readings of two models that err by a few years each, of people
// of 5 to 69, and of made-up copies of the youngsters, which the first model reads
// older years too old, and in every third draw twice as many.
func invented(older float64) []Reading {
	random := rand.New(rand.NewPCG(1, 2))
	var all []Reading
	for _, collection := range []string{"one", "two"} {
		for i := range 65 * 40 {
			years := 5 + i%65
			p := Picture{Path: fmt.Sprint(i), Age: years, Collection: collection, Held: true}
			tail, second := float64(years)+3*random.NormFloat64(), float64(years)-2+4*random.NormFloat64()
			r := Reading{Picture: p, Altered: Unaltered, Tail: tail, Second: second}
			all = append(all, r)
			if young(years) {
				for draw, more := range []float64{0, 0, older} {
					made := r
					made.Altered, made.Draw, made.Tail = "make-up", draw, r.Tail+older+more
					all = append(all, made)
				}
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
			if copies := map[string]int{Unaltered: 1, "make-up": 3}[m.Altered]; m.Draws != copies || m.Pass.Of != 200*copies {
				t.Errorf("older %v: %+v", older, m)
			}
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

// TestFitNeedsPeople: copies of one youngster are not further people.
func TestFitNeedsPeople(t *testing.T) {
	var few []Reading
	for _, r := range invented(0) {
		if i, err := strconv.Atoi(r.Path); err == nil && i < 65*5 { // 25 youngsters of each collection
			few = append(few, r)
		}
	}
	if f, err := Fit(few, 0.035); err == nil {
		t.Errorf("%+v", f.Young)
	}
}

// TestReadDrawsSeveralTimes: only youngsters get make-up more than once, and it
// differs.
func TestReadDrawsSeveralTimes(t *testing.T) {
	young, adult := seventeen(t)[0], seventeen(t)[0]
	adult.Age, adult.Held = 30, true
	found, err := Read(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), []Picture{young, adult}, Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	copies, tails := map[string]int{}, map[float64]bool{}
	for _, r := range found {
		copies[fmt.Sprint(r.Age, " ", r.Altered)]++
		if r.Age == young.Age && r.Altered == "make-up" {
			tails[r.Tail] = true
		}
	}
	if len(tails) != fittedDraws || copies["30 make-up"] != 1 || copies["17 glasses"] != 1 || copies["17 as it is"] != 1 {
		t.Errorf("%v, %d different", copies, len(tails))
	}
}
