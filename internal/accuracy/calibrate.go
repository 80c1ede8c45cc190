package accuracy

import (
	"context"
	"encoding/json"
	"fmt"

	"agegate/internal/age/calibration"
	"agegate/internal/vision"
)

// How Calibrate works. The same Seed gives the same fit from the same set.
const (
	Folds = 5 // of the cross-validation
	Seed  = 1
	// calibrationTarget is the target age that the stored figures are about.
	calibrationTarget = 18
)

// Calibrate fits a head to the lessons, and reports on estimates of the same
// pictures by cross-validation. The file lacks what the lessons do not tell:
// when it was fitted, the set's name and the models. The figures it stores
// leave out the single ages. progress is called with each step that begins.
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

// examplesOf takes what a fit learns from out of the lessons: only pictures
// that the page would count.
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
