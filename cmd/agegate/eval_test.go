package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/accuracy"
	"agegate/internal/vision/visiontest"
)

// runFaces runs the program over the checkout's models and returns what it
// printed.
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
	plot := filepath.Join(dir, "plot.svg")
	out, progress, err := runFaces(t, "eval", dir, "--target", "21", "--svg", plot, "--json")
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
		t.Errorf("progress %q: the shipped calibration needs no warning", progress)
	}
	if text, err := os.ReadFile(plot); err != nil || !strings.HasPrefix(string(text), "<svg ") {
		t.Errorf("plot: %v", err)
	}
}

func TestCalibrateRefusesFewPictures(t *testing.T) {
	out := filepath.Join(t.TempDir(), "calibration.json")
	if _, _, err := runFaces(t, "calibrate", sampleFaces(t), "--out", out); err == nil || !strings.Contains(err.Error(), "at least 200 pictures") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused calibrate left a file")
	}
}
