package reader

import (
	"math"
	"slices"

	"agegate/internal/check/document/glyph"
)

// line is a row of characters: a curve x(n), y(n) through the middles of its
// characters, where n is the character's number, and the shape of a character
// on it.
type line struct {
	links     []link
	low, high int // numbers of the first and the last link
	size      float64
	x, y      quadratic
	tall      float64 // height of a capital letter, in pitches
	slant     float64 // how far a letter's foot is shifted along the line, in heights
	shift     float64 // how far the characters' middles are below the curve, in heights
	score     float64 // mean logarithm of the best character's probability
}

// quadratic is c[0] + c[1]·n + c[2]·n².
type quadratic [3]float64

func (q quadratic) at(n float64) float64    { return q[0] + n*(q[1]+n*q[2]) }
func (q quadratic) slope(n float64) float64 { return q[1] + 2*n*q[2] }

// reversed returns the same curve with n counted in the other direction.
func (q quadratic) reversed() quadratic { return quadratic{q[0], -q[1], q[2]} }

// moved returns the same curve with n counted from another origin.
func (q quadratic) moved(by float64) quadratic {
	return quadratic{q.at(by), q.slope(by), q[2]}
}

func newLine(links []link) *line {
	l := &line{links: links, tall: 0.95}
	var sizes []float64
	for _, k := range links {
		sizes = append(sizes, k.b.size)
	}
	slices.Sort(sizes)
	l.size = sizes[len(sizes)/2]
	if !l.fit() {
		return nil
	}
	return l
}

// plausible reports whether the patches of ink of a line may be characters. Their size
// must be about the distance to the next one, which excludes chains of every second
// character. Their areas must differ: the standard deviation of areas is 0.02 to 0.15
// of the mean in cloth, tiles and bars, and 0.2 and more in text.
func (l *line) plausible() bool {
	const smallest, largest, variety = 0.72, 1.6, 0.1
	ratio := l.size / l.pitch(float64(l.low+l.high)/2)
	var sum, squares float64
	for _, k := range l.links {
		sum += k.b.area
		squares += k.b.area * k.b.area
	}
	n := float64(len(l.links))
	mean := sum / n
	return ratio >= smallest && ratio <= largest && squares/n-mean*mean >= variety*variety*mean*mean
}

// fit computes the curve by least squares. It repeats the fit, with less weight for
// links that are far off the curve. It reports false if the links do not form a line.
func (l *line) fit() bool {
	l.low, l.high = l.links[0].n, l.links[0].n
	for _, k := range l.links {
		l.low, l.high = min(l.low, k.n), max(l.high, k.n)
	}
	middle, half := float64(l.low+l.high)/2, max(float64(l.high-l.low)/2, 1)
	weights := make([]float64, len(l.links))
	for i := range weights {
		weights[i] = 1
	}
	for range 4 {
		var a [3][5]float64 // normal equations, with right sides for x and y
		for i, k := range l.links {
			t := (float64(k.n) - middle) / half
			powers := [3]float64{1, t, t * t}
			for r, p := range powers {
				for c, q := range powers {
					a[r][c] += weights[i] * p * q
				}
				a[r][3] += weights[i] * p * k.b.x
				a[r][4] += weights[i] * p * k.b.y
			}
		}
		cx, cy, ok := solve(a)
		if !ok {
			return false
		}
		scale := func(c [3]float64) quadratic {
			return quadratic{c[0], c[1] / half, c[2] / half / half}.moved(-middle)
		}
		l.x, l.y = scale(cx), scale(cy)
		pitch := l.pitch(middle)
		if pitch < 3 {
			return false
		}
		for i, k := range l.links {
			x, y := l.at(float64(k.n))
			off := math.Hypot(k.b.x-x, k.b.y-y) / (0.12 * pitch)
			weights[i] = 1 / (1 + off*off)
		}
	}
	return true
}

// solve solves the equations by Gaussian elimination with pivoting.
func solve(a [3][5]float64) (x, y [3]float64, ok bool) {
	for c := range 3 {
		pivot := c
		for r := c + 1; r < 3; r++ {
			if math.Abs(a[r][c]) > math.Abs(a[pivot][c]) {
				pivot = r
			}
		}
		a[c], a[pivot] = a[pivot], a[c]
		if math.Abs(a[c][c]) < 1e-9 {
			return x, y, false
		}
		for r := range 3 {
			if r == c {
				continue
			}
			factor := a[r][c] / a[c][c]
			for k := c; k < 5; k++ {
				a[r][k] -= factor * a[c][k]
			}
		}
	}
	for c := range 3 {
		x[c], y[c] = a[c][3]/a[c][c], a[c][4]/a[c][c]
	}
	return x, y, true
}

func (l *line) at(n float64) (x, y float64) { return l.x.at(n), l.y.at(n) }

func (l *line) pitch(n float64) float64 { return math.Hypot(l.x.slope(n), l.y.slope(n)) }

// place returns the place of character n. down moves it down, in heights.
func (l *line) place(n, down float64) glyph.Place {
	x, y := l.at(n)
	ax, ay := l.x.slope(n), l.y.slope(n)
	dx, dy := l.tall*(l.slant*ax-ay), l.tall*(l.slant*ay+ax)
	down += l.shift
	return glyph.Place{X: x + down*dx, Y: y + down*dy, AlongX: ax, AlongY: ay, DownX: dx, DownY: dy}
}

// turned returns the line read from the other end.
func (l *line) turned() *line {
	t := *l
	t.x, t.y = l.x.reversed(), l.y.reversed()
	t.low, t.high = -l.high, -l.low
	t.shift = -l.shift
	t.links = make([]link, len(l.links))
	for i, k := range l.links {
		t.links[i] = link{-k.n, k.b}
	}
	return &t
}

// below returns a line of the same shape, lower by a number of pitches at each
// end.
func (l *line) below(pitches float64) *line {
	b := *l
	b.links = nil
	// Three places of the moved curve give its quadratics.
	span := max(float64(l.high-l.low)/2, 1)
	middle := float64(l.low+l.high) / 2
	var xs, ys [3]float64
	for i := range 3 {
		p := l.place(middle+span*float64(i-1), 0)
		xs[i], ys[i] = p.X+pitches/l.tall*p.DownX, p.Y+pitches/l.tall*p.DownY
	}
	b.shift = 0
	b.x, b.y = through(xs, middle, span), through(ys, middle, span)
	return &b
}

// through returns the quadratic with the given values at middle-span, middle
// and middle+span.
func through(v [3]float64, middle, span float64) quadratic {
	return quadratic{v[1], (v[2] - v[0]) / 2 / span, (v[2] + v[0] - 2*v[1]) / 2 / span / span}.moved(-middle)
}
