package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"agegate/internal/check/age/calibration"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/lab/accuracy"

	"github.com/spf13/cobra"
)

func (c *cli) calibrateCommand() *cobra.Command {
	var out, name, material string
	var pad float64
	var curve curveFlags
	cmd := &cobra.Command{
		Use:   "calibrate CSV|DIR --out FILE",
		Short: "Fit the age estimate to labelled face pictures",
		Long: "Fit the age estimate to labelled face pictures, and write the calibration that the\ngateway loads as " + calibration.FileName + " from the models directory.\n\n" + facesHelp +
			fmt.Sprintf("\n\nThe figures printed and stored come from %d-fold cross-validation by picture: each\npicture is estimated by a fit that has seen neither it nor a near copy. Two pictures\nof one person may still be on both sides, so check the result with eval on other\npeople. The fine-tuned tail, where there is one, takes no part in them: make train\nfits both.\n\n2,000 pictures take a few minutes. The file holds sums over all pictures, none of\nthem singly.", accuracy.FoldCount),
		Args: oneSet,
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write")
	cmd.Flags().StringVar(&name, "name", "", "name of the set, stored in the file (default: its file name)")
	cmd.Flags().StringVar(&material, "material", "", "also write into this directory what internal/tools/training/train.py learns from: 400 kB a picture")
	curve.add(cmd)
	addPadFlag(cmd, &pad)
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(placeFor("--out", out), placeFor("--curve", curve.path)); err != nil {
			return err
		}
		set, err := accuracy.ReadSet(args[0])
		if err != nil {
			return err
		}
		if name == "" {
			name = filepath.Base(args[0])
		}
		return c.withModels(pad, cmd.ErrOrStderr(), func(p *inference.Pool, _ string, o accuracy.Options) error {
			file, report, err := fit(cmd, p, set, o, material)
			if err != nil {
				return err
			}
			file.Data.Name, file.FittedAt, file.Models = name, now(), calibration.ModelHashes(p.Manifest)
			if err := file.Write(out); err != nil {
				return err
			}
			alone := p.Manifest // the figures are the head's
			alone.Models = maps.Clone(alone.Models)
			delete(alone.Models, inference.Tail)
			if err := curve.write(name, calibration.Estimator(alone, file), report.Curve); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Wrote %s. In %d-fold cross-validation by picture:\n\n", out, accuracy.FoldCount)
			return report.WriteText(cmd.OutOrStdout())
		})
	}
	return cmd
}

// fit looks at the set, writes the material where a directory for it is named,
// and fits a head.
func fit(cmd *cobra.Command, p *inference.Pool, set []accuracy.Picture, o accuracy.Options, material string) (*calibration.File, accuracy.Validation, error) {
	var m *accuracy.Material
	if material != "" {
		var err error
		if m, err = accuracy.CreateMaterial(material, p); err != nil {
			return nil, accuracy.Validation{}, err
		}
		o.Seen = m.Add
	}
	lessons, err := accuracy.LearnFrom(cmd.Context(), vision.NewAnalyzer(p), set, o, accuracy.Seed)
	if err != nil {
		return nil, accuracy.Validation{}, err
	}
	file, v, err := accuracy.Calibrate(cmd.Context(), lessons, o.Workers, func(step string) { fmt.Fprintln(cmd.ErrOrStderr(), step) })
	if err == nil && m != nil {
		err = m.Close(lessons, v.Fold, v.HeldOut)
	}
	return file, v, err
}
