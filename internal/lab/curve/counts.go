package curve

import (
	"errors"
	"strconv"
	"strings"
)

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
