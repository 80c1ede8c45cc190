package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"agegate/cmd/internal/terminal"
	"agegate/internal/check/document/portrait"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/lab/accuracy"
	"agegate/internal/lab/accuracy/specimen"
	"agegate/internal/lab/picture"

	"github.com/spf13/cobra"
)

func (c *cli) documentCommand() *cobra.Command {
	return terminal.Group("document", "Read identity documents from pictures, and measure how well",
		`Read the machine-readable zone of passports, identity cards and visas (TD1, TD2,
TD3, MRV-A, MRV-B) from pictures, and compare the faces of two. The commands work
on this machine alone: nothing is stored, logged or sent.`,
		documentReadCommand(), documentEvalCommand(), c.documentMatchCommand())
}

const picturesHelp = `Pictures are JPEG, PNG, GIF, WebP, BMP or TIFF, turned in any way. A directory is
searched recursively; hidden files are skipped.`

func documentReadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "read FILE|DIR",
		Short: "Print the dates and the issuing state of documents in pictures",
		Long: "Print one line for each picture: the format of its machine-readable zone, whether\n" +
			"it is valid, the birth and expiry dates, the issuing state, and what is wrong.\n" +
			"A zone is valid if its format, its check digits and its dates are correct; the\n" +
			"command does not judge whether the document is genuine or expired. It prints nothing\n" +
			"else about the person.\n\n" +
			picturesHelp + "\n\nA picture without a zone is no error: its line says so.",
		Example: `  agegate-lab document read passport.jpg
  agegate-lab document read --json pictures/ | jq 'select(.valid)'`,
		Args: onePicture,
	}
	out := terminal.OutputFlag(cmd, "one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return specimen.Each(cmd.Context(), args[0], func(read specimen.Read) error {
			if out.JSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetEscapeHTML(false)
				return encoder.Encode(read)
			}
			return writeRead(cmd.OutOrStdout(), read)
		})
	}
	return cmd
}

func documentEvalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval DIR",
		Short: "Measure how many documents are read, on labelled pictures",
		Long: "Measure how many pictures of documents are read with the right birth date, and how\n" +
			"many with a wrong one, with 95 % intervals. The name of every picture begins with\n" +
			"the birth date, such as 19740812_a.jpg.\n\n" + picturesHelp,
		Args: onePicture,
	}
	out := terminal.OutputFlag(cmd, terminal.OneObject)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		report, err := specimen.Evaluate(cmd.Context(), args[0], progress(cmd.ErrOrStderr()))
		if err != nil {
			return err
		}
		return out.Print(report, report.WriteText)
	}
	return cmd
}

func (c *cli) documentMatchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "match A B",
		Short: "Compare the faces in two pictures, such as a document's portrait and a selfie",
		Long: `Compare the faces in two pictures, such as a document's portrait and a selfie. The
similarity is in standard deviations above the mean of strangers of one sex: around 0
for strangers, 8 for two copies of a picture; match says whether it reaches the
threshold. That stops most strangers' documents, not those of brothers, sisters and
look-alikes: it is no proof of identity.`,
		Example: "  agegate-lab document match portrait.jpg selfie.jpg --json",
		Args:    arguments(2, 2, "give exactly two pictures"),
	}
	out := terminal.OutputFlag(cmd, terminal.OneObject)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withModels(cmd.ErrOrStderr(), func(p *inference.Pool, _ accuracy.Options) error {
			reference, err := portrait.Load(p.Manifest)
			if err != nil {
				return err
			}
			analyzer := vision.NewAnalyzer(p)
			var faces [2]*vision.Features
			for i, path := range args {
				img, err := picture.Open(path)
				if err != nil {
					return err
				}
				if faces[i], err = picture.Find(cmd.Context(), analyzer, img); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			similarity := reference.Similarity(faces[0], faces[1])
			match, verdict := reference.Match(similarity), "no match"
			if match {
				verdict = "match"
			}
			return out.Print(struct {
				Similarity float64 `json:"similarity"`
				Match      bool    `json:"match"`
			}{similarity, match}, func(w io.Writer) {
				fmt.Fprintf(w, "%s: similarity %.3f, threshold %.3f\n", verdict, similarity, reference.Threshold)
			})
		})
	}
	return cmd
}

// writeRead prints the line for a picture as text.
func writeRead(w io.Writer, read specimen.Read) error {
	text := func(value *string) string {
		if value == nil {
			return "-"
		}
		return *value
	}
	verdict := "valid"
	if !read.Valid {
		verdict = "not valid"
	}
	if len(read.Reasons) > 0 {
		verdict += " (" + strings.Join(read.Reasons, ", ") + ")"
	}
	_, err := fmt.Fprintf(w, "%s: %s, born %s, expires %s, issued by %s, %s\n", read.File, text(read.Format),
		text(read.BirthDate), text(read.ExpiryDate), text(read.IssuingState), verdict)
	return err
}

// onePicture requires the one argument that names a picture or a directory.
var onePicture = arguments(1, 1, "give exactly one picture or directory of pictures")

// arguments requires a number of arguments, or else says what to give.
func arguments(least, most int, otherwise string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return errors.New(otherwise)
		}
		return nil
	}
}
