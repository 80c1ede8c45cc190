package vision

import (
	"math"

	"agegate/internal/check/inference"
)

// crop is a square of the picture, turned by angle about its centre so that the
// face is upright. Lengths are in pixels, the angle in radians, clockwise in the
// picture.
type crop struct {
	x, y, side, angle float64
}

// part returns the rectangle between the given fractions of the crop as a
// grid of width × height samples.
func (c crop) part(left, top, right, bottom float64, width, height int) grid {
	sin, cos := math.Sincos(c.angle)
	stepX, stepY := c.side*(right-left)/float64(width), c.side*(bottom-top)/float64(height)
	// Offset of the first sample's centre from the crop's centre, before turning.
	u, v := c.side*(left-0.5)+stepX/2, c.side*(top-0.5)+stepY/2
	return grid{
		width: width, height: height,
		x: c.x + u*cos - v*sin, y: c.y + u*sin + v*cos,
		columnX: stepX * cos, columnY: stepX * sin,
		rowX: -stepY * sin, rowY: stepY * cos,
	}
}

// grid is a lattice of sample points over a picture, in pixel coordinates
// where the first pixel covers 0 to 1.
type grid struct {
	width, height    int
	x, y             float64 // the first sample
	columnX, columnY float64 // from a sample to the next in its row
	rowX, rowY       float64 // from a row to the next
}

// point returns the position in the picture of a fractional sample; (0.5, 0.5) is
// the first sample.
func (g grid) point(u, v float64) (x, y float64) {
	u, v = u-0.5, v-0.5
	return g.x + u*g.columnX + v*g.rowX, g.y + u*g.columnY + v*g.rowY
}

// Chroma contributions of the JFIF conversion to RGB, by chroma byte.
var (
	redFromRed    = chromaTable(1.402)
	greenFromRed  = chromaTable(-0.714136)
	greenFromBlue = chromaTable(-0.344136)
	blueFromBlue  = chromaTable(1.772)
)

func chromaTable(factor float32) (table [256]float32) {
	for i := range table {
		table[i] = factor * (float32(i) - 128)
	}
	return table
}

// fill samples the picture over the grid into planar RGB, scaled as the model
// requires. Luma is interpolated, chroma is taken from the nearest sample, and
// places outside the picture are black.
func (p *picture) fill(g grid, in inference.Input, tensor []float32) {
	size := g.width * g.height
	red, green, blue := tensor[:size], tensor[size:2*size], tensor[2*size:3*size]
	p.each(g, func(i, x, y int, luma float32) {
		r, gr, b := luma, luma, luma
		if p.blue != nil && x >= 0 {
			at := (y>>p.shiftY)*p.chromaStride + x>>p.shiftX
			cb, cr := p.blue[at], p.red[at]
			r = clamp(luma + redFromRed[cr])
			gr = clamp(luma + greenFromRed[cr] + greenFromBlue[cb])
			b = clamp(luma + blueFromBlue[cb])
		}
		red[i] = r*in.Scale + in.Offset
		green[i] = gr*in.Scale + in.Offset
		blue[i] = b*in.Scale + in.Offset
	})
}

// grey samples the luma over the grid, 0 to 255.
func (p *picture) grey(g grid) []float32 {
	out := make([]float32, g.width*g.height)
	p.each(g, func(i, _, _ int, luma float32) { out[i] = luma })
	return out
}

// each calls visit for every sample with its index, the pixel it falls on (-1
// outside the picture) and the luma interpolated there.
func (p *picture) each(g grid, visit func(i, x, y int, luma float32)) {
	for row := range g.height {
		// Positions are 16.16 fixed point, half a pixel back so that the
		// whole part names the upper left of the four neighbours.
		fx := fixed(g.x + float64(row)*g.rowX - 0.5)
		fy := fixed(g.y + float64(row)*g.rowY - 0.5)
		stepX, stepY := fixed(g.columnX), fixed(g.columnY)
		for i := row * g.width; i < (row+1)*g.width; i++ {
			x, y := (fx+1<<15)>>16, (fy+1<<15)>>16
			if x < 0 || y < 0 || x >= p.width || y >= p.height {
				visit(i, -1, -1, 0)
			} else {
				visit(i, x, y, p.interpolate(fx, fy))
			}
			fx, fy = fx+stepX, fy+stepY
		}
	}
}

// interpolate blends the four luma samples around a position.
func (p *picture) interpolate(fx, fy int) float32 {
	x0, y0 := fx>>16, fy>>16
	x1, y1 := min(x0+1, p.width-1), min(y0+1, p.height-1)
	x0, y0 = max(x0, 0), max(y0, 0)
	wx, wy := int32(fx&0xffff>>8), int32(fy&0xffff>>8)
	upper, lower := p.luma[y0*p.lumaStride:], p.luma[y1*p.lumaStride:]
	top := int32(upper[x0])*(256-wx) + int32(upper[x1])*wx
	bottom := int32(lower[x0])*(256-wx) + int32(lower[x1])*wx
	return float32(top*(256-wy)+bottom*wy) * (1.0 / 65536)
}

func fixed(v float64) int { return int(math.Floor(v*65536 + 0.5)) }

func clamp(v float32) float32 { return min(max(v, 0), 255) }
