package accuracy

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

// mirrored returns the picture as a mirror shows it.
func mirrored(in *image.RGBA) *image.RGBA {
	size := in.Bounds().Size()
	out := image.NewRGBA(in.Bounds())
	for y := range size.Y {
		for x := range size.X {
			out.SetRGBA(size.X-1-x, y, in.RGBAAt(x, y))
		}
	}
	return out
}

// altered returns the picture as another camera might have taken it (mirrored,
// less sharp, rotated, nearer or farther, in other light), and the JPEG quality
// to encode it with.
func altered(in *image.RGBA, random *rand.Rand) (out *image.RGBA, quality int) {
	out = in
	if random.Float64() < 0.5 {
		out = mirrored(out)
	}
	if random.Float64() < 0.5 {
		out = coarsened(out, between(random, 0.4, 0.9))
	}
	out = moved(out, random)
	relight(out, random)
	return out, 40 + random.IntN(56)
}

func between(random *rand.Rand, low, high float64) float64 {
	return low + (high-low)*random.Float64()
}

// coarsened reduces the resolution to a share.
func coarsened(in *image.RGBA, share float64) *image.RGBA {
	size := in.Bounds().Size()
	small := image.NewRGBA(image.Rect(0, 0, max(1, int(float64(size.X)*share)), max(1, int(float64(size.Y)*share))))
	xdraw.BiLinear.Scale(small, small.Bounds(), in, in.Bounds(), xdraw.Src, nil)
	out := image.NewRGBA(in.Bounds())
	xdraw.BiLinear.Scale(out, out.Bounds(), small, small.Bounds(), xdraw.Src, nil)
	return out
}

// moved rotates the picture by up to 12 degrees, scales it, and shifts it a
// little; uncovered areas are grey.
func moved(in *image.RGBA, random *rand.Rand) *image.RGBA {
	w, h := float64(in.Bounds().Dx()), float64(in.Bounds().Dy())
	zoom := between(random, 0.85, 1.65)
	zoom = min(zoom, frameSide/max(w, h))
	sin, cos := math.Sincos(between(random, -12, 12) * math.Pi / 180)
	a, b := zoom*cos, zoom*sin
	// Around the middle, which itself moves by up to 4 % of the size.
	x, y := w*zoom*(0.5+between(random, -0.04, 0.04)), h*zoom*(0.5+between(random, -0.04, 0.04))
	turn := f64.Aff3{a, -b, x - a*w/2 + b*h/2, b, a, y - b*w/2 - a*h/2}
	out := image.NewRGBA(image.Rect(0, 0, int(w*zoom), int(h*zoom)))
	draw.Draw(out, out.Bounds(), image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	xdraw.BiLinear.Transform(out, turn, in, in.Bounds(), xdraw.Src, nil)
	return out
}

// relight changes brightness, contrast and white balance, and sometimes removes
// the colour or adds sensor noise.
func relight(img *image.RGBA, random *rand.Rand) {
	gamma, contrast := math.Exp(between(random, -0.35, 0.35)), between(random, 0.75, 1.25)
	gains := [3]float64{between(random, 0.88, 1.12), between(random, 0.94, 1.06), between(random, 0.88, 1.12)}
	grey := random.Float64() < 0.2
	noise := max(0, between(random, -14, 6))
	var tones [256]float64
	for v := range tones {
		tones[v] = (255*math.Pow(float64(v)/255, gamma)-128)*contrast + 128
	}
	for i := 0; i < len(img.Pix); i += 4 {
		pixel := img.Pix[i : i+3]
		if grey {
			luma := uint8((299*int(pixel[0]) + 587*int(pixel[1]) + 114*int(pixel[2])) / 1000) //nolint:gosec // at most 255
			pixel[0], pixel[1], pixel[2] = luma, luma, luma
		}
		grain := 0.0
		if noise > 0 {
			grain = noise * random.NormFloat64()
		}
		for c, v := range pixel {
			tone := tones[v] + grain
			if !grey {
				tone *= gains[c]
			}
			pixel[c] = uint8(min(max(tone, 0), 255))
		}
	}
}
