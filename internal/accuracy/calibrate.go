package accuracy

import (
	"context"
	"encoding/json"
	"fmt"

	"agegate/internal/age/calibration"
	"agegate/internal/vision"
)

// Parameters of Calibrate. The same Seed and set give the same fit.
const (
	Folds = 5 // of the cross-validation
	Seed  = 1
	// calibrationTarget is the target age that the stored figures are about.
	calibrationTarget = 18
)

// Calibrate fits a head to the lessons and reports its accuracy on the same
// pictures by cross-validation. The caller fills in what the lessons do not
// contain: the file's time, the set's name and the models. The stored figures
// leave out single ages. progress is called when a step begins.
func Calibrate(ctx context.Context, lessons []Lesson, workers int, progress func(step string)) (*calibration.File, Report, error) {
	examples, looks := examplesOf(lessons)
	progress(fmt.Sprintf("cross-validating on %d pictures", len(examples)))
	estimates, err := CrossValidate(ctx, examples, Folds, workers, Seed)
	if err != nil {
		return nil, Report{}, err
	}
	report := Compare(looks, estimates, calibrationTarget)
	progress("fitting on all of them")
	head, err := Fit(examples, Seed)
	if err != nil {
		return nil, report, err
	}
	stored := report
	stored.FalsePass, stored.Spread = report.FalsePass[:1], nil
	metrics, err := json.Marshal(stored)
	return &calibration.File{
		Format: calibration.Format, Metrics: metrics, Head: *head,
		Data: calibration.Data{Pictures: len(examples), Youngest: head.Youngest, Oldest: head.Oldest},
	}, report, err
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
			examples = append(examples, Example{Age: l.Age, Views: views})
		}
	}
	return examples, looks
}
