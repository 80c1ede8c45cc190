package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app/config"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/lab/accuracy"
	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"

	"github.com/spf13/cobra"
)

func (c *cli) fitCommand() *cobra.Command {
	var falsePass float64
	var heldOut, drawnOn string
	cmd := &cobra.Command{
		Use:   "fit CSV",
		Short: "Fit the scales of both age models to labelled pictures",
		Long: "Fit the scales that turn what both age models say into years, and write them into\n" +
			inference.TailManifestName + " in the models directory. CSV is pictures.csv, as crops writes it: the pictures\n" +
			"held out there and all 13- to 17-year-olds count, these also with make-up drawn on\n" +
			"their faces, three times each. make train runs this after the training.",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().Float64Var(&falsePass, "false-pass", 0.035,
		"share of the 13- to 17-year-olds of the worst collection, or of its drawn-on copies,\nthat may reach 25 years")
	cmd.Flags().StringVar(&heldOut, "held-out", "",
		"also write the estimates of the pictures held out into this CSV file, for eval")
	cmd.Flags().StringVar(&drawnOn, "drawn-on", "",
		"also write the estimates of one copy of each picture with the drawings that the scales\n"+
			"were fitted to into this CSV file, for eval")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		set, err := readSets(args, []float64{0})
		if err != nil {
			return err
		}
		trained := accuracy.TrainingOf(set)
		for i := range set {
			set[i].Training = cmp.Or(trained[set[i].Collection], measured.Untrained)
		}
		cfg, err := c.load()
		if err != nil {
			return err
		}
		return c.withModels(cmd.ErrOrStderr(), func(p *inference.Pool, o accuracy.Options) error {
			if p.Manifest.Tail == nil {
				return errors.New("there is no fine-tuned tail whose scale could be fitted")
			}
			readings, err := accuracy.Read(cmd.Context(), vision.NewAnalyzer(p), set, o)
			if err != nil {
				return err
			}
			fitted, err := accuracy.Fit(readings, falsePass)
			if err != nil {
				return err
			}
			for _, m := range fitted.Young {
				fmt.Fprintf(cmd.OutOrStdout(), "%s, %s: %s of 13–17 reach %g\n", m.Collection, m.Altered, m.Pass, accuracy.Cutoff)
			}
			plain := func(r accuracy.Reading) bool { return r.Held && r.Altered == accuracy.Unaltered }
			drawn := func(r accuracy.Reading) bool {
				return r.Fitted() && r.Altered != accuracy.Unaltered && r.Draw == 0
			}
			return errors.Join(writeScales(cfg, p.Manifest, fitted),
				writeEstimates("--held-out", heldOut, readings, fitted, plain),
				writeEstimates("--drawn-on", drawnOn, readings, fitted, drawn))
		})
	}
	return cmd
}

// writeScales puts the scales into the tail's manifest.
func writeScales(cfg config.Config, m inference.Manifest, f accuracy.Fitted) error {
	tail := *m.Tail
	tail.Scale = f.Tail
	tail.Second = &inference.SecondScale{Base: m.Models[inference.Second].SHA256, Scale: f.Second}
	var err error
	if tail.Figures, err = json.Marshal(map[string]any{"13-17": f.Young}); err != nil {
		return err
	}
	return curve.WriteJSON(filepath.Join(cfg.ModelsDir, inference.TailManifestName), tail)
}

// writeEstimates writes the estimates of some of the pictures into the file that a
// flag names, if it names one.
func writeEstimates(
	flag, path string, readings []accuracy.Reading, f accuracy.Fitted, of func(accuracy.Reading) bool,
) error {
	if path == "" {
		return nil
	}
	if err := terminal.PlaceFor(flag, path); err != nil {
		return err
	}
	file, err := os.Create(path) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	rows := [][]string{{"file", "age", "group", "collection", "in_training", "estimate"}}
	for _, r := range readings {
		if !of(r) {
			continue
		}
		collection := r.Collection
		if r.Altered != accuracy.Unaltered {
			collection += ", " + r.Altered + " drawn on"
		}
		years := strconv.FormatFloat(max(f.Years(r), 0), 'f', 1, 64)
		rows = append(rows, []string{r.Path, strconv.Itoa(r.Age), strings.Join(r.Groups, ";"), collection, r.Training,
			years})
	}
	return errors.Join(csv.NewWriter(file).WriteAll(rows), file.Close())
}
