package accuracy

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Separation measures how well estimates distinguish the five ages below the
// target from those 7 to 17 years above it, independently of the cutoff. Figures
// at one cutoff mislead when estimators differ in scale; these do not.
type Separation struct {
	// AUC is the share of pairs, with one picture from each range, in which the
	// older person gets the higher estimate. Ties count half.
	AUC  float64 `json:"auc"`
	Low  float64 `json:"low"` // 95 % interval (Hanley and McNeil, 1982)
	High float64 `json:"high"`
	// Equal holds the pass rates of the older range at the cutoffs at which the
	// younger range passes at each of falseRates.
	Equal []EqualPass `json:"equal"`
}

// EqualPass is the pass rate of the older range at the lowest cutoff, to a tenth
// of a year, at which at most FalseRate of the younger range passes.
type EqualPass struct {
	FalseRate float64 `json:"false_rate"`
	Cutoff    float64 `json:"cutoff"` // years
	Pass      Share   `json:"pass"`
}

var falseRates = []float64{0.02, 0.035, 0.06, 0.12}

// fewestPairs is how many pictures of each range Separation needs.
const fewestPairs = 10

// separation returns nil for fewer than fewestPairs pictures of either range.
func separation(samples []Sample, target int) *Separation {
	young, older := estimates(within(samples, target-5, target-1)), estimates(within(samples, target+7, target+17))
	if len(young) < fewestPairs || len(older) < fewestPairs {
		return nil
	}
	var s Separation
	for _, o := range older {
		below, found := slices.BinarySearch(young, o)
		s.AUC += float64(below)
		if found {
			after, _ := slices.BinarySearchFunc(young, o, func(y, o float64) int { return cmp.Or(cmp.Compare(y, o), -1) })
			s.AUC += float64(after-below) / 2
		}
	}
	m, n := float64(len(young)), float64(len(older))
	s.AUC /= m * n
	q1, q2 := s.AUC/(2-s.AUC), 2*s.AUC*s.AUC/(1+s.AUC)
	variance := (s.AUC*(1-s.AUC) + (m-1)*(q2-s.AUC*s.AUC) + (n-1)*(q1-s.AUC*s.AUC)) / (m * n)
	half := distuv.UnitNormal.Quantile(0.975) * math.Sqrt(max(variance, 0))
	s.Low, s.High = max(0, s.AUC-half), min(1, s.AUC+half)
	for _, rate := range falseRates {
		allowed := int(rate * m)
		cutoff := math.Round(10*young[len(young)-1-allowed]+1) / 10
		at, _ := slices.BinarySearch(older, cutoff)
		s.Equal = append(s.Equal, EqualPass{rate, cutoff, NewShare(len(older)-at, len(older))})
	}
	return &s
}

// estimates returns the estimates in ascending order.
func estimates(samples []Sample) []float64 {
	var out []float64
	for _, s := range samples {
		out = append(out, s.Estimate)
	}
	slices.Sort(out)
	return out
}

// Part is the report on one collection.
type Part struct {
	Name string `json:"name"`
	Report
}

// parts reports on each collection if there are several.
func parts(samples []Sample, target int) []Part {
	var out []Part
	for name, in := range by(samples, func(s Sample) []string { return []string{s.Collection} }) {
		if len(in) < len(samples) {
			out = append(out, Part{name, measure(in, target)})
		}
	}
	return out
}

// writeSeparation prints how well the estimates of each report distinguish young
// from older.
func writeSeparation(w io.Writer, all []Part, target int) {
	young, older := span(target-5, target-1), span(target+7, target+17)
	fmt.Fprintf(w, "\n%s AGAINST %s\tPICTURES\tAUC", young, older)
	for _, rate := range falseRates {
		fmt.Fprintf(w, "\t%s PASS WHERE %.1f %% OF %s DO", older, 100*rate, young)
	}
	fmt.Fprintln(w)
	for _, p := range all {
		s := p.Separation
		if s == nil {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%.3f (%.3f–%.3f)", p.Name, p.Measured, s.AUC, s.Low, s.High)
		for _, e := range s.Equal {
			fmt.Fprintf(w, "\t%s from %.1f", e.Pass, e.Cutoff)
		}
		fmt.Fprintln(w)
	}
}
