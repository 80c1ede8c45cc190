package measured

import (
	"strconv"
	"time"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/backoffice/insight"
	"agegate/internal/lab/curve"
)

// Targets are the target ages for which a release states who passes.
var Targets = []int{13, 15, 16, 18, 21}

// What is stated for each target age.
const (
	AgesBelow = 5     // how many ages below the target are counted together
	AgesFrom  = 5     // and how many from the target on
	MayPass   = 0.035 // the share of the ages below that the scale was fitted to let pass at 18

	highestMargin = 20 // years
)

// MarginNeeded returns the smallest whole margin, in years, with which at most MayPass
// of the AgesBelow below a target pass.
func MarginNeeded(c *curve.Curve, target int) int {
	for margin := 0; ; margin++ {
		n, of := c.Passing(target-AgesBelow, target-1, float64(target+margin))
		if float64(n) <= MayPass*float64(of) || target+margin == curve.Highest {
			return margin
		}
	}
}

// TargetsTable returns evidence.TargetsFile: who passes each of Targets at each whole
// margin, for the ages below together and each by itself, and for those from the target
// on.
func TargetsTable(c *curve.Curve) []byte {
	t := evidence.Table{{"pictures", "measured", "estimator", "target_age", "margin_years", "cutoff_years", "age_from",
		"age_to", "n", "passed_percent", "low_95_percent", "high_95_percent", "margin_for_3.5_percent_below"}}
	for _, target := range Targets {
		for margin := range highestMargin + 1 {
			cutoff := target + margin
			ranges := [][2]int{{target - AgesBelow, target - 1}, {target, target + AgesFrom - 1}}
			for age := target - AgesBelow; age < target; age++ {
				ranges = append(ranges, [2]int{age, age})
			}
			for i, r := range ranges {
				passed, n := c.Passing(r[0], r[1], float64(cutoff))
				figures := []string{evidence.Count(n), "", "", "", ""}
				if n >= evidence.MinCount {
					rate := insight.RateOf(passed, n)
					for i, share := range []float64{rate.Share, rate.Low, rate.High} {
						figures[1+i] = evidence.Percent(share)
					}
				}
				if i == 0 && n >= evidence.MinCount {
					figures[4] = strconv.Itoa(MarginNeeded(c, target))
				}
				t.Add(append([]string{c.Name, c.MadeAt.Format(time.DateOnly), c.Estimator, strconv.Itoa(target),
					strconv.Itoa(margin), strconv.Itoa(cutoff), strconv.Itoa(r[0]), strconv.Itoa(r[1])}, figures...)...)
			}
		}
	}
	return t.CSV()
}

// Accuracy returns evidence.AccuracyFile: a row for each cell of each collection.
func Accuracy(f Fairness) []byte {
	t := evidence.Table{evidence.AccuracyColumns()}
	for _, collection := range f.Collections {
		for _, c := range collection.Cells {
			row := []string{collection.Name, strconv.Itoa(collection.Pictures), collection.MadeAt.Format(time.DateOnly),
				collection.Training, f.Estimator, strconv.Itoa(c.From), strconv.Itoa(c.To), c.Sex, c.Group,
				strconv.Itoa(c.Count)}
			for _, b := range []Bounds{c.MAE, c.Bias} {
				row = append(row, hundredth(b.Value), hundredth(b.Low), hundredth(b.High))
			}
			for _, n := range c.Passing {
				row = append(row, strconv.Itoa(n))
			}
			t.Add(row...)
		}
	}
	return t.CSV()
}
