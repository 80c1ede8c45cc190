package vision

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
)

// rasterSide is the side, in pixels of the frame, of the square that raster
// looks at.
const rasterSide = 128

// raster measures how much one regular pattern stands out of the face: a
// screen's pixels, alone or against those of the camera (moiré), give a sharp
// peak in the spectrum that skin does not have. It is the highest magnitude
// over the median one at the same distance from zero, as a natural logarithm.
// The crop's middle is read at the frame's own resolution.
func (p *picture) raster(c crop) float64 {
	left, top := int(c.x)-rasterSide/2, int(c.y)-rasterSide/2
	if left < 0 || top < 0 || left+rasterSide > p.width || top+rasterSide > p.height {
		return 0
	}
	fft := fourier.NewCmplxFFT(rasterSide)
	rows := p.spectra(fft, left, top)
	column := make([]complex128, rasterSide)
	rings := make([][]float64, rasterSide/2)
	for x := range rasterSide / 2 {
		for y := range column {
			column[y] = rows[y][x]
		}
		fft.Coefficients(column, column)
		for y, v := range column {
			if ring := ringOf(x, y); ring >= 0 {
				rings[ring] = append(rings[ring], math.Hypot(real(v), imag(v)))
			}
		}
	}
	var peak float64
	for _, ring := range rings[lowestRing:] {
		slices.Sort(ring)
		if n := len(ring); n > 0 {
			peak = max(peak, math.Log(ring[n-1]/max(ring[n/2], 1)))
		}
	}
	return peak
}

// spectra transforms the rows of the square.
func (p *picture) spectra(fft *fourier.CmplxFFT, left, top int) [][]complex128 {
	rows := make([][]complex128, rasterSide)
	for y := range rows {
		rows[y] = make([]complex128, rasterSide)
		for x := range rows[y] {
			rows[y][x] = complex(hann[x]*hann[y]*float64(p.luma[(top+y)*p.lumaStride+left+x]), 0)
		}
		fft.Coefficients(rows[y], rows[y])
	}
	return rows
}

// ringOf is the distance of a coefficient from zero, or -1 where it is not
// looked at.
func ringOf(x, y int) int {
	if y > rasterSide/2 {
		y -= rasterSide
	}
	ring := int(math.Hypot(float64(x), float64(y)))
	if ring < lowestRing || ring >= rasterSide/2 {
		return -1
	}
	return ring
}

// lowestRing leaves out the face's own forms: eyes, mouth, shadows.
const lowestRing = 16

// hann is the window that keeps the square's edges out of the spectrum.
var hann = func() (window [rasterSide]float64) {
	for i := range window {
		window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/rasterSide)
	}
	return window
}()
