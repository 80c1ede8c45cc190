// Package drift watches whether the camera check still works as it did. It counts
// how checks end and how their estimates are distributed, by family of browsers,
// and compares the counts with a frozen reference. It warns where they have
// shifted. It changes nothing: a person decides what follows, because counts
// cannot tell an attack from another audience.
//
// No estimate of a person is kept: only counts of at least MinGroup estimates
// together leave the memory of the process that counted them.
package drift

import (
	"math"
	"time"
)

// MinGroup is the smallest number of checks, and of estimates, that is written
// together. It is also held by the table.
const MinGroup = 50

// The rule of comparison. A window is judged when it has at least MinWindow counts
// and is at least WindowTime long.
const (
	MinWindow    = 500
	WindowTime   = 15 * time.Minute
	MinReference = 2000 // estimates
	Warn         = 0.1  // stability index from which a warning is logged
	Far          = 0.25 // from which an error is logged and an alert fires
	InARow       = 2    // windows in a row that must agree: the audience changes during a day
)

// Kept is how long the counts of an hour are kept.
const Kept = 35 * 24 * time.Hour

// Outcome is how a camera check ended.
type Outcome int

// The outcomes of a check.
const (
	Estimated Outcome = iota // it has an estimate
	Unusable                 // no usable picture within its time
	NotLive
	Left // the shopper left before its end
	outcomes
)

// edges are the ages, in years, at which the bins of estimates end.
var edges = [...]float64{14, 18, 21, 25, 30, 35, 40, 50, 60}

// Bins is the number of bins of estimates.
const Bins = len(edges) + 1

// bin returns the bin of an estimate.
func bin(years float64) int {
	for i, edge := range edges {
		if years < edge {
			return i
		}
	}
	return Bins - 1
}

// Counts holds the number of checks with each outcome, and the number of estimates in
// each bin. The two parts are written separately, each once it has reached MinGroup.
type Counts struct {
	Outcomes [outcomes]int64 `json:"outcomes"`
	Ages     [Bins]int64     `json:"ages"`
}

// Add returns the sum of two counts.
func (c Counts) Add(d Counts) Counts {
	for i, n := range d.Outcomes {
		c.Outcomes[i] += n
	}
	for i, n := range d.Ages {
		c.Ages[i] += n
	}
	return c
}

// Checks returns the number of checks.
func (c Counts) Checks() int64 { return total(c.Outcomes[:]) }

// Estimates returns the number of estimates.
func (c Counts) Estimates() int64 { return total(c.Ages[:]) }

// ready splits counts into what may be written and what has to wait.
func (c Counts) ready() (ready, waiting Counts) {
	if c.Checks() >= MinGroup {
		ready.Outcomes, c.Outcomes = c.Outcomes, [outcomes]int64{}
	}
	if c.Estimates() >= MinGroup {
		ready.Ages, c.Ages = c.Ages, [Bins]int64{}
	}
	return ready, c
}

// Hour is what was counted of a family in an hour.
type Hour struct {
	Hour      time.Time // its start, UTC
	Family    Family
	Estimator string // fingerprint of what estimated
	Counts
}

func total(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// psi returns the population stability index of counts against those of a
// reference: the sum of (p-q) ln(p/q) over the bins. Half a count is added to
// each bin, so that an empty one does not make it infinite.
func psi(counts, reference []int64) float64 {
	const half = .5
	whole := float64(total(counts)) + half*float64(len(counts))
	base := float64(total(reference)) + half*float64(len(reference))
	sum := 0.0
	for i := range counts {
		p, q := (float64(counts[i])+half)/whole, (float64(reference[i])+half)/base
		sum += (p - q) * math.Log(p/q)
	}
	return sum
}
