package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/backoffice/evidence"
	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/lab/accuracy"
	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"

	"github.com/spf13/cobra"
)

// facesHelp describes the sets that eval and crops read.
const facesHelp = `A set is a CSV file with the columns file, age and optionally group and collection,
or a directory of JPEG and PNG pictures whose names begin with the age. Names such
as 25_0_1_a.jpg, as UTKFace has them, give groups too. EXIF rotation is applied.
With several sets, or collections in a CSV file, figures are given for each; a set
may be named, as in shops=DIR.`

func (c *cli) evalCommand() *cobra.Command {
	var target int
	var pads []float64
	var alter, crop bool
	var curve curveFlags
	cmd := &cobra.Command{
		Use:   "eval [NAME=]CSV|DIR...",
		Short: "Measure the age estimate on labelled face pictures",
		Long: "Measure the age estimate on labelled face pictures: errors by age, who passes at\n" +
			"which margin, and the margin to set.\n\n" + facesHelp +
			"\n\n" +
			"Each picture goes through the page's own pipeline as a single frame. The page\n" +
			"itself takes the median over several frames and judges liveness too. Pictures that\n" +
			"the estimate was fitted on make it look better than it is. A CSV file with a column\n" +
			"estimate is reported on as it is, without a look at the pictures.\n\n" +
			"With --curve it also writes how many pictures of each age reach each cutoff, and\n" +
			"with --fairness the figures by age, sex and group. Beside them it writes " + evidence.TargetsFile + "\nand " +
			evidence.AccuracyFile + ", which packs of evidence include from the models directory, for the\nfiles there " +
			"that estimate, and for no others. A CSV file must then hold what those\nfiles say of pictures that " +
			"they had not seen, as make train does it.",
		Args: someSets,
	}
	cmd.Flags().IntVar(&target, "target", 18, "target age that the pass rates are about, 13 to 99")
	addPadFlag(cmd, &pads)
	cmd.Flags().BoolVar(&alter, "alter", false,
		`also look at every picture altered in each of several ways: grey, in dim light,
with glasses and so on; takes 20 times as long`)
	cmd.Flags().BoolVar(&crop, "crop", false,
		"cut closer to a face that the page would refuse as too far away or off centre, as in\n"+
			"pictures down to the waist")
	out := terminal.OutputFlag(cmd, terminal.OneObject)
	cmd.Flags().StringVar(&curve.path, "curve", "",
		"also write how many pictures of each age reach each cutoff into this file, and\nwho passes into "+
			evidence.TargetsFile+" beside it")
	cmd.Flags().StringVar(&curve.fairness, "fairness", "",
		`also put the figures by age, sex and group into this file, in place of older ones
of the same set, and write `+evidence.AccuracyFile+" beside it")
	cmd.Flags().StringVar(&curve.name, "name", "",
		"name of the set, stored with the curve and the figures (default: its file name)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if target < 13 || target > 99 {
			return errors.New("--target must be from 13 to 99")
		}
		err := errors.Join(terminal.PlaceFor("--curve", curve.path), terminal.PlaceFor("--fairness", curve.fairness))
		if err != nil {
			return err
		}
		set, err := readSets(args, pads)
		if err != nil {
			return err
		}
		write := func(report accuracy.Report, err error) error {
			if err != nil {
				return err
			}
			return errors.Join(c.writeCurve(curve, args, report), out.Print(report, report.WriteText))
		}
		if set[0].Estimate != nil {
			return write(accuracy.Given(set, target))
		}
		return c.withModels(cmd.ErrOrStderr(), func(p *inference.Pool, o accuracy.Options) error {
			o.Crop = crop
			return write(measure(cmd, p, set, o, target, alter))
		})
	}
	return cmd
}

// measure runs the estimator of the models directory over the set, and over
// altered pictures if asked to, and returns the report.
func measure(
	cmd *cobra.Command, p *inference.Pool, set []accuracy.Picture, o accuracy.Options, target int, alter bool,
) (accuracy.Report, error) {
	head := age.NewHead(p.Manifest)
	if p.Manifest.Tail == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning: there is no fine-tuned tail: teenagers are estimated years too old")
	}
	analyzer := vision.NewAnalyzer(p)
	looks, err := accuracy.LookAt(cmd.Context(), analyzer, set, o)
	if err != nil {
		return accuracy.Report{}, err
	}
	report := accuracy.Evaluate(looks, head, target)
	if alter {
		fmt.Fprintln(cmd.ErrOrStderr(), "looking at them altered")
		report.Altered, err = accuracy.EvaluateAltered(cmd.Context(), analyzer, head, set, o, target)
	}
	return report, err
}

// someSets requires an argument that names a set of pictures.
var someSets = arguments(1, math.MaxInt, "give at least one CSV file or directory of labelled pictures")

func addPadFlag(cmd *cobra.Command, pads *[]float64) {
	cmd.Flags().Float64SliceVar(pads, "pad", []float64{0.2},
		`grey border around each picture, as a fraction of its size: face sets are
often cropped too tightly for a detector; 0 for uncropped pictures; one value,
or one for each set`)
}

// readSets reads the sets and checks their pads.
func readSets(paths []string, pads []float64) ([]accuracy.Picture, error) {
	for _, pad := range pads {
		if !(pad >= 0 && pad <= 2) {
			return nil, errors.New("--pad must be from 0 to 2")
		}
	}
	return accuracy.ReadSets(paths, pads)
}

// withModels runs fn with the configured models and number of workers, and
// progress on errOut.
func (c *cli) withModels(errOut io.Writer, fn func(*inference.Pool, accuracy.Options) error) (err error) {
	cfg, err := c.load()
	if err != nil {
		return err
	}
	pool, err := inference.Open(cfg.ModelsDir, cfg.InferenceWorkers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	return fn(pool, accuracy.Options{Workers: cfg.InferenceWorkers, Progress: progress(errOut)})
}

// progress prints how many pictures are done, at most every two seconds.
func progress(w io.Writer) func(done, total int) {
	var last time.Time
	return func(done, total int) {
		if done < total && time.Since(last) < 2*time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "%d of %d pictures\n", done, total)
	}
}

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
	return errors.Join(curve.WriteJSON(f.fairness, all),
		writeTable(measured.Beside(f.fairness, evidence.AccuracyFile), measured.Accuracy(all)))
}

// writeTable writes a table that packs of evidence include.
func writeTable(path string, text []byte) error {
	return os.WriteFile(path, text, 0o644) //nolint:gosec // public, as the file beside it
}
