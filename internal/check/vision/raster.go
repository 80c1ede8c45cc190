package vision

import (
	"image"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
)

// rasterSide is the side of the square that raster examines, in pixels of the
// frame.
const rasterSide = 128

// raster measures how clearly one regular pattern appears on the face. A screen's
// pixels, alone or together with the camera's (moiré), give a sharp peak in the
// spectrum that skin does not have. raster returns the natural logarithm of the highest
// magnitude, divided by the median magnitude at the same distance from zero. It reads
// the middle of the crop at the frame's own resolution.
func (p *picture) raster(c crop) float64 {
	luma := &image.Gray{Pix: p.luma, Stride: p.lumaStride, Rect: image.Rect(0, 0, p.width, p.height)}
	left, top := int(c.x)-rasterSide/2, int(c.y)-rasterSide/2
	if !image.Rect(left, top, left+rasterSide, top+rasterSide).In(luma.Rect) {
		return 0
	}
	return newTransform().spectrum(luma, left, top).peak()
}

// transform computes spectra, one at a time.
type transform struct {
	rows    *fourier.FFT
	columns *fourier.CmplxFFT
}

func newTransform() transform {
	return transform{fourier.NewFFT(rasterSide), fourier.NewCmplxFFT(rasterSide)}
}

// spectrum holds the powers of a square's frequencies. Each is divided by the median of
// those at the same distance from zero. It is 0 for frequencies that are not examined.
// One half of the plane is enough, because the other half mirrors it.
type spectrum [rasterSide / 2][rasterSide]float64

func (t transform) spectrum(luma *image.Gray, left, top int) *spectrum {
	var line [rasterSide]float64
	rows := new([rasterSide][rasterSide/2 + 1]complex128)
	for y := range rows {
		for x, pixel := range luma.Pix[(top+y)*luma.Stride+left:][:rasterSide] {
			line[x] = hann[x] * hann[y] * float64(pixel)
		}
		t.rows.Coefficients(rows[y][:], line[:])
	}
	s := new(spectrum)
	column := make([]complex128, rasterSide)
	var rings [rasterSide / 2][]float64
	for ring := range rings {
		rings[ring] = make([]float64, 0, ringSizes[ring])
	}
	for x := range s {
		for y := range column {
			column[y] = rows[y][x]
		}
		t.columns.Coefficients(column, column)
		for y, v := range column {
			if ring := ringOf[x][y]; ring >= 0 {
				s[x][y] = real(v)*real(v) + imag(v)*imag(v)
				rings[ring] = append(rings[ring], s[x][y])
			}
		}
	}
	var medians [rasterSide / 2]float64
	for ring, powers := range rings {
		if ring >= lowestRing {
			slices.Sort(powers)
			medians[ring] = max(powers[len(powers)/2], 1)
		}
	}
	for x := range s {
		for y, ring := range &ringOf[x] {
			if ring >= 0 {
				s[x][y] /= medians[ring]
			}
		}
	}
	return s
}

// peak returns the highest magnitude, see magnitude.
func (s *spectrum) peak() float64 {
	var highest float64
	for x := range s {
		highest = max(highest, slices.Max(s[x][:]))
	}
	return magnitude(highest)
}

// magnitude returns the natural logarithm of the magnitude that has the given power,
// or 0 if it is below the median.
func magnitude(power float64) float64 { return math.Log(max(power, 1)) / 2 }

// How many squares Raster examines across and down; the maximum value that one square
// contributes; and the distance from a peak to the values that the peak must exceed.
const (
	rasterColumns = 4
	rasterRows    = 3
	maxRaster     = 4
	besidePeak    = 6
)

// Raster measures how clearly one regular pattern appears in the whole picture. A
// screen has the same pattern everywhere, while prints and fabrics have patterns in
// some places only. Raster averages the magnitudes of the spectrum over squares of the
// picture. It returns by how much the highest frequency exceeds its neighbours, because
// edges of a page raise whole lines of frequencies. It is 0 for a picture that is too
// small. The picture must begin at the origin.
func Raster(luma *image.Gray) (peak float64) {
	free := luma.Rect.Size().Sub(image.Pt(rasterSide, rasterSide))
	if free.X < 0 || free.Y < 0 {
		return 0
	}
	t := newTransform()
	var mean spectrum // of magnitudes
	for row := range rasterRows {
		for column := range rasterColumns {
			s := t.spectrum(luma, column*free.X/(rasterColumns-1), row*free.Y/(rasterRows-1))
			for x := range s {
				for y := range s[x] {
					mean[x][y] += min(magnitude(s.near(x, y)), maxRaster) / (rasterColumns * rasterRows)
				}
			}
		}
	}
	for x := range mean {
		for y, v := range mean[x] {
			if ringOf[x][y] >= 0 {
				peak = max(peak, v-mean.beside(x, y))
			}
		}
	}
	return peak
}

// beside returns the highest value at a small distance from a frequency, along
// both axes.
func (s *spectrum) beside(x, y int) float64 {
	highest := max(s[x][(y+besidePeak)%rasterSide], s[x][(y-besidePeak+rasterSide)%rasterSide],
		s[max(x-besidePeak, besidePeak-x)][y])
	if right := x + besidePeak; right < len(s) {
		highest = max(highest, s[right][y])
	}
	return highest
}

// near returns the highest value at a frequency and its neighbours. A pattern that is
// seen at an angle has slightly different frequencies in different places.
func (s *spectrum) near(x, y int) (highest float64) {
	for nx := max(x-1, 0); nx <= min(x+1, rasterSide/2-1); nx++ {
		for ny := y - 1; ny <= y+1; ny++ {
			highest = max(highest, s[nx][(ny+rasterSide)%rasterSide])
		}
	}
	return highest
}

// ringOf holds the distance of each coefficient from zero, or -1 if it is not
// examined, and ringSizes how many coefficients have each distance.
var ringOf, ringSizes = func() (of [rasterSide / 2][rasterSide]int8, sizes [rasterSide / 2]int) {
	for x := range of {
		for y := range of[x] {
			ring := int(math.Hypot(float64(x), float64(min(y, rasterSide-y))))
			if ring < lowestRing || ring >= rasterSide/2 {
				of[x][y] = -1
				continue
			}
			of[x][y] = int8(ring)
			sizes[ring]++
		}
	}
	return of, sizes
}()

// lowestRing excludes the shapes of the face itself: eyes, mouth, shadows.
const lowestRing = 16

// hann is the window function that removes the effect of the square's edges
// from the spectrum.
var hann = func() (window [rasterSide]float64) {
	for i := range window {
		window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/rasterSide)
	}
	return window
}()
