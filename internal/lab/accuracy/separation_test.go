package accuracy_test

import (
	"math"
	"testing"

	"agegate/internal/lab/accuracy"
)

// TestSeparation checks known answers: pairs, passes at equal false-pass rates,
// and the interval of Hanley and McNeil, calculated by hand for an AUC of 0.75
// with 20 pictures in each range.
func TestSeparation(t *testing.T) {
	rows := []struct {
		name    string
		samples []accuracy.Sample
		auc     float64
		low     float64
		cutoff  float64 // at which 12 % of the young pass
		pass    int
	}{
		{"apart", join(repeat(20, 15, "", 14), repeat(20, 30, "", 30)), 1, 1, 14.1, 20},
		{"alike", join(repeat(20, 15, "", 22), repeat(20, 30, "", 22)), 0.5, 0.3189, 22.1, 0},
		{"half of the adults look younger", join(repeat(10, 13, "", 14), repeat(10, 17, "", 20), repeat(10, 25, "", 16),
			repeat(10, 35, "", 30)), 0.75, 0.5973, 20.1, 10},
		{"two of twenty minors look old", join(repeat(18, 15, "", 14), repeat(2, 16, "", 40), repeat(20, 30, "", 30)), 0.9,
			0.7993, 14.1, 20},
	}
	for _, row := range rows {
		s := accuracy.Measure(row.samples, 18).Separation
		if s == nil {
			t.Fatalf("%s: none", row.name)
		}
		last := s.Equal[len(s.Equal)-1]
		if math.Abs(s.AUC-row.auc) > 1e-9 || math.Abs(s.Low-row.low) > 1e-3 || last.Cutoff != row.cutoff ||
			last.Pass.Count != row.pass {
			t.Errorf("%s: %+v", row.name, *s)
		}
	}
	if s := accuracy.Measure(join(repeat(9, 15, "", 14), repeat(20, 30, "", 30)), 18).Separation; s != nil {
		t.Errorf("of nine minors: %+v", *s)
	}
}

func join(parts ...[]accuracy.Sample) (all []accuracy.Sample) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
