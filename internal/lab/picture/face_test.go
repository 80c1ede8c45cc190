package picture

import (
	"errors"
	"image"
	"image/draw"
	"testing"

	"agegate/internal/check/document/portrait"
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
	reference, err := portrait.Load(pool.Manifest)
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
