package inference

import (
	"errors"
	"math"
)

// Scale converts a tail's readings to years, by a rising line through its points. An
// empty scale changes nothing.
type Scale []ScalePoint

// ScalePoint is a reading with the age for which it stands, both in years.
type ScalePoint struct {
	Reading float64 `json:"reading"`
	Years   float64 `json:"years"`
}

// Years returns the age for a reading. Readings below the first point or above
// the last are shifted by the same amount as that point.
func (s Scale) Years(reading float64) float64 {
	if len(s) == 0 {
		return reading
	}
	from := s[0]
	if reading < from.Reading {
		return reading + from.Years - from.Reading
	}
	for _, to := range s[1:] {
		if reading < to.Reading {
			return from.Years + (reading-from.Reading)*(to.Years-from.Years)/(to.Reading-from.Reading)
		}
		from = to
	}
	return reading + from.Years - from.Reading
}

// check fails if the scale does not rise from each point to the next, or has an
// age or a reading outside 0 to 120.
func (s Scale) check() error {
	last := ScalePoint{math.Inf(-1), math.Inf(-1)}
	for _, p := range s {
		inside := p.Reading >= 0 && p.Reading <= 120 && p.Years >= 0 && p.Years <= 120
		if !inside || p.Reading <= last.Reading || p.Years <= last.Years {
			return errors.New("the scale does not rise from 0 to at most 120 years")
		}
		last = p
	}
	return nil
}
