package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"agegate/internal/age/calibration"
	"agegate/internal/eval"
	"agegate/internal/inference"
	"agegate/internal/vision"

	"github.com/spf13/cobra"
)

// How calibrate works. The seed makes a fit repeatable.
const (
	calibrationFolds  = 5
	calibrationSeed   = 1
	calibrationTarget = 18 // that the stored figures are about
)

func (c *cli) calibrateCommand() *cobra.Command {
	var out, name string
	var pad float64
	cmd := &cobra.Command{
		Use:   "calibrate CSV|DIR --out FILE",
		Short: "Fit the age estimate to labelled face pictures",
		Long: "Fit the age estimate to labelled face pictures, and write the calibration that the\ngateway loads as " + calibration.FileName + " from the models directory.\n\n" + facesHelp +
			fmt.Sprintf("\n\nThe figures printed and stored come from %d-fold cross-validation by picture: each\npicture is estimated by a fit that has not seen it. Two pictures of one person may\nstill be on both sides, so check the result with eval on other people.\n\n2,000 pictures take a few minutes. The file holds sums over all pictures, none of\nthem singly.", calibrationFolds),
		Args: oneSet,
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write")
	cmd.Flags().StringVar(&name, "name", "", "what to call the set in the file (default: its file name)")
	addPadFlag(cmd, &pad)
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := placeFor("--out", out); err != nil {
			return err
		}
		set, err := eval.ReadSet(args[0])
		if err != nil {
			return err
		}
		if name == "" {
			name = filepath.Base(args[0])
		}
		return c.withModels(pad, cmd.ErrOrStderr(), func(p *inference.Pool, _ string, o eval.Options) error {
			lessons, err := eval.LearnFrom(cmd.Context(), vision.NewAnalyzer(p), set, o, calibrationSeed)
			if err != nil {
				return err
			}
			file, report, err := calibrate(cmd, lessons, o.Workers)
			if err != nil {
				return err
			}
			file.Data.Name, file.Models = name, calibration.ModelHashes(p.Manifest)
			if err := file.Write(out); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Wrote %s. In %d-fold cross-validation by picture:\n\n", out, calibrationFolds)
			return report.WriteText(cmd.OutOrStdout())
		})
	}
	return cmd
}

// calibrate cross-validates and fits. The figures stored leave out the single
// ages.
func calibrate(cmd *cobra.Command, lessons []eval.Lesson, workers int) (*calibration.File, eval.Report, error) {
	examples, looks := examplesOf(lessons)
	fmt.Fprintf(cmd.ErrOrStderr(), "cross-validating on %d pictures\n", len(examples))
	estimates, err := calibration.CrossValidate(cmd.Context(), examples, calibrationFolds, workers, calibrationSeed)
	if err != nil {
		return nil, eval.Report{}, err
	}
	report := eval.Compare(looks, estimates, calibrationTarget)
	fmt.Fprintln(cmd.ErrOrStderr(), "fitting on all of them")
	head, err := calibration.Fit(examples, calibrationSeed)
	if err != nil {
		return nil, report, err
	}
	stored := report
	stored.FalsePass, stored.Spread = report.FalsePass[:1], nil
	metrics, err := json.Marshal(stored)
	return &calibration.File{
		Format: calibration.Format, FittedAt: now(), Metrics: metrics, Head: *head,
		Data: calibration.Data{Pictures: len(examples), Youngest: head.Youngest, Oldest: head.Oldest},
	}, report, err
}

// examplesOf takes what a fit learns from out of the lessons: only pictures
// that the page would count.
func examplesOf(lessons []eval.Lesson) ([]calibration.Example, []eval.Look) {
	var examples []calibration.Example
	var looks []eval.Look
	for _, l := range lessons {
		looks = append(looks, l.Look)
		if l.Features != nil {
			views := append([]*vision.Features{l.Features}, l.Views...)
			examples = append(examples, calibration.Example{Age: l.Age, Views: views})
		}
	}
	return examples, looks
}
