package liveness

import (
	"math"

	"agegate/internal/check/vision"

	"gonum.org/v1/gonum/mat"
)

// Relief that separates heads from flat pictures. For 250 faces (UTKFace) rotated with
// depth from their landmarks, turns of 24 degrees gave 0.030 to 0.049, and heads raised by
// 18 degrees 0.016 to 0.045. Prints turned by 34 degrees gave 0.005 to 0.014. A prompt is
// fulfilled from about two thirds of those angles on.
const ofTurn, ofRaise = 0.018, 0.009

// solid reports whether a frame that fulfils a prompt shows a solid head and not a flat
// picture, compared with a frame of the level head. For a direction between turn and
// raise, the limit combines both in proportion.
func solid(level, o *vision.Observation, p Prompt) bool {
	return relief(level, o) >= math.Hypot(ofTurn*aims[p].side, ofRaise*aims[p].up)
}

// relief measures how much depth the face's movement between two frames shows. It fits
// a projective map of a plane (a homography) to the landmarks' movement. It returns
// what remains as a root mean square over the face's width. Two views of a plane are
// always related by a homography, so nothing remains of a flat picture (Hartley and
// Zisserman, Multiple View Geometry, section 13.1).
func relief(from, to *vision.Observation) float64 {
	before, after := centred(from), centred(to)
	h, ok := homography(before, after)
	if !ok {
		return 0
	}
	var sum float64
	for i, p := range before {
		w := h[6]*p.X + h[7]*p.Y + 1
		dx := (h[0]*p.X+h[1]*p.Y+h[2])/w - after[i].X
		dy := (h[3]*p.X+h[4]*p.Y+h[5])/w - after[i].Y
		sum += dx*dx + dy*dy
	}
	return math.Sqrt(sum / float64(len(before)))
}

// centred returns the landmarks relative to the middle of the face, in face widths, so
// that the fit is numerically stable.
func centred(o *vision.Observation) []vision.Point {
	points := make([]vision.Point, len(o.Landmarks))
	for i, p := range o.Landmarks {
		points[i] = vision.Point{X: (p.X - o.Face.X) / o.Face.Width, Y: (p.Y - o.Face.Y) / o.Face.Width}
	}
	return points
}

// homography fits the map to the points by least squares, with 1 as the lower
// right element.
func homography(from, to []vision.Point) (h [8]float64, ok bool) {
	equations, values := mat.NewDense(2*len(from), 8, nil), mat.NewVecDense(2*len(from), nil)
	for i, p := range from {
		q := to[i]
		equations.SetRow(2*i, []float64{p.X, p.Y, 1, 0, 0, 0, -p.X * q.X, -p.Y * q.X})
		equations.SetRow(2*i+1, []float64{0, 0, 0, p.X, p.Y, 1, -p.X * q.Y, -p.Y * q.Y})
		values.SetVec(2*i, q.X)
		values.SetVec(2*i+1, q.Y)
	}
	var solution mat.VecDense
	if err := solution.SolveVec(equations, values); err != nil {
		return h, false
	}
	copy(h[:], solution.RawVector().Data)
	return h, true
}
