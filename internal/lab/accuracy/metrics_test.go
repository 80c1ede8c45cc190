package accuracy_test

import (
	"math"
	"strings"
	"testing"

	"agegate/internal/lab/accuracy"

	"pgregory.net/rapid"
)

func near(a, b float64) bool { return math.Abs(a-b) < 5e-5 }

// The intervals are those of Newcombe, Statistics in Medicine 17 (1998), table
// I, method 3, to his four decimals.
func TestNewShareKnownAnswers(t *testing.T) {
	rows := []struct {
		count, of int
		low, high float64
	}{
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0, 0.1611},
		{1, 29, 0.0061, 0.1718},
	}
	for _, row := range rows {
		s := accuracy.NewShare(row.count, row.of)
		if !near(s.Low, row.low) || !near(s.High, row.high) || s.Rate != float64(row.count)/float64(row.of) {
			t.Errorf("%d of %d: %+v, want %v to %v", row.count, row.of, s, row.low, row.high)
		}
	}
	if s := accuracy.NewShare(0, 0); s.Rate != 0 || s.Low != 0 || s.High != 1 {
		t.Errorf("nothing of nothing: %+v", s)
	}
}

func TestShareHoldsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.IntRange(1, 5000).Draw(t, "of")
		s := accuracy.NewShare(rapid.IntRange(0, of).Draw(t, "count"), of)
		if !(0 <= s.Low && s.Low <= s.Rate+1e-12 && s.Rate <= s.High+1e-12 && s.High <= 1) {
			t.Fatalf("%+v", s)
		}
	})
}

// repeat returns n samples with the same age and estimate.
func repeat(n, age int, group string, estimate float64) []accuracy.Sample {
	var groups []string
	if group != "" {
		groups = []string{group, "all"}
	}
	out := make([]accuracy.Sample, n)
	for i := range out {
		out[i] = accuracy.Sample{Age: age, Groups: groups, Estimate: estimate}
	}
	return out
}

func TestMeasure(t *testing.T) {
	var samples []accuracy.Sample
	samples = append(samples, repeat(40, 15, "a", 17)...)
	samples = append(samples, repeat(6, 16, "b", 22)...)
	samples = append(samples, repeat(4, 17, "b", 24.9)...)
	samples = append(samples, repeat(10, 18, "a", 21)...)
	samples = append(samples, repeat(10, 30, "", 25)...)
	r := accuracy.Measure(samples, 18)

	teens := r.Bands[0]
	if teens.From != 13 || teens.To != 17 || teens.Count != 50 || !near(teens.MAE, (40*2+6*6+4*7.9)/50) ||
		teens.MAE != teens.Bias {
		t.Errorf("teens: %+v", teens)
	}
	wantRates := func(p accuracy.Passing, from, to int, rates ...float64) {
		t.Helper()
		if p.From != from || p.To != to {
			t.Errorf("ages %d to %d, want %d to %d", p.From, p.To, from, to)
		}
		for i, want := range rates {
			if !near(p.Shares[i].Rate, want) {
				t.Errorf("ages %d to %d at margin %d: %v, want %v", from, to, r.Margins[i], p.Shares[i].Rate, want)
			}
		}
	}
	wantRates(r.FalsePass[0], 13, 17, 0.2, 0.08, 0, 0)
	wantRates(r.FalsePass[1], 15, 15, 0, 0, 0, 0)
	wantRates(r.FalsePass[2], 16, 16, 1, 0, 0, 0)
	wantRates(r.FalsePass[3], 17, 17, 1, 1, 0, 0)
	wantRates(r.Pass[0], 18, 24, 1, 0, 0, 0)
	wantRates(r.Pass[1], 25, 35, 1, 1, 1, 0)
	if r.Recommended == nil || *r.Recommended != 7 { // at a margin of 6, four of fifty still pass
		t.Errorf("recommended %v", r.Recommended)
	}
	if len(r.Groups) != 3 || r.Groups[0].Name != "a" || r.Groups[1].Count != 60 || r.Groups[2].Count != 10 {
		t.Fatalf("groups %+v", r.Groups)
	}
	wantRates(r.Groups[2].FalsePass, 13, 17, 1, 0.4, 0, 0)
	wantRates(r.Groups[0].Clear, 25, 35)
	if r.Groups[1].Clear.Shares[0].Of != 0 {
		t.Errorf("somebody of 25 to 35 in %+v", r.Groups[1])
	}
}

func TestMeasureRecommendsNothingFromTooFew(t *testing.T) {
	if r := accuracy.Measure(repeat(29, 16, "", 10), 18); r.Recommended != nil {
		t.Errorf("recommended %d from 29 pictures", *r.Recommended)
	}
	if r := accuracy.Measure(repeat(50, 16, "", 60), 18); r.Recommended != nil {
		t.Errorf("recommended %d although everybody passes", *r.Recommended)
	}
}

func TestReportText(t *testing.T) {
	r := accuracy.Measure(append(repeat(40, 16, "hats", 19), repeat(3, 26, "", 28)...), 18)
	r.Refused = []accuracy.Refusal{{Reason: "blurred", Count: 4}}
	var out strings.Builder
	r.WriteText(&out)
	for _, want := range []string{"one frame", "refused: blurred", "13–17", "+3.00", "MARGIN 7 (CUTOFF 25)",
		"0.0 % (0.0–8.8)", "100.0 %", "hats, 13–17", "AGEGATE_AGE_MARGIN=2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &out)
		}
	}
}
