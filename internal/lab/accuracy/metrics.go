package accuracy

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"agegate/internal/backoffice/insight"
	"agegate/internal/check/age"
	"agegate/internal/check/vision"
	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"
)

// Sample is a picture's label and its estimate, both in years.
type Sample struct {
	Age        int
	Groups     []string
	Collection string
	Training   string // see Picture
	Estimate   float64
}

// Share is a proportion with its 95 % interval.
type Share struct {
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Rate  float64 `json:"rate"` // 0 when Of is 0
	Low   float64 `json:"low"`  // Wilson score interval
	High  float64 `json:"high"`
}

// NewShare returns the share count/of with its Wilson score interval (E. B.
// Wilson, 1927), which is sound for small counts and always within 0 to 1. For of
// = 0 the interval is 0 to 1.
func NewShare(count, of int) Share {
	r := insight.RateOf(int64(count), int64(of))
	return Share{count, of, r.Share, r.Low, r.High}
}

// Margins are the values of AGEGATE_AGE_MARGIN that a report compares.
var Margins = []int{3, 5, 7, 10}

// Passing holds the share of an age range that passes the target at each of
// Margins.
type Passing struct {
	From   int     `json:"from"` // years, both ends included
	To     int     `json:"to"`
	Shares []Share `json:"shares"` // in the order of Margins
}

// Band is the error for a range of ages, in years.
type Band struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Count int     `json:"count"`
	MAE   float64 `json:"mae"`  // mean absolute error
	Bias  float64 `json:"bias"` // mean error; positive means estimated too old
}

// Group holds the figures of one of the set's groups.
type Group struct {
	Name      string  `json:"name"`
	Count     int     `json:"count"`
	MAE       float64 `json:"mae"`
	Bias      float64 `json:"bias"`
	FalsePass Passing `json:"false_pass"` // the five ages below the target
	Pass      Passing `json:"pass"`       // the target and the 17 ages above it
	Clear     Passing `json:"clear_pass"` // 7 to 17 years above the target
}

// Refusal counts the pictures that the page would not have counted.
type Refusal struct {
	Reason vision.Guidance `json:"reason"`
	Count  int             `json:"count"`
}

// Report holds the accuracy of an estimator on a set. All figures are per
// picture.
type Report struct {
	Target    int       `json:"target"` // years
	Margins   []int     `json:"margins"`
	Pictures  int       `json:"pictures"`
	Measured  int       `json:"measured"` // pictures that were not refused
	Refused   []Refusal `json:"refused"`
	Bands     []Band    `json:"bands"`
	FalsePass []Passing `json:"false_pass"` // the five ages below the target together, then each age below it
	Pass      []Passing `json:"pass"`       // adults, by distance from the target
	Older     []Passing `json:"older_pass"` // adults of 36 and more, by age
	Groups    []Group   `json:"groups"`     // empty if the set has no groups
	Altered   []Altered `json:"altered,omitempty"`
	// Separation is nil where there are too few pictures.
	Separation *Separation `json:"separation"`
	// Parts are the reports on each collection; empty when there is only one.
	Parts       []Part  `json:"parts,omitempty"`
	Recommended *int    `json:"recommended"`    // margin; nil if the set is too small
	MaxFalse    float64 `json:"max_false_pass"` // the maximum false-pass rate at the recommended margin
	// Curve has the pass counts at every cutoff, for the operator's pages; see
	// Curve.Write.
	Curve []curve.Age `json:"-"`
	// Cells are the figures by age, sex and group.
	Cells []measured.Cell `json:"-"`
	// Training says of the pictures' collection whether the training had others of it.
	Training string `json:"-"`
}

// bands are the age ranges for which errors are reported.
var bands = [][2]int{{0, 7}, {8, 12}, {13, 17}, {18, 24}, {25, 35}, {36, 50}, {51, 120}, {51, 70}, {71, 120}}

// MaxFalsePass is the highest false-pass rate of the five ages below the target
// at the recommended margin.
const MaxFalsePass = 0.05

// maxMargin is the largest margin recommended. With a larger one hardly anyone
// passes.
const maxMargin = 20

// fewestBelow is how many pictures of the five ages below the target are needed
// to recommend a margin.
const fewestBelow = 30

// Measure compares estimates with labels for a target age, for all pictures and
// for each collection.
func Measure(samples []Sample, target int) Report {
	r := measure(samples, target)
	r.Parts = parts(samples, target)
	return r
}

func measure(samples []Sample, target int) Report {
	r := Report{Target: target, Margins: Margins, Pictures: len(samples), Measured: len(samples), MaxFalse: MaxFalsePass}
	if len(samples) > 0 {
		r.Training = samples[0].Training
	}
	for _, b := range bands {
		if band := bandOf(samples, b[0], b[1]); band != nil {
			r.Bands = append(r.Bands, *band)
		}
	}
	r.FalsePass = append(r.FalsePass, passing(samples, target, target-5, target-1))
	for years := range target {
		if len(within(samples, years, years)) > 0 {
			r.FalsePass = append(r.FalsePass, passing(samples, target, years, years))
		}
	}
	r.Pass = []Passing{passing(samples, target, target, target+6), passing(samples, target, target+7, target+17),
		passing(samples, target, target+18, 120)}
	for _, b := range [][2]int{{36, 50}, {51, 70}, {71, 120}} {
		if b[0] >= target && len(within(samples, b[0], b[1])) > 0 {
			r.Older = append(r.Older, passing(samples, target, b[0], b[1]))
		}
	}
	r.Groups = groups(samples, target)
	r.Recommended = recommend(samples, target)
	r.Separation = separation(samples, target)
	r.Curve = counts(samples)
	r.Cells = Cells(samples)
	return r
}

