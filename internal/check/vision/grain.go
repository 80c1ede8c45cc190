package vision

import (
	"image"
	"math"
)

// Grain is a frame's luma at 32 × 32 single pixels on a lattice. It is enough to
// recognize a picture again. The pixels are not averaged, so that noise stays visible.
type Grain [grainSide * grainSide]uint8

const grainSide = 32

// grain samples the picture.
func (p *picture) grain() *Grain {
	return GrainOf(&image.Gray{Pix: p.luma, Stride: p.lumaStride, Rect: image.Rect(0, 0, p.width, p.height)})
}

// GrainOf samples a picture, which must have pixels.
func GrainOf(img *image.Gray) *Grain {
	g, size := new(Grain), img.Rect.Size()
	for i := range g {
		x := (2*(i%grainSide) + 1) * size.X / (2 * grainSide)
		y := (2*(i/grainSide) + 1) * size.Y / (2 * grainSide)
		g[i] = img.Pix[y*img.Stride+x]
	}
	return g
}

// Change returns the root mean square difference of two grains. It is infinite
// if one is missing.
func (g *Grain) Change(other *Grain) float64 {
	if g == nil || other == nil {
		return math.Inf(1)
	}
	var sum int
	for i, v := range g {
		d := int(v) - int(other[i])
		sum += d * d
	}
	return math.Sqrt(float64(sum) / float64(len(g)))
}
