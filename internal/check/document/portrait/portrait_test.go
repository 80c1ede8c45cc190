package portrait

import (
	"errors"
	"image"
	"image/draw"
	"math"
	"testing"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"

	xdraw "golang.org/x/image/draw"
)

// TestFind: the face is found in any rotation by quarter turns, even if it is
// small in a large picture, and all results match as the same person. Strips of a
// face and pictures without a face are refused.
func TestFind(t *testing.T) {
	pool := visiontest.Pool(t)
	analyzer := vision.NewAnalyzer(pool)
	reference, err := Load(pool.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	face := visiontest.Face(t)
	want, err := Find(t.Context(), analyzer, face)
	if err != nil {
		t.Fatal(err)
	}
	page := func(squares ...image.Rectangle) image.Image {
		img := image.NewRGBA(image.Rect(0, 0, 1600, 1100))
		draw.Draw(img, img.Rect, image.White, image.Point{}, draw.Src)
		for _, r := range squares {
			xdraw.CatmullRom.Scale(img, r, face, face.Bounds(), draw.Src, nil)
		}
		return img
	}
	for _, row := range []struct {
		name  string
		img   image.Image
		least float64
		err   error
	}{
		{"as it is", face, 8, nil},
		{"turned by a quarter", quarter(face, 1), 0.9, nil},
		{"upside down", quarter(face, 2), 0.9, nil},
		{"turned by three quarters", quarter(face, 3), 0.9, nil},
		{"small on a page", page(image.Rect(150, 200, 480, 530)), 0.8, nil},
		{"twice on a page", page(image.Rect(100, 200, 700, 800), image.Rect(900, 200, 1500, 800)), 0, ErrSeveralFaces},
		{"nobody", page(), 0, ErrNoFace},
		{"a pixel", image.NewRGBA(image.Rect(0, 0, 1, 1)), 0, ErrNoFace},
	} {
		got, err := Find(t.Context(), analyzer, row.img)
		if !errors.Is(err, row.err) {
			t.Errorf("%s: %v, want %v", row.name, err, row.err)
			continue
		}
		if err != nil {
			continue
		}
		if s := reference.Similarity(want, got); s < row.least || !reference.Match(s) {
			t.Errorf("%s: similarity %.3f, want %.3f, threshold %.3f", row.name, s, row.least, reference.Threshold)
		}
	}
}

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

// TestLoad: the reference is valid only for the models it was fitted on, with the
// matcher among them.
func TestLoad(t *testing.T) {
	manifest := visiontest.Pool(t).Manifest
	r, err := Load(manifest)
	if err != nil {
		t.Fatal(err)
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
