package vision

import "math"

// Grain is a frame's luma at 32 × 32 single pixels on a lattice: enough to
// know a picture again, and not averaged, so that noise shows.
type Grain [grainSide * grainSide]uint8

const grainSide = 32

// grain samples the picture.
func (p *picture) grain() *Grain {
	g := new(Grain)
	for i := range g {
		x := (2*(i%grainSide) + 1) * p.width / (2 * grainSide)
		y := (2*(i/grainSide) + 1) * p.height / (2 * grainSide)
		g[i] = p.luma[y*p.lumaStride+x]
	}
	return g
}

// Change is the root mean square difference; without a grain it is infinite.
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
