package measured

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/lab/curve"
)

// FairnessFile is the name of the file with the measurement by age, sex and group
// in a models directory, from which evidence.AccuracyFile is written.
const FairnessFile = "fairness.json"

// FairnessFormat is the version of the file.
const FairnessFormat = 1

// FewestInGroup is the smallest number of pictures of one group and sex for which the
// figures of Minors and of Adults are stated. Below evidence.MinCount they are too few to
// say much, and are shown as that.
const FewestInGroup = 5

// Minors and Adults are the ages, both ends included, for which pass rates are published.
var (
	Minors = [2]int{13, 17}
	Adults = [2]int{25, 35}
)

// Whether the training of an estimator had other pictures of a collection.
const (
	Trained   = "yes"
	OtherPart = "other part of the same collection"
	Untrained = "no"
)

// Fairness holds the accuracy of an estimator on labelled collections, by age,
// sex and group. It contains only sums over at least FewestInGroup pictures: no
// picture, and no estimate of a single picture.
type Fairness struct {
	Format      int          `json:"format"`
	Estimator   string       `json:"estimator"` // fingerprint of the estimator's files
	Collections []Collection `json:"collections"`
}

// Collection is a set of labelled pictures.
type Collection struct {
	Name     string    `json:"name"`
	MadeAt   time.Time `json:"made_at"`
	Pictures int       `json:"pictures"`
	Training string    `json:"in_training"` // Trained, OtherPart or Untrained
	Cells    []Cell    `json:"cells"`
}

// Cell holds the figures of the pictures with the same labels. Bounds are 95 %
// intervals, by bootstrap over the pictures.
type Cell struct {
	From    int          `json:"from"` // years, both ends included
	To      int          `json:"to"`
	Sex     string       `json:"sex,omitempty"`   // as labelled; empty: all
	Group   string       `json:"group,omitempty"` // as labelled; empty: all
	Count   int          `json:"count"`
	MAE     Bounds       `json:"mae"`    // mean absolute error, years
	Bias    Bounds       `json:"bias"`   // mean error; positive: estimated too old
	Passing curve.Counts `json:"passes"` // see curve.Counts
}

// Bounds is a figure with its 95 % interval.
type Bounds struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// ParseFairness reads a file and checks that its counts fit together.
func ParseFairness(text []byte) (*Fairness, error) {
	f := new(Fairness)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, err
	}
	if f.Format != FairnessFormat {
		return nil, fmt.Errorf("has format %d, not %d", f.Format, FairnessFormat)
	}
	for _, collection := range f.Collections {
		for _, c := range collection.Cells {
			if err := c.check(); err != nil {
				return nil, fmt.Errorf("%q: %w", collection.Name, err)
			}
		}
	}
	return f, nil
}

// InGroup reports whether the cell is about the Minors or Adults of one group and sex.
func (c Cell) InGroup() bool {
	ages := [2]int{c.From, c.To}
	return c.Sex != "" && c.Group != "" && (ages == Minors || ages == Adults)
}

func (c Cell) check() error {
	fewest := evidence.MinCount
	if c.InGroup() {
		fewest = FewestInGroup
	}
	err := c.Passing.Check(c.Count)
	if c.Count < fewest || c.From < 0 || c.To < c.From {
		err = fmt.Errorf("%d pictures, want at least %d, and ages in order", c.Count, fewest)
	}
	if err != nil {
		return fmt.Errorf("ages %d to %d: %w", c.From, c.To, err)
	}
	return nil
}

// Put adds a collection, or replaces the one with the same name.
func (f *Fairness) Put(c Collection) {
	f.Collections = slices.DeleteFunc(f.Collections, func(old Collection) bool { return old.Name == c.Name })
	f.Collections = append(f.Collections, c)
}
