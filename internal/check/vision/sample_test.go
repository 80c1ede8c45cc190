package vision

import (
	"image"
	"image/color"
	"math"
	"testing"

	"agegate/internal/check/inference"

	"pgregory.net/rapid"
)

// TestFillMatchesTheStandardLibrary: sampled pixel by pixel, a picture has the
// colours that image/color computes.
func TestFillMatchesTheStandardLibrary(t *testing.T) {
	source := image.NewYCbCr(image.Rect(0, 0, 32, 24), image.YCbCrSubsampleRatio420)
	for i := range source.Y {
		source.Y[i] = uint8(i * 7)
	}
	for i := range source.Cb {
		source.Cb[i], source.Cr[i] = uint8(i*5), uint8(255-i*3)
	}
	p, err := fromYCbCr(source)
	if err != nil {
		t.Fatal(err)
	}
	tensor := make([]float32, 3*32*24)
	identity := grid{width: 32, height: 24, x: 0.5, y: 0.5, columnX: 1, rowY: 1}
	p.fill(identity, inference.Input{Width: 32, Height: 24, Scale: 2, Offset: 10}, tensor)
	for y := range 24 {
		for x := range 32 {
			want := color.RGBAModel.Convert(source.At(x, y)).(color.RGBA)
			for plane, v := range []uint8{want.R, want.G, want.B} {
				got := (tensor[plane*32*24+y*32+x] - 10) / 2
				if math.Abs(float64(got)-float64(v)) > 1.01 {
					t.Fatalf("pixel %d,%d plane %d: %v, want %d", x, y, plane, got, v)
				}
			}
		}
	}
}

// TestCropsAreWhereTheySay: in a picture whose brightness grows evenly, the
// samples of any crop have the brightness of the place that grid.point returns,
// and black outside the picture.
func TestCropsAreWhereTheySay(t *testing.T) {
	const width, height = 100, 80
	p := &picture{width: width, height: height, lumaStride: width, luma: make([]uint8, width*height)}
	for y := range height {
		for x := range width {
			p.luma[y*width+x] = uint8(x + y)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := crop{
			x:     rapid.Float64Range(-20, 120).Draw(t, "x"),
			y:     rapid.Float64Range(-20, 100).Draw(t, "y"),
			side:  rapid.Float64Range(5, 150).Draw(t, "side"),
			angle: rapid.Float64Range(-math.Pi, math.Pi).Draw(t, "angle"),
		}
		left, top := rapid.Float64Range(0, 0.4).Draw(t, "left"), rapid.Float64Range(0, 0.4).Draw(t, "top")
		g := c.part(left, top, 1, 0.9, 16, 12)
		for i, got := range p.grey(g) {
			x, y := g.point(float64(i%16)+0.5, float64(i/16)+0.5)
			inside := x > 0.51 && y > 0.51 && x < width-0.51 && y < height-0.51
			outside := x < -0.01 || y < -0.01 || x > width+0.01 || y > height+0.01
			if inside && math.Abs(float64(got)-(x+y-1)) > 0.05 {
				t.Fatalf("at %.2f,%.2f read %v, want %.2f", x, y, got, x+y-1)
			}
			if outside && got != 0 {
				t.Fatalf("at %.2f,%.2f read %v, want black", x, y, got)
			}
		}
	})
}
