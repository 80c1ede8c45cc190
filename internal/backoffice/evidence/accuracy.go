package evidence

import (
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"agegate/internal/backoffice/insight"
)

// What was measured of the models is written once, by agegate-lab, into these files of
// a models directory. A pack includes them as they are.
const (
	AccuracyFile = "accuracy.csv" // by age, sex and group
	TargetsFile  = "targets.csv"  // who passes each of some target ages, by margin
)

// measured holds the files about the checks of this release, and their rows of the statements.
//
//go:embed measured
var measured embed.FS

// LowestCutoff and HighestCutoff are the first and the last cutoff for which AccuracyFile counts pictures, in years.
const (
	LowestCutoff  = 10
	HighestCutoff = 80
)

// Reasons why there is no Accuracy.
var (
	ErrUnmeasured = errors.New("the models directory has no " + AccuracyFile)
	ErrOther      = errors.New(AccuracyFile + " is about another estimator")
)

// AccuracyColumns returns the header of AccuracyFile. Each row is about the pictures of a collection whose people
// have the same ages, sex and group; an empty sex or group stands for all. reaches_25 is how many of the n pictures
// are estimated at 25 years or more.
func AccuracyColumns() []string {
	columns := []string{"collection", "pictures", "measured", "in_training", "estimator", "age_from", "age_to", "sex",
		"group", "n", "mean_absolute_error_years", "mae_low_95", "mae_high_95", "bias_years", "bias_low_95", "bias_high_95"}
	for cutoff := LowestCutoff; cutoff <= HighestCutoff; cutoff++ {
		columns = append(columns, "reaches_"+strconv.Itoa(cutoff))
	}
	return columns
}

// Accuracy is what was measured of an estimator.
type Accuracy struct {
	text []byte
	rows []accuracyRow
}

// accuracyRow is a row of AccuracyFile.
type accuracyRow struct {
	collection collection
	from, to   string // years, both ends included
	sex, group string
	count      int64
	mae, bias  string  // with their bounds
	reaches    []int64 // from LowestCutoff on
}

// collection is a set of labelled pictures.
type collection struct{ Name, Pictures, Measured, Training string }

// Measured reads the files of a models directory that are about its estimator. It returns
// ErrUnmeasured if there is no AccuracyFile, and the errors of ParseAccuracy.
func (about *Installation) Measured(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, AccuracyFile)) //nolint:gosec // the operator chose the directory
	if errors.Is(err, os.ErrNotExist) {
		return ErrUnmeasured
	} else if err != nil {
		return err
	}
	if about.Accuracy, err = ParseAccuracy(text, about.Estimator); err != nil {
		return err
	}
	about.Targets, err = os.ReadFile(filepath.Join(dir, TargetsFile)) //nolint:gosec // the same
	if errors.Is(err, os.ErrNotExist) || !bytes.Contains(about.Targets, []byte(","+about.Estimator+",")) {
		about.Targets = nil
		return nil
	}
	return err
}

// ParseAccuracy reads AccuracyFile. It returns ErrOther for another estimator's; the error
// for a damaged file names the row.
func ParseAccuracy(text []byte, estimator string) (*Accuracy, error) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 || !slices.Equal(rows[0], AccuracyColumns()) {
		return nil, errors.New("has other columns, or no rows")
	}
	a := &Accuracy{text: text}
	for i, r := range rows[1:] {
		if r[4] != estimator {
			return nil, ErrOther
		}
		var counts []int64
		left := int64(math.MaxInt64)
		for _, cell := range append(r[9:10:10], r[16:]...) {
			n, err := strconv.ParseInt(cell, 10, 64)
			if err != nil || n < 0 || n > left {
				return nil, fmt.Errorf("row %d: the counts rise with the cutoff", i+1)
			}
			counts, left = append(counts, n), n
		}
		a.rows = append(a.rows, accuracyRow{
			collection: collection{r[0], r[1], r[2], r[3]}, from: r[5], to: r[6], sex: r[7], group: r[8], count: counts[0],
			mae: Interval(r[10], r[11], r[12]), bias: Interval(r[13], r[14], r[15]), reaches: counts[1:],
		})
	}
	return a, nil
}

// passed returns the share that passes at a cutoff, or false for one that was not counted. Between two whole years it
// counts those that reach the lower year, so the share is never too low.
func (r accuracyRow) passed(cutoff float64) (string, bool) {
	at := int(cutoff) - LowestCutoff
	if cutoff < LowestCutoff || at >= len(r.reaches) {
		return "", false
	}
	return Shown(insight.RateOf(r.reaches[at], r.count)), true
}

// figures returns the tables with what was measured. Those of the models are left out where it is not known of them.
func (about Installation) figures() (files []file, err error) {
	if about.Accuracy != nil {
		files = append(files, file{AccuracyFile, about.Accuracy.text})
	}
	if about.Targets != nil {
		files = append(files, file{TargetsFile, about.Targets})
	}
	for _, name := range []string{"pad.csv", "injection.csv", "matching.csv"} {
		data, err := measured.ReadFile("measured/" + name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, data})
	}
	return files, nil
}
