package accuracy

import (
	"context"
	"encoding/json"
	"fmt"

	"agegate/internal/check/age/calibration"
	"agegate/internal/check/vision"
)

// Parameters of Calibrate. The same Seed and set give the same fit.
const (
	FoldCount = 5 // of the cross-validation
	Seed      = 1
	// calibrationTarget is the target age that the stored figures are about.
	calibrationTarget = 18
)

// Validation is what cross-validation says about a fit.
type Validation struct {
	Report
	Fold    []int     // of each picture that the page would count, in the lessons' order
	HeldOut []float64 // its estimate in years, by a head fitted without its fold
}

// Calibrate fits a head to the lessons and reports its accuracy on the same
// pictures by cross-validation. The caller fills in what the lessons do not
// contain: the file's time, the set's name and the models. The stored figures
// leave out single ages. progress is called when a step begins.
func Calibrate(ctx context.Context, lessons []Lesson, workers int, progress func(step string)) (*calibration.File, Validation, error) {
	var v Validation
	examples, looks := examplesOf(lessons)
	if len(examples) < FewestExamples {
		return nil, v, ErrTooFew
	}
	progress(fmt.Sprintf("cross-validating on %d pictures", len(examples)))
	var plain []*vision.Features
	for _, e := range examples {
		plain = append(plain, e.Views[0])
	}
	v.Fold = Folds(plain, FoldCount, Seed)
	var err error
	if v.HeldOut, err = CrossValidate(ctx, examples, v.Fold, workers, Seed); err != nil {
		return nil, v, err
	}
	v.Report = Compare(looks, v.HeldOut, calibrationTarget)
	progress("fitting on all of them")
	head, err := Fit(examples, Seed)
	if err != nil {
		return nil, v, err
	}
	stored := v.Report
	stored.FalsePass, stored.Spread = v.FalsePass[:1], nil
	metrics, err := json.Marshal(stored)
	return &calibration.File{
		Format: calibration.Format, Metrics: metrics, Head: *head,
		Data: calibration.Data{Pictures: len(examples), Youngest: head.Youngest, Oldest: head.Oldest},
	}, v, err
}

// examplesOf returns the examples for a fit: only pictures that the page would
// count.
func examplesOf(lessons []Lesson) ([]Example, []Look) {
	var examples []Example
	var looks []Look
	for _, l := range lessons {
		looks = append(looks, l.Look)
		if l.Features != nil {
			views := append([]*vision.Features{l.Features}, l.Views...)
			e := Example{Age: l.Age, Views: views}
			if len(l.Groups) > 0 {
				e.Group = l.Groups[0]
			}
			examples = append(examples, e)
		}
	}
	return examples, looks
}
