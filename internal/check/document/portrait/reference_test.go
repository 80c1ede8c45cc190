package portrait

import (
	"errors"
	"math"
	"testing"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

// TestCosine: the cosine is that of the descriptors without what is common: the mean,
// and what lies in the directions of groups.
func TestCosine(t *testing.T) {
	face := func(x, y, group float32) *vision.Features {
		f := new(vision.Features)
		for i := range f.Whole.Descriptor {
			f.Whole.Descriptor[i] = 5 // the mean, which all faces share
		}
		f.Whole.Descriptor[0] += x
		f.Whole.Descriptor[1] += y
		f.Whole.Descriptor[2] += group
		return f
	}
	var r Reference
	for i := range r.Common.Mean {
		r.Common.Mean[i] = 5
	}
	r.Common.Groups = []vision.Vector{{2: 1}}
	a := face(1, 0, 0)
	for _, row := range []struct {
		b    *vision.Features
		want float64
	}{
		{a, 1},
		{face(3, 0, 9), 1},
		{face(0, 1, 0), 0},
		{face(-1, 0, 7), -1},
		{face(1, 1, 0), math.Sqrt(0.5)},
	} {
		if got := r.Cosine(a, row.b); math.Abs(got-row.want) > 1e-5 || got != r.Cosine(row.b, a) {
			t.Errorf("got %f, want %f", got, row.want)
		}
	}
}

// TestSimilarity: both opinions count in standard deviations of strangers, that of
// the matcher twice.
func TestSimilarity(t *testing.T) {
	r := Reference{Stock: Spread{0.1, 0.2}, Matcher: Spread{-0.8, 0.1}}
	face := func(x, y float32) *vision.Features {
		f := &vision.Features{Identity: new([inference.IdentitySize]float32)}
		f.Whole.Descriptor[0] = 1
		f.Identity[0], f.Identity[1] = x, y
		return f
	}
	got := r.Similarity(face(0, 0), face(0.3, 0.4)) // cosine 1, distance 0.5
	if want := ((1-0.1)/0.2 + 2*(-0.5+0.8)/0.1) / 3; math.Abs(got-want) > 1e-5 {
		t.Errorf("got %f, want %f", got, want)
	}
}

// TestCrowd: two faces that many strangers resemble must be more similar, by the smaller
// excess of the two; one such face changes nothing.
func TestCrowd(t *testing.T) {
	r := Reference{Stock: Spread{Deviation: 1}, Matcher: Spread{Deviation: 1}}
	r.Crowd[0], r.Crowd[inference.IdentitySize] = 2, -1
	face := func(excess float32) *vision.Features {
		return &vision.Features{Identity: &[inference.IdentitySize]float32{(excess + 1) / 2}}
	}
	for _, row := range []struct{ a, b, less float64 }{
		{-1, -1, 0}, {-1, 3, 0}, {0.5, 3, 0.5}, {3, 1, 1},
	} {
		a, b := face(float32(row.a)), face(float32(row.b))
		if got := r.Join(r.Cosine(a, b), Distance(a, b), 0) - r.Similarity(a, b); math.Abs(got-row.less) > 1e-5 ||
			r.Similarity(a, b) != r.Similarity(b, a) {
			t.Errorf("excess %g and %g: less by %f, want %g", row.a, row.b, got, row.less)
		}
	}
}

// TestLoad: the reference is valid only for the models it was fitted on, with the
// matcher among them.
func TestLoad(t *testing.T) {
	manifest := visiontest.Pool(t).Manifest
	r, err := Load(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if r.Crowd[0] == 0 || r.Crowd[inference.IdentitySize] == 0 {
		t.Error("the reference says nothing of crowds")
	}
	if r.Threshold <= 0 || r.Stock.Deviation <= 0 || r.Matcher.Deviation <= 0 || r.Origin == "" {
		t.Errorf("threshold %f of %q", r.Threshold, r.Origin)
	}
	for want, models := range map[error]map[inference.Model]inference.File{
		ErrOtherModels: {inference.Ager: {SHA256: "00"}, inference.Matcher: manifest.Models[inference.Matcher]},
		ErrNoMatcher:   {inference.Ager: manifest.Models[inference.Ager]},
	} {
		if _, err := Load(inference.Manifest{Models: models}); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}
