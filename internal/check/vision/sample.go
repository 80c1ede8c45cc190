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

// point returns the position in the picture of a sample with fractional coordinates.
// (0.5, 0.5) is the first sample.
func (g grid) point(u, v float64) (x, y float64) {
	u, v = u-0.5, v-0.5
	return g.x + u*g.columnX + v*g.rowX, g.y + u*g.columnY + v*g.rowY
}

// one is one level of luma in the fixed-point format of samples.
const one = 1 << 16

// Chroma contributions of the JFIF conversion to RGB, by chroma byte.
var (
	redFromRed    = chromaTable(1.402)
	greenFromRed  = chromaTable(-0.714136)
	greenFromBlue = chromaTable(-0.344136)
	blueFromBlue  = chromaTable(1.772)
)

func chromaTable(factor float64) (table [256]int32) {
	for i := range table {
		table[i] = int32(math.Round(factor * (float64(i) - 128) * one))
	}
	return table
}

// fill samples the picture over the grid into planar RGB, scaled as the model
// requires. Luma is interpolated, chroma is taken from the nearest sample, and
// places outside the picture are black.
func (p *picture) fill(g grid, in inference.Input, tensor []float32) {
	size := g.width * g.height
	for row := range g.height {
		red := tensor[row*g.width:][:g.width]
		green := tensor[size+row*g.width:][:len(red)]
		blue := tensor[2*size+row*g.width:][:len(red)]
		p.fillRow(g, row, in, red, green, blue)
	}
}

// fillRow samples one row. It keeps everything in local variables, because it runs for
// every sample of every model's input.
func (p *picture) fillRow(g grid, row int, in inference.Input, red, green, blue []float32) {
	scale, offset := in.Scale/one, in.Offset
	stepX, stepY := fixed(g.columnX), fixed(g.columnY)
	fx, fy := g.start(row)
	luma := p.luma
	stride := p.lumaStride
	width := p.width
	height := p.height
	cbs := p.blue
	crs := p.red
	chromaStride := p.chromaStride
	shiftX, shiftY := p.shiftX&1, p.shiftY&1 // they are 0 or 1; the compiler does not know
	green, blue = green[:len(red)], blue[:len(red)]
	for i := range red {
		x, y := nearest(fx), nearest(fy)
		if uint(x) >= uint(width) || uint(y) >= uint(height) {
			red[i] = offset
			green[i] = offset
			blue[i] = offset
			fx, fy = fx+stepX, fy+stepY
			continue
		}
		var v int32
		if left, top := fx>>16, fy>>16; uint(left) < uint(width-1) && uint(top) < uint(height-1) {
			at := top*stride + left
			upper, lower := luma[at:at+2], luma[at+stride:at+stride+2]
			v = blend(upper[0], upper[1], lower[0], lower[1], int32(fx&0xffff>>8), int32(fy&0xffff>>8))
		} else {
			v = p.atEdge(left, top, int32(fx&0xffff>>8), int32(fy&0xffff>>8))
		}
		fx, fy = fx+stepX, fy+stepY
		if cbs == nil {
			grey := float32(v)*scale + offset
			red[i] = grey
			green[i] = grey
			blue[i] = grey
			continue
		}
		at := (y>>shiftY)*chromaStride + x>>shiftX
		cb, cr := cbs[at], crs[at]
		red[i] = float32(clamp(v+redFromRed[cr]))*scale + offset
		green[i] = float32(clamp(v+greenFromRed[cr]+greenFromBlue[cb]))*scale + offset
		blue[i] = float32(clamp(v+blueFromBlue[cb]))*scale + offset
	}
}

// grey samples the luma over the grid, 0 to 255.
func (p *picture) grey(g grid) []float32 {
	out := make([]float32, g.width*g.height)
	stepX, stepY := fixed(g.columnX), fixed(g.columnY)
	for row := range g.height {
		fx, fy := g.start(row)
		for i := row * g.width; i < (row+1)*g.width; i++ {
			if uint(nearest(fx)) < uint(p.width) && uint(nearest(fy)) < uint(p.height) {
				out[i] = float32(p.interpolate(fx, fy)) * (1.0 / one)
			}
			fx, fy = fx+stepX, fy+stepY
		}
	}
	return out
}

// start returns the position of a row's first sample in 16.16 fixed point. It is
// shifted back by half a pixel, so that the integer part names the upper left one of
// the sample's four neighbours.
func (g grid) start(row int) (fx, fy int) {
	return fixed(g.x + float64(row)*g.rowX - 0.5), fixed(g.y + float64(row)*g.rowY - 0.5)
}

// nearest returns the pixel on which a position falls.
func nearest(f int) int { return (f + 1<<15) >> 16 }

// interpolate blends the four luma samples around a position on the picture, in units
// of 1/one. Beyond the edge, the outermost pixels are repeated.
func (p *picture) interpolate(fx, fy int) int32 {
	x, y := fx>>16, fy>>16
	wx, wy := int32(fx&0xffff>>8), int32(fy&0xffff>>8)
	if uint(x) >= uint(p.width-1) || uint(y) >= uint(p.height-1) {
		return p.atEdge(x, y, wx, wy)
	}
	at := y*p.lumaStride + x
	upper, lower := p.luma[at:at+2], p.luma[at+p.lumaStride:at+p.lumaStride+2]
	return blend(upper[0], upper[1], lower[0], lower[1], wx, wy)
}

func (p *picture) atEdge(x, y int, wx, wy int32) int32 {
	x0, x1 := max(x, 0), min(x+1, p.width-1)
	upper, lower := p.luma[max(y, 0)*p.lumaStride:], p.luma[min(y+1, p.height-1)*p.lumaStride:]
	return blend(upper[x0], upper[x1], lower[x0], lower[x1], wx, wy)
}

// blend returns the weighted mean of four samples. wx is the weight of the right ones
// and wy that of the lower ones, both as 8-bit fractions.
func blend(upperLeft, upperRight, lowerLeft, lowerRight uint8, wx, wy int32) int32 {
	top := int32(upperLeft)*(256-wx) + int32(upperRight)*wx
	bottom := int32(lowerLeft)*(256-wx) + int32(lowerRight)*wx
	return top*(256-wy) + bottom*wy
}

func fixed(v float64) int { return int(math.Floor(v*65536 + 0.5)) }

// clamp limits a value to the levels from 0 to 255.
func clamp(v int32) int32 { return min(max(v, 0), 255*one) }
