package measured_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"
)

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTablesAreOfTheirSources: what packs of evidence include is written from what was
// measured. If it fails, run make generate.
func TestTablesAreOfTheirSources(t *testing.T) {
	f, err := measured.ParseFairness(read(t, "models", measured.FairnessFile))
	if err != nil {
		t.Fatal(err)
	}
	c, err := curve.Parse(read(t, "models", curve.FileName))
	if err != nil {
		t.Fatal(err)
	}
	same := func(made []byte, path ...string) {
		if string(made) != string(read(t, path...)) {
			t.Errorf("%s differs from its source", filepath.Join(path...))
		}
	}
	same(measured.Accuracy(*f), "models", evidence.AccuracyFile)
	same(measured.TargetsTable(c), "models", evidence.TargetsFile)
	released, err := measured.Release()
	if err != nil {
		t.Fatal(err)
	}
	for name, made := range released {
		same(made, "internal", "backoffice", "evidence", "measured", name)
	}
	shipped, err := os.ReadDir("../../backoffice/evidence/measured")
	if err != nil || len(shipped) != len(released) {
		t.Errorf("%d files are embedded, and %d have a source: %v", len(shipped), len(released), err)
	}
	about := evidence.Installation{Estimator: c.Estimator}
	if err := about.Measured("../../../models"); err != nil || about.Accuracy == nil || about.Targets == nil {
		t.Errorf("the shipped tables are not read: %v", err)
	}
}

// byAge returns a curve by which one in twenty of each age is estimated eight years
// too old. Of people of 20 it has ten pictures.
func byAge() *curve.Curve {
	c := &curve.Curve{Format: curve.Format, Estimator: "e1", Name: "Utopians"}
	for years := 8; years <= 40; years++ {
		a := curve.Age{Years: years}
		for i := range 20 {
			if i == 0 {
				a.Add(float64(years + 8))
			} else if years != 20 || i < 10 {
				a.Add(float64(years))
			}
		}
		c.Ages = append(c.Ages, a)
	}
	return c
}

// TestTargetsTable: the table has the shares and bounds of the curve's counts at each
// margin, and none of fewer than evidence.MinCount pictures.
func TestTargetsTable(t *testing.T) {
	text := string(measured.TargetsTable(byAge()))
	for _, row := range []string{
		",e1,16,7,23,11,15,100,1.0,0.2,5.4,5\n", ",e1,16,7,23,15,15,20,5.0,0.9,23.6,\n", ",e1,13,7,20,13,17,100,5.0,",
		",e1,21,7,28,20,20,under 20,,,,\n", ",e1,16,0,16,15,15,20,5.0,", ",e1,16,20,36,11,15,100,0.0,",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("no row has %q", row)
		}
	}
}

// TestMeasured: each fault of a models directory's table has its own error.
func TestMeasured(t *testing.T) {
	counts := make(curve.Counts, evidence.HighestCutoff-evidence.LowestCutoff+1)
	cells := []measured.Cell{{From: 13, To: 17, Count: 30, Passing: counts}}
	f := measured.Fairness{Format: 1, Estimator: "e1", Collections: []measured.Collection{{Name: "=faces", Cells: cells}}}
	good := string(measured.Accuracy(f))
	if !strings.Contains(good, "\n'=faces,") {
		t.Errorf("a spreadsheet computes a name:\n%s", good)
	}
	for name, tt := range map[string]struct{ text, problem string }{
		"as it is":     {good, ""},
		"another one":  {strings.Replace(good, ",e1,", ",e2,", 1), "another estimator"},
		"no rows":      {good[:strings.Index(good, "\n")+1], "no rows"},
		"no columns":   {strings.Replace(good, "pictures", "photos", 1), "other columns"},
		"no number":    {strings.Replace(good, ",30,", ",x,", 1), "row 1"},
		"rising":       {strings.Replace(good, ",0\n", ",1\n", 1), "rise"},
		"more columns": {strings.Replace(good, ",0\n", ",0,0\n", 1), "wrong number of fields"},
	} {
		_, err := evidence.ParseAccuracy([]byte(tt.text), "e1")
		if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	about := evidence.Installation{Estimator: "e1"}
	if err := about.Measured(t.TempDir()); !errors.Is(err, evidence.ErrUnmeasured) {
		t.Errorf("no file: %v", err)
	}
}
