package accuracy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"
)

// TestShippedFairness: the shipped figures by sex and group come from the same
// pictures and estimator as the shipped curve, which has no altered copies.
func TestShippedFairness(t *testing.T) {
	models := filepath.Join("..", "..", "..", "models")
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(models, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	of, err := curve.Parse(read(curve.FileName))
	if err != nil {
		t.Fatal(err)
	}
	f, err := measured.ParseFairness(read(measured.FairnessFile))
	if err != nil {
		t.Fatal(err)
	}
	if f.Estimator != of.Estimator {
		t.Error("they are of two estimators")
	}
	f.Collections = slices.DeleteFunc(f.Collections, func(c measured.Collection) bool {
		return strings.HasSuffix(c.Name, "drawn on")
	})
	pictures := 0
	for _, c := range f.Collections {
		pictures += c.Pictures
	}
	if pictures != of.Pictures() {
		t.Errorf("%d pictures, and %d of the curve", pictures, of.Pictures())
	}
	for _, ages := range [][2]int{{13, 17}, {25, 35}, {36, 50}} {
		for cutoff := 21; cutoff <= 28; cutoff++ {
			var passes, count int64
			for _, c := range f.Collections {
				for _, cell := range c.Cells {
					if cell.From == ages[0] && cell.To == ages[1] && cell.Sex == "" && cell.Group == "" {
						n, _ := cell.Passing.Reach(float64(cutoff))
						passes, count = passes+int64(n), count+int64(cell.Count)
					}
				}
			}
			if n, all := of.Passing(ages[0], ages[1], float64(cutoff)); n != passes || all != count {
				t.Errorf("ages %v at %d: %d of %d, and %d of %d of the curve", ages, cutoff, passes, count, n, all)
			}
		}
	}
}
