package main

import (
	"fmt"

	"agegate/cmd/internal/terminal"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/lab/accuracy"

	"github.com/spf13/cobra"
)

func (c *cli) cropsCommand() *cobra.Command {
	var out string
	var whole []string
	var pads []float64
	cmd := &cobra.Command{
		Use:   "crops [NAME=]CSV|DIR... --out DIR",
		Short: "Cut the faces out of labelled pictures, to train the age estimate on",
		Long: "Cut the faces out of labelled pictures as the page sees them, and write them into a\n" +
			"directory that internal/tools/training/train.py learns from: 235 kB a picture. Near\n" +
			"copies of one picture are held out of the training, or not, together. make train\n" +
			"runs this first.\n\n" + facesHelp +
			"\n\nThe directory holds faces: treat it as you treat the pictures, and delete it when\nthe training is done.",
		Args: someSets,
	}
	cmd.Flags().StringVar(&out, "out", "", "directory to write into")
	cmd.Flags().StringArrayVar(&whole, "hold-out", nil,
		"collection to hold out as a whole: a source that the training does not see")
	addPadFlag(cmd, &pads)
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := terminal.PlaceFor("--out", out); err != nil {
			return err
		}
		set, err := readSets(args, pads)
		if err != nil {
			return err
		}
		return c.withModels(cmd.ErrOrStderr(), func(p *inference.Pool, o accuracy.Options) error {
			wrote, err := accuracy.WriteMaterial(cmd.Context(), vision.NewAnalyzer(p), set, whole, out, o)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Wrote the faces of %d of %d pictures into %s.\n", wrote, len(set), out)
			return nil
		})
	}
	return cmd
}
