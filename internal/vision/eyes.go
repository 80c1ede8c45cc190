package vision

import "math"

// Eyes are both eyes upright and at one size, as luma.
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

// Resemblance is the correlation of the eyes in two frames, whatever the
// light: near 1 while they stay open, lower when one shows a lid.
func (e *Eyes) Resemblance(other *Eyes) float64 {
	if e == nil || other == nil {
		return 1
	}
	var sum float64
	for i := range e {
		sum += correlation(e[i][:], other[i][:])
	}
	return sum / float64(len(e))
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
