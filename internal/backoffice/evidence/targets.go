package evidence

import (
	"math"
	"strconv"
	"time"

	"agegate/internal/check/age/curve"
	"agegate/internal/rules/tenant"
)

// Targets are the target ages for which a release states who passes.
var Targets = []int{13, 15, 16, 18, 21}

// What is stated for each target age.
const (
	AgesBelow = 5     // how many ages below the target are counted together
	AgesAbove = 10    // and how many from the cutoff on
	MayPass   = 0.035 // the share of the ages below that the scale was fitted to let pass at 18
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

// targetsFile returns targets.csv: who passes each of Targets at the tenant's margin,
// for the ages below together and each by itself, and for those from the cutoff on.
func (s *Service) targetsFile(of tenant.Tenant) (file, error) {
	t := newTable("targets.csv", "pictures", "measured", "estimator", "target_age", "margin_years", "cutoff_years",
		"age_from", "age_to", "n", "passed_percent", "low_95_percent", "high_95_percent",
		"margin_for_3.5_percent_below", "source")
	c := s.about.Curve
	if c == nil {
		return t.file()
	}
	for _, target := range Targets {
		margin := of.Margin(target, s.about.Margin)
		cutoff := float64(target) + margin
		first := int(math.Ceil(cutoff))
		ranges := [][2]int{{target - AgesBelow, target - 1}, {first, first + AgesAbove - 1}}
		for age := target - AgesBelow; age < target; age++ {
			ranges = append(ranges, [2]int{age, age})
		}
		for i, r := range ranges {
			row := []string{c.Name, c.MadeAt.Format(time.DateOnly), c.Estimator, strconv.Itoa(target), years(margin),
				years(cutoff), strconv.Itoa(r[0]), strconv.Itoa(r[1])}
			passed, n := c.Passing(r[0], r[1], cutoff)
			var rate, low, high, needed string
			if n >= MinCount {
				rate, low, high = wilson(int(passed), int(n)).percent()
				if i == 0 {
					needed = strconv.Itoa(MarginNeeded(c, target))
				}
			}
			t.add(append(row, count(n), rate, low, high, needed, curve.FileName)...)
		}
	}
	return t.file()
}
