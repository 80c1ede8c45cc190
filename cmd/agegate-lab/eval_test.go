package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision/visiontest"
	"agegate/internal/lab/accuracy"
	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"
)

// runFaces runs the program with the checkout's models and returns its output.
func runFaces(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut strings.Builder
	env := map[string]string{"AGEGATE_MODELS_DIR": filepath.Join(visiontest.Root(), "models")}
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	err = run(t.Context(), args, lookup, &out, &errOut)
	return out.String(), errOut.String(), err
}

func sampleFaces(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "28_sample.jpg"), visiontest.FaceJPEG(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEvalCommand(t *testing.T) {
	dir := sampleFaces(t)
	out, progress, err := runFaces(t, "eval", dir, "--target", "21", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var report accuracy.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Target != 21 || report.Pictures != 1 || report.Measured != 1 || report.Bands[0].MAE > 8 {
		t.Errorf("%+v", report)
	}
	if progress != "1 of 1 pictures\n" {
		t.Errorf("progress %q: the shipped tail needs no warning", progress)
	}
}

// TestEvalOfGivenEstimates reports on the estimates in a CSV file, as
// internal/tools/training/train.py writes them, without reading any picture.
func TestEvalOfGivenEstimates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "held_out.csv")
	text := "file,age,group,estimate\ngone.jpg,30,male;White,25\ngone.jpg,31,female,24.9\ngone.jpg,16,female,24.94\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := runFaces(t, "eval", path, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var report accuracy.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if passed := report.Pass[1].Shares[2]; passed.Count != 1 || passed.Of != 2 || len(report.Groups) != 3 ||
		report.Groups[2].Clear.Shares[2].Count != 1 {
		t.Errorf("%+v", report)
	}
	if out, _, err = runFaces(t, "eval", path); err != nil || !strings.Contains(out, "male, 25–35") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestEvalAltered adds a table of the effects of single alterations.
func TestEvalAltered(t *testing.T) {
	out, _, err := runFaces(t, "eval", sampleFaces(t), "--alter", "--target", "13")
	if err != nil || !strings.Contains(out, "ALTERED") || !strings.Contains(out, "glasses") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestEvalOfCollections: each collection has its own figures.
func TestEvalOfCollections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "held_out.csv")
	text := strings.Builder{}
	text.WriteString("file,age,collection,estimate\n")
	for i := range 20 {
		fmt.Fprintf(&text, "a.jpg,16,ours,%d\nb.jpg,30,ours,%d\nc.jpg,16,theirs,%d\nd.jpg,30,theirs,%d\n", 10+i/2, 30+i/2, 24,
			26)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := runFaces(t, "eval", path, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var report accuracy.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Parts) != 2 || report.Parts[0].Name != "ours" || report.Parts[0].Measured != 40 ||
		report.Parts[1].Separation.AUC != 1 {
		t.Errorf("%+v", report.Parts)
	}
	out, _, err = runFaces(t, "eval", "all="+path)
	if err != nil || strings.Contains(out, "OURS") {
		t.Errorf("one name for both: %v:\n%s", err, out)
	}
	if out, _, err = runFaces(t, "eval", path); err != nil || !strings.Contains(out, "OURS, 40 pictures") ||
		!strings.Contains(out, "1.000 (1.000–1.000)") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestEvalCurve: the counts are written to a file that names the models
// directory's files, and the shipped counts name the shipped models.
func TestEvalCurve(t *testing.T) {
	dir, models := t.TempDir(), filepath.Join(visiontest.Root(), "models")
	set, path := filepath.Join(dir, "held_out.csv"), filepath.Join(dir, curve.FileName)
	if err := os.WriteFile(set, []byte("file,age,estimate\na.jpg,30,25\nb.jpg,30,24.94\nc.jpg,16,31.2\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := runFaces(t, "eval", set, "--curve", path, "--name", "Three"); err != nil {
		t.Fatal(err)
	}
	manifest, err := inference.ReadManifest(models)
	if err != nil {
		t.Fatal(err)
	}
	estimator := age.Estimator(manifest)
	c := readCurve(t, dir)
	if c.Name != "Three" || c.Pictures() != 3 || c.Estimator != estimator {
		t.Fatalf("%+v", c)
	}
	table, err := os.ReadFile(filepath.Join(dir, evidence.TargetsFile))
	if err != nil || string(table) != string(measured.TargetsTable(c)) {
		t.Errorf("the table beside it: %v\n%s", err, table)
	}
	for cutoff, want := range map[float64]int64{24: 2, 25: 1, 26: 0} {
		if n, of := c.Passing(30, 30, cutoff); n != want || of != 2 {
			t.Errorf("%d of %d at %v, want %d", n, of, cutoff, want)
		}
	}
	tail := *manifest.Tail
	tail.Scale = append(inference.Scale{{Reading: 1, Years: 2}}, tail.Scale...)
	if age.Estimator(inference.Manifest{Models: manifest.Models, Tail: &tail}) == estimator {
		t.Error("the scale does not count for the estimator's fingerprint")
	}
	shipped := readCurve(t, models)
	if shipped.Estimator != estimator {
		t.Fatal("the shipped curve is about other models; make it again from held_out.csv as make train does")
	}
	if n, of := shipped.Passing(13, 17, 25); of < 100 || float64(n)/float64(of) > accuracy.MaxFalsePass {
		t.Errorf("%d of %d pass wrongly at the default margin", n, of)
	}
}

func readCurve(t *testing.T, dir string) *curve.Curve {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, curve.FileName))
	if err != nil {
		t.Fatal(err)
	}
	c, err := curve.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFitNeedsTeenagers: a single picture fits no scale, and changes no file.
func TestFitNeedsTeenagers(t *testing.T) {
	dir := sampleFaces(t)
	list := filepath.Join(dir, "pictures.csv")
	if err := os.WriteFile(list, []byte("file,age,pad,held\n28_sample.jpg,15,0.2,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := runFaces(t, "fit", list)
	if err == nil || !strings.Contains(err.Error(), "30 pictures of 13- to 17-year-olds") {
		t.Errorf("%v", err)
	}
}
