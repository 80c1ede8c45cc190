package vision_test

import (
	"image"
	"image/color"
	"math"
	"testing"

	"agegate/internal/vision"
	"agegate/internal/vision/visiontest"
)

// TestRaster: a pattern over the face stands out, whatever its direction, and
// also where JPEG's blocks have their frequencies; a
// face, and JPEG's own blocks at a poor quality, do not.
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
