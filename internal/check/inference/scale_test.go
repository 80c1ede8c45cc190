package inference

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestScaleKnownAnswers(t *testing.T) {
	scale := Scale{{10, 10}, {28, 25}, {55, 55}}
	rows := []struct {
		scale         Scale
		reading, want float64
	}{
		{nil, 31.5, 31.5},
		{scale, 3, 3},
		{scale, 10, 10},
		{scale, 19, 17.5},
		{scale, 28, 25},
		{scale, 41.5, 40},
		{scale, 55, 55},
		{scale, 80, 80},
		{Scale{{30, 25}}, 20, 15},
		{Scale{{30, 25}}, 60, 55},
	}
	for _, row := range rows {
		if got := row.scale.Years(row.reading); math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%v of %v: %v, want %v", row.reading, row.scale, got, row.want)
		}
	}
	if got := scale.Years(math.NaN()); !math.IsNaN(got) {
		t.Errorf("no number became %v", got)
	}
}

// TestScaleRises: a higher reading never gives fewer years.
func TestScaleRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var scale Scale
		last := ScalePoint{}
		for range rapid.IntRange(0, 5).Draw(t, "points") {
			last.Reading += rapid.Float64Range(0.1, 20).Draw(t, "reading")
			last.Years += rapid.Float64Range(0.1, 20).Draw(t, "years")
			scale = append(scale, last)
		}
		if err := scale.check(); err != nil {
			t.Fatal(err)
		}
		low := rapid.Float64Range(0, 100).Draw(t, "low")
		high := low + rapid.Float64Range(0, 20).Draw(t, "more")
		if scale.Years(low) > scale.Years(high)+1e-9 {
			t.Fatalf("%v gives %v, %v gives %v", low, scale.Years(low), high, scale.Years(high))
		}
	})
}

func TestScaleRefused(t *testing.T) {
	for name, scale := range map[string]Scale{
		"falls":            {{20, 25}, {30, 24}},
		"one reading":      {{20, 20}, {20, 25}},
		"below birth":      {{-1, 0}},
		"beyond all ages":  {{20, 121}},
		"no number":        {{math.NaN(), 20}},
		"no end of years":  {{20, math.Inf(1)}},
		"readings descend": {{30, 20}, {20, 25}},
	} {
		if err := scale.check(); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