func within(samples []Sample, from, to int) []Sample {
	var in []Sample
	for _, s := range samples {
		if s.Age >= from && s.Age <= to {
			in = append(in, s)
		}
	}
	return in
}

// errorsOf returns the mean absolute error and the mean error of samples, which
// must not be empty.
func errorsOf(samples []Sample) (mae, bias float64) {
	n := float64(len(samples))
	for _, s := range samples {
		e := s.Estimate - float64(s.Age)
		mae, bias = mae+math.Abs(e)/n, bias+e/n
	}
	return mae, bias
}

// bandOf returns the error for a range of ages, or nil if no sample is in it.
func bandOf(samples []Sample, from, to int) *Band {
	in := within(samples, from, to)
	if len(in) == 0 {
		return nil
	}
	mae, bias := errorsOf(in)
	return &Band{from, to, len(in), mae, bias}
}

// by returns samples by the keys of each, in the order of the keys.
func by[K cmp.Ordered](samples []Sample, keys func(Sample) []K) iter.Seq2[K, []Sample] {
	found := map[K][]Sample{}
	for _, s := range samples {
		for _, key := range keys(s) {
			found[key] = append(found[key], s)
		}
	}
	return func(yield func(K, []Sample) bool) {
		for _, key := range slices.Sorted(maps.Keys(found)) {
			if !yield(key, found[key]) {
				return
			}
		}
	}
}

// passRate is the share of samples that reach the cutoff.
func passRate(samples []Sample, cutoff int) Share {
	count := 0
	for _, s := range samples {
		if s.Estimate >= float64(cutoff) {
			count++
		}
	}
	return NewShare(count, len(samples))
}

func passing(samples []Sample, target, from, to int) Passing {
	p := Passing{From: from, To: to}
	in := within(samples, from, to)
	for _, margin := range Margins {
		p.Shares = append(p.Shares, passRate(in, target+margin))
	}
	return p
}

func groups(samples []Sample, target int) []Group {
	var out []Group
	for name, in := range by(samples, func(s Sample) []string { return s.Groups }) {
		g := Group{Name: name, Count: len(in)}
		g.MAE, g.Bias = errorsOf(in)
		g.FalsePass = passing(in, target, target-5, target-1)
		g.Pass = passing(in, target, target, target+17)
		g.Clear = passing(in, target, target+7, target+17)
		out = append(out, g)
	}
	return out
}

// recommend returns the smallest whole margin at which at most MaxFalsePass of
// the five ages below the target pass.
func recommend(samples []Sample, target int) *int {
	below := within(samples, target-5, target-1)
	if len(below) < fewestBelow {
		return nil
	}
	for margin := 0; margin <= maxMargin; margin++ {
		if passRate(below, target+margin).Rate <= MaxFalsePass {
			return &margin
		}
	}
	return nil
}

// counts returns how many pass at every cutoff, by age.
func counts(samples []Sample) []curve.Age {
	var out []curve.Age
	for years, in := range by(samples, func(s Sample) []int { return []int{s.Age} }) {
		a := curve.Age{Years: years}
		for _, s := range in {
			a.Add(s.Estimate)
		}
		out = append(out, a)
	}
	return out
}

// MostFrequent returns what was counted, the most frequent first.
func MostFrequent[K cmp.Ordered](counts map[K]int) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// rounded returns an estimate rounded to a tenth of a year; the page decides on
// the rounded value.
func rounded(years float64) float64 { return math.Round(years*10) / 10 }

// Given reports on the estimates that the set itself contains.
func Given(set []Picture, target int) (Report, error) {
	var samples []Sample
	for _, p := range set {
		if p.Estimate == nil {
			return Report{}, fmt.Errorf("%s has no estimate, but others have", p.Path)
		}
		samples = append(samples, Sample{p.Age, p.Groups, p.Collection, p.Training, rounded(*p.Estimate)})
	}
	return Measure(samples, target), nil
}

// Evaluate estimates the age of every look that the page would count with the
// head, and reports on the estimates.
func Evaluate(looks []Look, head age.Head, target int) Report {
	var samples []Sample
	refused := map[vision.Guidance]int{}
	for _, l := range looks {
		if l.Features == nil {
			refused[l.Guidance]++
			continue
		}
		years := rounded(head.Estimate(l.Features).Years)
		samples = append(samples, Sample{l.Age, l.Groups, l.Collection, l.Training, years})
	}
	r := Measure(samples, target)
	r.Pictures, r.Refused = len(looks), []Refusal{}
	for _, reason := range MostFrequent(refused) {
		r.Refused = append(r.Refused, Refusal{reason, refused[reason]})
	}
	return r
}
