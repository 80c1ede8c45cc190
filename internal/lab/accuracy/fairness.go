package accuracy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/lab/measured"
)

// bootstrapSeed is fixed, so that the bounds are the same in every run.
const bootstrapSeed = 1

// cellBands are the age ranges of cells, both ends included. Some begin or end at a usual
// target age. 13 to 17 and 25 to 35 are the ranges for which pass rates are published.
// From firstYear to lastYear, every year also has a range of its own, as in the reports
// of NIST's FATE AEV.
var cellBands = func() [][2]int {
	bands := [][2]int{
		{0, 7}, {8, 12}, {13, 15}, {16, 17}, {18, 20}, {21, 24}, {25, 35}, {36, 50}, {51, 70}, {71, 120}, {13, 17},
	}
	for years := firstYear; years <= lastYear; years++ {
		bands = append(bands, [2]int{years, years})
	}
	return bands
}()

// The years that are reported singly.
const (
	firstYear = 13
	lastYear  = 30
)

// resamples is how many bootstrap samples are drawn from the pictures of a cell
// for its bounds.
const resamples = 1000

// sexes are the group labels that name a sex.
var sexes = []string{"female", "male"}

// Cells returns the figures by age, sex and group, for cells with at least
// evidence.MinCount pictures, or measured.FewestInGroup of a group and sex among the
// measured.Minors and measured.Adults. If one of a sample's labels is in sexes, it is the
// sample's sex; the others are its groups. Single years are divided by sex only.
// The same samples give the same bounds.
func Cells(samples []Sample) []measured.Cell {
	type labels struct{ sex, group string }
	var cells []measured.Cell
	for _, band := range cellBands {
		parts := map[labels][]Sample{}
		for _, s := range within(samples, band[0], band[1]) {
			sex, groups := labelsOf(s.Groups)
			for _, of := range slices.Compact([]string{"", sex}) {
				parts[labels{of, ""}] = append(parts[labels{of, ""}], s)
				for _, group := range groups {
					if band[0] != band[1] {
						parts[labels{of, group}] = append(parts[labels{of, group}], s)
					}
				}
			}
		}
		for of, in := range parts {
			c := measured.Cell{From: band[0], To: band[1], Sex: of.sex, Group: of.group}
			if len(in) >= evidence.MinCount || c.InGroup() && len(in) >= measured.FewestInGroup {
				cells = append(cells, counted(c, in))
			}
		}
	}
	slices.SortFunc(cells, func(a, b measured.Cell) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(rank(a), rank(b)),
			cmp.Compare(shown(a), shown(b)), cmp.Compare(a.Sex, b.Sex), cmp.Compare(a.Group, b.Group))
	})
	return cells
}

// labelsOf returns the sex among a sample's groups, and the others.
func labelsOf(groups []string) (sex string, others []string) {
	for _, g := range groups {
		if slices.Contains(sexes, g) {
			sex = g
		} else {
			others = append(others, g)
		}
	}
	return sex, others
}

// rank orders the cells of groups and sexes after the others, and those with few pictures
// last.
func rank(c measured.Cell) int {
	switch {
	case !c.InGroup():
		return 0
	case c.Count >= evidence.MinCount:
		return 1
	}
	return 2
}

// shown orders the cells of groups and sexes from the worst on, where the most minors or
// the fewest adults reach Cutoff.
func shown(c measured.Cell) float64 {
	reach, _ := c.Passing.Reach(Cutoff)
	switch {
	case !c.InGroup():
		return 0
	case c.To < Cutoff:
		reach = -reach
	}
	return float64(reach) / float64(c.Count)
}

// counted fills in the figures of a cell's samples.
func counted(c measured.Cell, samples []Sample) measured.Cell {
	c.Count = len(samples)
	failures := make([]float64, len(samples))
	for i, s := range samples {
		failures[i] = s.Estimate - float64(s.Age)
		c.Passing.Add(s.Estimate)
	}
	slices.Sort(failures) // so that the bounds do not depend on the order of the set
	c.MAE = bootstrap(failures, math.Abs)
	c.Bias = bootstrap(failures, func(v float64) float64 { return v })
	return c
}

// bootstrap returns the mean of fn over values with its 95 % interval: the 2.5th
// and the 97.5th percentile of the means of as many values drawn with
// replacement (B. Efron, 1979).
func bootstrap(values []float64, fn func(float64) float64) measured.Bounds {
	random := rand.New(rand.NewPCG(bootstrapSeed, 3)) //nolint:gosec // repeatable on purpose
	n := float64(len(values))
	var mean float64
	for _, v := range values {
		mean += fn(v) / n
	}
	means := make([]float64, resamples)
	for i := range means {
		for range values {
			means[i] += fn(values[random.IntN(len(values))]) / n
		}
	}
	slices.Sort(means)
	at := func(p float64) float64 { return thousandth(means[int(p*(resamples-1)+0.5)]) }
	return measured.Bounds{Value: thousandth(mean), Low: at(0.025), High: at(0.975)}
}

func thousandth(v float64) float64 { return math.Round(1000*v) / 1000 }
