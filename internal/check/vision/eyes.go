package vision

import "math"

// Eyes holds the luma of both eyes, turned upright and scaled to a fixed size.
type Eyes [2][eyeWidth * eyeHeight]float32

const eyeWidth, eyeHeight = 20, 12

// eyeCorners are the landmarks at the ends of the right and the left eye.
var eyeCorners = [2][2]int{{33, 133}, {362, 263}}

func (p *picture) eyes(mesh []Point) *Eyes {
	e := new(Eyes)
	for i, corners := range eyeCorners {
		a, b := mesh[corners[0]], mesh[corners[1]]
		c := crop{
			x: (a.X + b.X) / 2, y: (a.Y + b.Y) / 2,
			side: max(1.1*math.Hypot(b.X-a.X, b.Y-a.Y), 1), angle: math.Atan2(b.Y-a.Y, b.X-a.X),
		}
		copy(e[i][:], p.grey(c.part(0, 0.2, 1, 0.8, eyeWidth, eyeHeight)))
	}
	return e
}

// slack is how many samples the position of the same eye may differ between two frames.
// It is a tenth of the eye's width.
const slack = 2

// Resemblance returns the correlation of the eyes in two frames at their best match
// within slack. It does not depend on the light. It is near 1 while the eyes stay open,
// and lower if one frame shows a lid.
func (e *Eyes) Resemblance(other *Eyes) float64 {
	if e == nil || other == nil {
		return 1
	}
	var sum float64
	for i := range e {
		middle, best := e.part(i, slack, slack), -1.0
		for y := range 2*slack + 1 {
			for x := range 2*slack + 1 {
				best = max(best, correlation(middle, other.part(i, x, y)))
			}
		}
		sum += best
	}
	return sum / float64(len(e))
}

// part returns eye i without a margin of slack on every side, beginning at
// column x and row y.
func (e *Eyes) part(i, x, y int) []float32 {
	const width, height = eyeWidth - 2*slack, eyeHeight - 2*slack
	out := make([]float32, 0, width*height)
	for row := range height {
		at := (y+row)*eyeWidth + x
		out = append(out, e[i][at:at+width]...)
	}
	return out
}

// correlation is Pearson's coefficient.
func correlation(a, b []float32) float64 {
	meanA, varianceA := moments(a)
	meanB, varianceB := moments(b)
	var sum float64
	for i := range a {
		sum += (float64(a[i]) - meanA) * (float64(b[i]) - meanB)
	}
	return sum / float64(len(a)) / math.Sqrt(max(varianceA*varianceB, 1e-9))
}
