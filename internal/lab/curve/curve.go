// Package curve holds, for labelled pictures of each age, how many of them an estimator
// puts at or over each cutoff. It holds counts only: no picture, and no estimate of a
// single picture.
package curve

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/evidence"
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
		if a.Years <= last || a.Years > oldest {
			return nil, fmt.Errorf("the ages do not ascend to at most %d", oldest)
		}
		if err := a.Passes.Check(a.Count); err != nil {
			return nil, fmt.Errorf("age %d: %w", a.Years, err)
		}
		last = a.Years
	}
	return c, nil
}

// Write stores the curve and replaces an older one atomically.
func (c *Curve) Write(path string) error { return WriteJSON(path, c) }

// WriteJSON stores v as a file of a models directory and replaces an older one
// atomically.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	part := path + ".part"
	//nolint:gosec // no secret: the server may run as another user
	if err := os.WriteFile(part, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// Counts holds how many pictures reach each cutoff from Lowest to Highest. It is written
// as numbers in one string, so that files stay readable.
type Counts []int

// Add counts a picture with its estimate in years.
func (c *Counts) Add(estimate float64) {
	if *c == nil {
		*c = make(Counts, Highest-Lowest+1)
	}
	for i := range *c {
		if estimate >= float64(Lowest+i) {
			(*c)[i]++
		}
	}
}

// Reach returns how many pictures reach a cutoff in years, or false for one that is not
// counted. Between two whole years it counts those that reach the lower year, so the
// count is never too low.
func (c Counts) Reach(cutoff float64) (int, bool) {
	at := int(cutoff) - Lowest
	if cutoff < Lowest || at >= len(c) {
		return 0, false
	}
	return c[at], true
}

// Check returns why the counts cannot be those of a number of pictures, or nil: there is
// one for each cutoff, and none is negative, or higher than the one before it.
func (c Counts) Check(pictures int) error {
	if pictures < 1 || len(c) != Highest-Lowest+1 {
		return errors.New("counts are missing")
	}
	for _, n := range c {
		if n < 0 || n > pictures {
			return errors.New("the counts rise with the cutoff")
		}
		pictures = n
	}
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (c Counts) MarshalText() ([]byte, error) {
	var text []byte
	for i, n := range c {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	return text, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Counts) UnmarshalText(text []byte) error {
	*c = nil
	for field := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return errors.New("passes must be whole numbers")
		}
		*c = append(*c, n)
	}
	return nil
}
