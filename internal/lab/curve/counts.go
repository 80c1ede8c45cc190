package curve

import (
	"errors"
	"strconv"
	"strings"
)

// Counts holds how many pictures reach each cutoff. It is written as numbers in one string, so that
// files stay readable.
type Counts []int

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
