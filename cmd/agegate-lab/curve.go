package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/lab/accuracy"
	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"
)

// curveFlags say where to write a curve, and the figures by sex and group. An empty
// path writes none.
type curveFlags struct{ path, fairness, name string }

// writeCurve stores a report as the curve of the models in the models
// directory.
func (c *cli) writeCurve(f curveFlags, sets []string, report accuracy.Report) error {
	if f.path == "" && f.fairness == "" {
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
	if f.name == "" {
		f.name = filepath.Base(sets[0])
	}
	estimator := age.Estimator(manifest)
	return errors.Join(f.write(estimator, report.Curve), f.writeFairness(estimator, report))
}

// write stores the curve of an estimator, and beside it the table that packs of evidence
// include.
func (f *curveFlags) write(estimator string, ages []curve.Age) error {
	if f.path == "" {
		return nil
	}
	if len(ages) == 0 {
		return errors.New("--curve: no picture of the set can be estimated")
	}
	c := curve.Curve{Format: curve.Format, MadeAt: now(), Name: f.name, Estimator: estimator, Ages: ages}
	return errors.Join(c.Write(f.path),
		writeTable(measured.Beside(f.path, evidence.TargetsFile), measured.TargetsTable(&c)))
}

// writeFairness adds a report's cells to the file of the flag, and writes the table that
// packs of evidence include beside it. It creates the file if it does not exist or is
// about another estimator.
func (f *curveFlags) writeFairness(estimator string, report accuracy.Report) error {
	if f.fairness == "" {
		return nil
	}
	if len(report.Cells) == 0 {
		return errors.New("--fairness: no age has enough pictures")
	}
	all := measured.Fairness{Format: measured.FairnessFormat, Estimator: estimator}
	text, err := os.ReadFile(f.fairness)
	if err == nil {
		old, err := measured.ParseFairness(text)
		if err != nil {
			return fmt.Errorf("--fairness: %w", err)
		}
		if old.Estimator == estimator {
			all = *old
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return errors.New("--fairness: the file cannot be read")
	}
	parts := report.Parts
	if len(parts) == 0 {
		parts = []accuracy.Part{{Name: f.name, Report: report}}
	}
	for _, p := range parts {
		all.Put(measured.Collection{Name: p.Name, MadeAt: now(), Pictures: p.Measured,
			Training: p.Training, Cells: p.Cells})
	}
	return errors.Join(inference.WriteJSON(f.fairness, all),
		writeTable(measured.Beside(f.fairness, evidence.AccuracyFile), measured.Accuracy(all)))
}

// writeTable writes a table that packs of evidence include.
func writeTable(path string, text []byte) error {
	return os.WriteFile(path, text, 0o644) //nolint:gosec // public, as the file beside it
}
