package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"
)

// sample is a collection with one group and a year that only women have.
func sample() measured.Fairness {
	passing := make(curve.Counts, evidence.HighestCutoff-evidence.LowestCutoff+1)
	for at := range passing {
		passing[at] = 30 - min(at, 30)
	}
	of := func(from, to int, sex, group string) measured.Cell {
		return measured.Cell{From: from, To: to, Sex: sex, Group: group, Count: 40, Passing: passing,
			MAE: measured.Bounds{Value: 4.25, Low: 3, High: 12}, Bias: measured.Bounds{Value: -.01, Low: -1, High: 1}}
	}
	small := of(25, 35, "male", "Blue")
	small.Count, small.Passing = 7, slices.Repeat([]int{1}, len(passing))
	return measured.Fairness{Estimator: "e", Collections: []measured.Collection{{
		Name: "Faces <&> more", MadeAt: time.Unix(0, 0).UTC(), Pictures: 90, Training: measured.Untrained,
		Cells: []measured.Cell{of(13, 17, "", ""), of(25, 35, "female", "Blue"), of(20, 20, "female", ""), small},
	}}}
}

func TestPictures(t *testing.T) {
	for _, theme := range themes {
		for name, picture := range map[string][]byte{"years": yearsPicture(sample(), theme),
			"groups": groupsPicture(sample(), theme)} {
			reader, words := xml.NewDecoder(strings.NewReader(string(picture))), ""
			for {
				token, err := reader.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s, %s: %v", name, theme.name, err)
				}
				if text, ok := token.(xml.CharData); ok {
					words += string(text)
				}
			}
			if !strings.Contains(words, "Faces <&> more") || !strings.Contains(words, "n < 20") ||
				name == "groups" && (!strings.Contains(words, "n < 5") || !strings.Contains(words, "too few to say")) ||
				!strings.Contains(words, "for each collection") {
				t.Errorf("%s, %s: %s", name, theme.name, words)
			}
			if strings.Contains(string(picture), "href") {
				t.Errorf("%s, %s: a request to elsewhere", name, theme.name)
			}
		}
	}
}

// sampleCurve has 40 pictures of 17-year-olds, of whom 10 are estimated at 25.5
// years.
func sampleCurve() *curve.Curve {
	of := curve.Age{Years: 17}
	for i := range 40 {
		of.Add([]float64{25.5, 15, 15, 15}[i%4])
	}
	return &curve.Curve{Ages: []curve.Age{of}}
}

// The tables contain the drawn numbers: 15 of 40 pass at 25 years.
func TestTables(t *testing.T) {
	text := string(generated(sample(), sampleCurve()))
	if text := string(strangers(sample())); !strings.Contains(text,
		"| Blue, men | 14.3 (2.6–51.3) of 7 (too few to say) | n < 5 |") {
		t.Error(text)
	}
	f := sample()
	for _, group := range []string{"Grey", "Pink", "Red", "White"} { // all as far off, so in this order after Blue
		adults := f.Collections[0].Cells[1]
		adults.Sex, adults.Group = "male", group
		f.Collections[0].Cells = append(f.Collections[0].Cells, adults)
	}
	minors := f.Collections[0].Cells[0]
	minors.Sex, minors.Group, minors.Count = "male", "White", 20 // of whom more pass
	f.Collections[0].Cells = append(f.Collections[0].Cells, minors)
	if text := string(strangers(f)); strings.Contains(text, "Red") || !strings.Contains(text, "White, men") ||
		strings.Count(text, "\n") != 7 {
		t.Error(text)
	}
	for _, want := range []string{
		"| 13 to 17 | 25.0 (14.2–40.2) | 40 |\n| 18 to 24 | 0.0 (0.0–100.0) | 0 |",
		"| all | no | < 20 | – | – | – | 40 | 37.5 (24.2–53.0) | 4.3 (3.0 to 12.0) | 0.0 (-1.0 to +1.0) |\n" +
			"| Blue, women | no | 40 | 37.5 (24.2–53.0) |",
		"| Blue, men | no | 7 (too few to say) | 14.3 (2.6–51.3) | 4.3 (3.0 to 12.0) | 0.0 (-1.0 to +1.0) | < 5 | – |",
		"| 20 | < 20 | – | 40 | 4.3 (3.0 to 12.0) | < 20 | – |",
		"| 16 | 23 | 0 | 0.0 (0.0–100.0) | 40 | 25.0 (14.2–40.2) | 0 |",
		"| 18 | 25 | 40 | 25.0 (14.2–40.2) | 0 | 0.0 (0.0–100.0) | 8 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
