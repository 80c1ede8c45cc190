// Package curve holds, for labelled pictures of each age, how many of them an estimator
// puts at or over each cutoff. It holds counts only: no picture, and no estimate of a
// single picture.
package curve

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/check/inference"
)

// FileName is the curve in a models directory.
const FileName = "curve.json"

// Format is the version of the file.
const Format = 1

// Lowest and Highest are the first and the last cutoff that is counted, in years.
const (
	Lowest  = evidence.LowestCutoff
	Highest = evidence.HighestCutoff
)

const oldest = 120 // the highest age of a label, in years

// Curve is a curve as it is stored.
type Curve struct {
	Format    int       `json:"format"`
	MadeAt    time.Time `json:"made_at"`
	Name      string    `json:"name"`      // of the pictures
	Estimator string    `json:"estimator"` // fingerprint of the files that estimate
	Ages      []Age     `json:"ages"`      // ascending
}

// Age is the part of a curve about one age.
type Age struct {
	Years  int    `json:"age"`
	Count  int    `json:"count"`  // pictures
	Passes Counts `json:"passes"` // of them at or over Lowest, then each year up to Highest
}

// Add counts a picture of a person of this age, with its estimate in years.
func (a *Age) Add(estimate float64) {
	a.Count++
	a.Passes.Add(estimate)
}

// Passing returns how many of the pictures of an age range, both ends included,
// reach a cutoff, as Counts.Reach, which must be from Lowest to Highest.
func (c *Curve) Passing(from, to int, cutoff float64) (n, of int64) {
	for _, a := range c.Ages {
		if a.Years >= from && a.Years <= to {
			reached, _ := a.Passes.Reach(cutoff)
			n, of = n+int64(reached), of+int64(a.Count)
		}
	}
	return n, of
}

// Pictures returns the number of pictures in the curve.
func (c *Curve) Pictures() int {
	total := 0
	for _, a := range c.Ages {
		total += a.Count
	}
	return total
}

// Parse reads a curve and checks that its counts fit together.
func Parse(text []byte) (*Curve, error) {
	c := new(Curve)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, err
	}
	if c.Format != Format {
		return nil, fmt.Errorf("has format %d, not %d", c.Format, Format)
	}
	if len(c.Ages) == 0 {
		return nil, errors.New("has no ages")
	}
	last := -1
	for _, a := range c.Ages {
		if err := a.check(last); err != nil {
			return nil, err
		}
		last = a.Years
	}
	return c, nil
}

// check returns what is wrong with an age, or nil. last is the age before it.
func (a Age) check(last int) error {
	if a.Years <= last || a.Years > oldest {
		return fmt.Errorf("the ages do not ascend to at most %d", oldest)
	}
	if err := a.Passes.Check(a.Count); err != nil {
		return fmt.Errorf("age %d: %w", a.Years, err)
	}
	return nil
}

// Write stores the curve and replaces an older one atomically.
func (c *Curve) Write(path string) error { return inference.WriteJSON(path, c) }
