package vision_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"testing"

	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

// TestRaster: a pattern over the face is detected in any direction, even at the
// frequencies of JPEG's blocks. A face, and JPEG's own blocks at a poor quality,
// are not detected as one.
func TestRaster(t *testing.T) {
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	face := visiontest.Scene(visiontest.Face(t), [3]int{320, 240, 360})
	measure := func(across, down, depth float64) float64 {
		frame := image.NewRGBA(face.Rect)
		for y := range 480 {
			for x := range 640 {
				wave := 1 + depth*math.Sin(2*math.Pi*(across*float64(x)+down*float64(y)))
				c := face.RGBAAt(x, y)
				level := func(v uint8) uint8 { return uint8(math.Min(float64(v)*wave, 255)) }
				frame.SetRGBA(x, y, color.RGBA{level(c.R), level(c.G), level(c.B), 255})
			}
		}
		o, err := analyzer.Analyze(t.Context(), visiontest.JPEG(t, frame))
		if err != nil || o.Guidance != vision.GuidanceOK {
			t.Fatal(o, err)
		}
		if err := analyzer.Score(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		return o.Raster
	}
	bare := measure(0, 0, 0)
	if bare > 2.4 {
		t.Errorf("raster %.2f of a bare face", bare)
	}
	for _, pattern := range [][2]float64{{0.3, 0.02}, {0.03, 0.22}, {0.2, 0.17}, {0.25, 0.01}, {0, 0.375}} {
		if r := measure(pattern[0], pattern[1], 0.05); r < bare+1 {
			t.Errorf("raster %.2f under the pattern %v, %.2f without", r, pattern, bare)
		}
	}
}

// TestRasterOfAPicture: a pattern over the whole picture is detected; a pattern
// in a part of it is not, nor are edges, noise or JPEG's blocks.
func TestRasterOfAPicture(t *testing.T) {
	size := image.Rect(0, 0, 800, 600)
	random := rand.New(rand.NewPCG(1, 2))
	picture := func(shade func(x, y float64) float64) float64 {
		img := image.NewGray(size)
		for y := range size.Dy() {
			for x := range size.Dx() {
				v := shade(float64(x), float64(y)) + 3*random.NormFloat64()
				img.SetGray(x, y, color.Gray{uint8(min(max(v, 0), 255))})
			}
		}
		decoded, err := jpeg.Decode(bytes.NewReader(visiontest.JPEG(t, img)))
		if err != nil {
			t.Fatal(err)
		}
		return vision.Raster(decoded.(*image.Gray))
	}
	page := func(x, y float64) float64 { // with an edge and lines of text
		if x < 90 || y < 60 {
			return 90
		}
		if math.Mod(y, 40) < 14 && math.Mod(x, 17) < 9 && y > 300 {
			return 60
		}
		return 215
	}
	wave := func(x, y float64) float64 { return math.Sin(2 * math.Pi * (0.31*x + 0.02*y)) }
	for _, row := range []struct {
		name        string
		shade       func(x, y float64) float64
		least, most float64
	}{
		{"a page", page, 0, 1},
		{"a page on a screen", func(x, y float64) float64 { return page(x, y) * (1 + 0.04*wave(x, y)) }, 1.3, 4},
		{"a pattern in a corner", func(x, y float64) float64 {
			if x < 200 && y < 200 {
				return 150 + 40*wave(x, y)
			}
			return page(x, y)
		}, 0, 1},
	} {
		if got := picture(row.shade); got < row.least || got > row.most {
			t.Errorf("%s: %.2f, want %.1f to %.1f", row.name, got, row.least, row.most)
		}
	}
	if got := vision.Raster(image.NewGray(image.Rect(0, 0, 100, 600))); got != 0 {
		t.Errorf("too small: %.2f", got)
	}
}
