package glyph

import (
	"image"
	"math"
	"strings"
	"testing"
)

// TestTrained: the embedded weights are complete and give probabilities.
func TestTrained(t *testing.T) {
	w, err := Trained()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, group := range w.Groups() {
		for _, v := range group {
			count++
			if math.IsNaN(float64(v)) || math.Abs(float64(v)) > 100 {
				t.Fatalf("a weight is %f", v)
			}
		}
	}
	if count != 48_550 {
		t.Errorf("%d weights", count)
	}
	var a Activations
	var blank Cell
	w.Run(&blank, &a)
	var sum float64
	for _, log := range a.Logs {
		sum += math.Exp(float64(log))
	}
	if math.Abs(sum-1) > 1e-4 {
		t.Errorf("probabilities sum to %f", sum)
	}
	if math.Exp(float64(a.Logs[Junk])) < 0.9 {
		t.Errorf("blank paper is junk with %.2f only", math.Exp(float64(a.Logs[Junk])))
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		``:                          "unexpected end",
		`{"weights": []}`:           "0 groups",
		`{"weights": [[1]]}`:        "1 groups",
		`{"weights": [["a"]]}`:      "cannot unmarshal",
		whole(`[1]`):                "group 0 has 1 numbers, want 16",
		whole(`null`):               "group 0 has 0 numbers",
		whole(`[` + ones(17) + `]`): "group 0 has 17 numbers",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", text, err, want)
		}
	}
}

// whole returns a file with the right number of groups, each with the given text.
func whole(group string) string {
	n := len(new(Weights).Groups())
	return `{"weights": [` + strings.TrimSuffix(strings.Repeat(group+",", n), ",") + `]}`
}

func ones(n int) string { return strings.TrimSuffix(strings.Repeat("1,", n), ",") }

// TestSample reads a cell of a picture that is dark to the right, for each
// direction of the line.
func TestSample(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 100, 100))
	for i := range img.Pix {
		img.Pix[i] = uint8(250 - 2*(i%100))
	}
	const middle = Height / 2 * Width
	for name, row := range map[string]struct {
		place       Place
		left, right float32 // in the middle row: darker is greater
		top, bottom float32 // in the middle column
	}{
		"along the rows":  {Place{50, 50, 20, 0, 0, 20}, -1, 1, 0, 0},
		"upside down":     {Place{50, 50, -20, 0, 0, -20}, 1, -1, 0, 0},
		"downwards":       {Place{50, 50, 0, 20, -20, 0}, 0, 0, 1, -1},
		"coarse":          {Place{50, 50, 60, 0, 0, 60}, -1, 1, 0, 0},
		"over the border": {Place{95, 50, 60, 0, 0, 60}, -1, 0.4, 0.4, 0.4},
	} {
		var cell Cell
		Sample(img, row.place, &cell)
		for part, pair := range map[string][2]float32{
			"left": {row.left, cell[middle]}, "right": {row.right, cell[middle+Width-1]},
			"top": {row.top, cell[Width/2]}, "bottom": {row.bottom, cell[(Height-1)*Width+Width/2]},
		} {
			want, got := pair[0], pair[1]
			if want == 0 && (got < -0.3 || got > 0.3) || want < 0 && got > want || want > 0 && got < want {
				t.Errorf("%s: %s is %.2f", name, part, got)
			}
		}
	}
}

// TestSampleBlank: noise does not count as ink.
func TestSampleBlank(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 60, 60))
	for i := range img.Pix {
		img.Pix[i] = uint8(200 + i%2)
	}
	var cell Cell
	Sample(img, Place{30, 30, 20, 0, 0, 20}, &cell)
	for _, v := range cell {
		if v < -0.2 || v > 0.2 {
			t.Fatalf("a sample of blank paper is %.2f", v)
		}
	}
}
