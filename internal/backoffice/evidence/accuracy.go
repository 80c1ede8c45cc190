package evidence

import (
	"strconv"
	"time"
)

// accuracyFile returns accuracy.csv: for each collection, age, sex and group, how
// many pass a target age at a cutoff. A positive is a person of the target age or
// older.
func accuracyFile(about Installation, target int, cutoff float64) (file, error) {
	t := newTable("accuracy.csv", "collection", "measured", "estimator", "target_age", "cutoff_years", "age_from",
		"age_to", "sex", "group", "n",
		"true_positives", "false_positives", "false_negatives", "true_negatives", "passed_percent", "low_95_percent",
		"high_95_percent",
		"mean_absolute_error_years", "mae_low_95", "mae_high_95", "bias_years", "bias_low_95", "bias_high_95", "source")
	if about.Fairness == nil {
		return t.file()
	}
	for _, collection := range about.Fairness.Collections {
		for _, c := range collection.Cells {
			row := []string{
				collection.Name, collection.MadeAt.Format(time.DateOnly), about.Fairness.Estimator, strconv.Itoa(target),
				years(cutoff),
				strconv.Itoa(c.From), strconv.Itoa(c.To), orAll(c.Sex), orAll(c.Group), strconv.Itoa(c.Count),
			}
			row = append(row, outcomesOf(c, target, cutoff)...)
			for _, b := range []Bounds{c.MAE, c.Bias} {
				row = append(row, hundredth(b.Value), hundredth(b.Low), hundredth(b.High))
			}
			t.add(append(row, FairnessFile)...)
		}
	}
	return t.file()
}

// outcomesOf returns the counts and the share that passes. All are blank for a
// cutoff that was not counted. For an age range that includes the target, only
// the share is known.
func outcomesOf(c Cell, target int, cutoff float64) []string {
	passed, known := c.Passes(cutoff)
	if !known {
		return make([]string, 7)
	}
	n, left := strconv.Itoa(passed), strconv.Itoa(c.Count-passed)
	counts := []string{"", "", "", ""}
	switch {
	case c.From >= target:
		counts = []string{n, "0", left, "0"}
	case c.To < target:
		counts = []string{"0", n, "0", left}
	}
	rate, low, high := wilson(passed, c.Count).percent()
	return append(counts, rate, low, high)
}

func orAll(label string) string {
	if label == "" {
		return "all"
	}
	return label
}

// years formats a number of years without unnecessary digits.
func years(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func hundredth(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
