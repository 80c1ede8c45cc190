package glyph

import (
	"image"
	"math"
)

// Place is the position of a character in a picture, in pixels: its centre, the vector to the next character, and the
// vector from the top of a capital letter to its foot. The coordinates of pixel centres end in .5.
type Place struct {
	X, Y           float64
	AlongX, AlongY float64
	DownX, DownY   float64
}

// minContrast is the standard deviation, in grey levels, below which a cell counts as
// blank. The noise of a blank cell is not amplified.
const minContrast = 6

// Sample reads the cell at a place. Samples outside the picture take the value of the nearest pixel.
func Sample(img *image.Gray, p Place, cell *Cell) {
	ax, ay := p.AlongX*Across/Width, p.AlongY*Across/Width
	dx, dy := p.DownX*Upright/Height, p.DownY*Upright/Height
	// If a sample covers more than one pixel, it is the mean of four.
	coarse := math.Hypot(ax, ay) > 1.4 || math.Hypot(dx, dy) > 1.4
	var sum, squares float64
	for row := range Height {
		for column := range Width {
			u, v := float64(column)-(Width-1)/2.0, float64(row)-(Height-1)/2.0
			x, y := p.X+u*ax+v*dx, p.Y+u*ay+v*dy
			var value float64
			if coarse {
				qx, qy, rx, ry := ax/4, ay/4, dx/4, dy/4
				value = (at(img, x-qx-rx, y-qy-ry) + at(img, x+qx-rx, y+qy-ry) + at(img, x-qx+rx, y-qy+ry) +
					at(img, x+qx+rx, y+qy+ry)) / 4
			} else {
				value = at(img, x, y)
			}
			cell[row*Width+column] = float32(value)
			sum += value
			squares += value * value
		}
	}
	const n = Width * Height
	mean := sum / n
	deviation := math.Sqrt(max(squares/n-mean*mean, 0))
	scale := float32(1 / max(deviation, minContrast))
	for i := range cell {
		cell[i] = (float32(mean) - cell[i]) * scale
	}
}

// at returns the picture's value at a position between pixels, by interpolation.
func at(img *image.Gray, x, y float64) float64 {
	x, y = x-0.5, y-0.5
	x0, y0 := int(math.Floor(x)), int(math.Floor(y))
	fx, fy := x-float64(x0), y-float64(y0)
	right, bottom := img.Rect.Dx()-1, img.Rect.Dy()-1
	x1, y1 := min(max(x0+1, 0), right), min(max(y0+1, 0), bottom)
	x0, y0 = min(max(x0, 0), right), min(max(y0, 0), bottom)
	upper, lower := img.Pix[y0*img.Stride:], img.Pix[y1*img.Stride:]
	top := float64(upper[x0])*(1-fx) + float64(upper[x1])*fx
	foot := float64(lower[x0])*(1-fx) + float64(lower[x1])*fx
	return top*(1-fy) + foot*fy
}
