package attack_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/vision/visiontest"
	"agegate/proof/attack"
)

// TestRange plays one presentation of every kind; make attack plays more. No attack
// passes, and of the honest persons, who may need another try, nearly all do.
func TestRange(t *testing.T) {
	rows, err := attack.Range(t.Context(), visiontest.Pool(t), "", 1, 1, time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 20 {
		t.Fatalf("%d rows", len(rows))
	}
	honest, failed := 0, 0
	for _, r := range rows {
		if r.N != 1 || r.Accepted+r.Spoof+r.NoCapture+r.Ended != r.N {
			t.Errorf("%+v does not add up", r)
		}
		switch {
		case r.BonaFide:
			honest, failed = honest+1, failed+r.Errors()
		case !r.Beyond && r.Errors() > 0:
			t.Errorf("%s: %+v", r.Species, r)
		}
	}
	if failed > honest/10 {
		t.Errorf("%d of %d honest persons failed", failed, honest)
	}
	var table strings.Builder
	if err := attack.Write(&table, rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !strings.Contains(table.String(), r.Species) {
			t.Errorf("the table lacks %q", r.Species)
		}
	}
}

// TestInterval: published values of the Clopper-Pearson interval.
func TestInterval(t *testing.T) {
	rows := []struct {
		errors, n int
		low, high float64
	}{
		{0, 10, 0, 0.3085}, {1, 10, 0.0025, 0.4450}, {5, 10, 0.1871, 0.8129}, {10, 10, 0.6915, 1}, {0, 60, 0, 0.0596},
	}
	for _, row := range rows {
		low, high := attack.Row{N: row.n, Accepted: row.errors}.Interval()
		if math.Abs(low-row.low) > 1e-4 || math.Abs(high-row.high) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", row.errors, row.n, low, high, row.low, row.high)
		}
	}
}

// TestErrors: an accepted attack is an error; so is a person who is refused or
// gets no result.
func TestErrors(t *testing.T) {
	rows := []struct {
		row  attack.Row
		want int
		met  bool
	}{
		{attack.Row{Goal: 0.05, N: 40, Accepted: 2, Spoof: 38}, 2, true},
		{attack.Row{Goal: 0.05, N: 40, Accepted: 3, Spoof: 37}, 3, false},
		{attack.Row{Goal: -1, N: 40, Accepted: 1}, 1, false},
		{attack.Row{Goal: -1, N: 40, NoCapture: 40}, 0, true},
		{attack.Row{Goal: 0.05, BonaFide: true, N: 40, Accepted: 38, Spoof: 1, NoCapture: 1}, 2, true},
		{attack.Row{Goal: 0.05, BonaFide: true, N: 40, Accepted: 37, NoCapture: 3}, 3, false},
		{attack.Row{Beyond: true, N: 40, Accepted: 40}, 40, true},
	}
	for _, row := range rows {
		if row.row.Errors() != row.want || row.row.Met() != row.met {
			t.Errorf("%+v: %d errors, met %v", row.row, row.row.Errors(), row.row.Met())
		}
	}
}
