package accuracy

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"agegate/internal/lab/measured"
)

// TestCells: the counts match the samples, no cell has fewer than MinCount
// pictures, and the bounds contain the mean as often as they should.
func TestCells(t *testing.T) {
	var samples []Sample
	for i := range 40 {
		samples = append(samples, Sample{Age: 16, Groups: []string{[]string{"male", "female"}[i%2], "Black"}, Estimate: 20})
	}
	for range 19 {
		samples = append(samples, Sample{Age: 30, Groups: []string{"male"}, Estimate: 31})
	}
	type key struct {
		from, to   int
		sex, group string
		count      int
	}
	found := map[key]bool{}
	for _, c := range Cells(samples) {
		if c.From >= 25 {
			t.Errorf("%d pictures of %d to %d are counted", c.Count, c.From, c.To)
		}
		if c.MAE != (measured.Bounds{Value: 4, Low: 4, High: 4}) || c.Bias.Value != 4 {
			t.Errorf("%+v", c)
		}
		if n, ok := c.Passing.Reach(20); n != c.Count || !ok {
			t.Errorf("%d of %d pass at 20", n, c.Count)
		}
		if n, _ := c.Passing.Reach(21); n != 0 {
			t.Errorf("%d pass at 21", n)
		}
		found[key{c.From, c.To, c.Sex, c.Group, c.Count}] = true
	}
	for _, want := range []key{
		{16, 16, "", "", 40}, {16, 16, "female", "", 20}, {16, 17, "", "", 40}, {16, 17, "male", "Black", 20},
		{13, 17, "", "Black", 40},
	} {
		if !found[want] {
			t.Errorf("there is no %+v", want)
		}
	}
}

// TestBootstrap: about 95 % of the intervals from 300 samples of a known
// distribution contain its mean.
func TestBootstrap(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 0))
	held := 0
	const runs = 300
	for range runs {
		values := make([]float64, 60)
		for i := range values {
			values[i] = 2 + 3*random.NormFloat64()
		}
		b := bootstrap(values, func(v float64) float64 { return v })
		if b.Low <= 2 && 2 <= b.High {
			held++
		}
		if !(b.Low <= b.Value && b.Value <= b.High) || math.IsNaN(b.Value) {
			t.Fatalf("%+v", b)
		}
	}
	if share := float64(held) / runs; share < 0.90 || share > 0.98 {
		t.Errorf("%.3f of the intervals hold the mean", share)
	}
}

// TestCellsOfGroups: of a group and sex, few pictures of adults and minors are counted too,
// after the others; the cell where the fewest adults pass is the first.
func TestCellsOfGroups(t *testing.T) {
	var samples []Sample
	add := func(group string, n, pass int) {
		for i := range n {
			years := 20.0
			if i < pass {
				years = 30
			}
			samples = append(samples, Sample{Age: 27, Groups: []string{"female", group}, Estimate: years})
		}
	}
	add("Red", 4, 0)
	add("Green", 5, 0)
	add("Blue", 20, 10)
	add("White", 20, 5)
	var found []string
	for _, c := range Cells(samples) {
		if c.InGroup() {
			found = append(found, c.Group)
		}
	}
	if strings.Join(found, " ") != "White Blue Green" {
		t.Errorf("%v", found)
	}
}

// TestTrainingOf: a collection whose pictures are all held out is another part of one that
// is not, if their names are the same up to a comma.
func TestTrainingOf(t *testing.T) {
	found := TrainingOf([]Picture{{Collection: "A"}, {Collection: "A", Held: true}, {Collection: "A, May", Held: true},
		{Collection: "B", Held: true}})
	if len(found) != 2 || found["A"] != measured.Trained || found["A, May"] != measured.OtherPart {
		t.Errorf("%v", found)
	}
}
