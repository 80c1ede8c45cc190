package main

import (
	"errors"
	"path/filepath"

	"agegate/internal/check/age/calibration"
	"agegate/internal/check/age/curve"
	"agegate/internal/check/inference"
	"agegate/internal/lab/accuracy"

	"github.com/spf13/cobra"
)

const curveFile = curve.FileName

// curveFlags say where to write a curve. The empty path writes none.
type curveFlags struct{ path, name string }

func (f *curveFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "curve", "", "also write the counts that the threshold lab shows into this file;\nthe gateway reads "+curveFile+" in the models directory")
}

// write stores the curve of an estimator.
func (f *curveFlags) write(name, estimator string, ages []curve.Age) error {
	if f.path == "" {
		return nil
	}
	if len(ages) == 0 {
		return errors.New("--curve: no picture of the set can be estimated")
	}
	c := curve.Curve{Format: curve.Format, MadeAt: now(), Name: name, Estimator: estimator, Ages: ages}
	return c.Write(f.path)
}

// writeCurve stores a report as the curve of what the models directory holds.
func (c *cli) writeCurve(f curveFlags, set string, report accuracy.Report) error {
	if f.path == "" {
		return nil
	}
	cfg, err := c.load()
	if err != nil {
		return err
	}
	manifest, err := inference.ReadManifest(cfg.ModelsDir)
	if err != nil {
		return err
	}
	_, file, err := calibration.LoadHead(cfg.ModelsDir, manifest)
	if err != nil && !errors.Is(err, calibration.ErrMissing) {
		return err
	}
	if f.name == "" {
		f.name = filepath.Base(set)
	}
	return f.write(f.name, calibration.Estimator(manifest, file), report.Curve)
}
