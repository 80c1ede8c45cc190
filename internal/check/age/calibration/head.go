// Package calibration corrects the stock age estimate, which flatters
// teenagers, by a small head fitted on labelled faces: the principal
// components of the age model's outputs go through a few small networks whose
// results are averaged. A calibration belongs to the models it was fitted on.
package calibration

import (
	"errors"
	"fmt"
	"math"

	"agegate/internal/check/age"
	"agegate/internal/check/vision"
)

// Head estimates the age in years. It implements age.Head and may be used by
// many captures at once.
type Head struct {
	Youngest   int        `json:"youngest"` // years; the labels it was fitted on span
	Oldest     int        `json:"oldest"`   // these two
	Projection Projection `json:"projection"`
	Networks   []*Network `json:"networks"`
}

var _ age.Head = (*Head)(nil)

// Age returns the estimate in years, from 0 to 99.
//
// Between the youngest and the oldest label it is the networks' output. No
// label shows how to correct older faces, and the networks would call them all
// as old as the oldest label: there the stock estimate, which is hardly biased
// at that end, takes over step by step. It never lowers an estimate, and the
// lower reading of the two crops is the one that counts.
func (h *Head) Age(f *vision.Features) float64 {
	input := h.Projection.Apply(Values(f))
	var sum float64
	for _, n := range h.Networks {
		sum += float64(n.value(input))
	}
	fitted := min(max(fromTarget(sum/float64(len(h.Networks))), 0), float64(h.Oldest))
	inner := vision.Features{Whole: f.Inner}
	stock := min(age.ExpectedValue{}.Age(f), age.ExpectedValue{}.Age(&inner))
	share := min(max((stock-float64(h.Oldest)+handover/2)/handover, 0), 1)
	years := fitted + share*max(stock-fitted, 0)
	if math.IsNaN(years) {
		return 0 // the models gave no numbers: nobody is let through on that
	}
	return years
}

// handover is how many years of stock estimate, half of them below the oldest
// label, it takes until the stock estimate decides alone.
const handover = 10.0

// The networks estimate the logarithm of age + 5, centred and scaled: a year
// counts more in a child than in an adult, and an error of three years at 15
// matters more than at 35.
const (
	targetShift  = 5.0
	targetCentre = 3.25
	targetScale  = 0.4
)

// ToTarget is the output that the networks are trained to give for an age in years.
func ToTarget(years float64) float64 {
	return (math.Log(years+targetShift) - targetCentre) / targetScale
}

func fromTarget(value float64) float64 {
	return math.Exp(value*targetScale+targetCentre) - targetShift
}

// check reports why the head cannot be computed.
func (h *Head) check() error {
	if h.Youngest < 0 || h.Oldest <= h.Youngest || h.Oldest > 120 {
		return fmt.Errorf("spans the ages %d to %d", h.Youngest, h.Oldest)
	}
	if err := h.Projection.check(); err != nil {
		return err
	}
	if len(h.Networks) == 0 {
		return errors.New("has no networks")
	}
	for _, n := range h.Networks {
		if n == nil {
			return errors.New("has an empty network")
		}
		if err := n.check(h.Projection.components()); err != nil {
			return err
		}
	}
	return nil
}
