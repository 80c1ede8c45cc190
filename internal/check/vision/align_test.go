package vision

import (
	"math"
	"testing"
)

// TestAligned: the crop follows the landmarks: of a face that is turned, larger and
// elsewhere, the mean shape lies at the same places in the crop.
func TestAligned(t *testing.T) {
	const size, angle, side = 150, 0.4, 300.0
	sin, cos := math.Sincos(angle)
	landmarks := make([]Point, 468)
	for _, at := range alignedTo {
		x, y := side*at.x, side*at.y
		landmarks[at.landmark] = Point{X: 70 + x*cos - y*sin, Y: 40 + x*sin + y*cos}
	}
	c := aligned(landmarks)
	if math.Abs(c.angle-angle) > 1e-9 || math.Abs(c.side-1.5*side) > 1e-9 {
		t.Errorf("side %f, angle %f", c.side, c.angle)
	}
	g := c.part(0, 0, 1, 1, size, size)
	for _, at := range alignedTo {
		x, y := g.point(size*(alignedBorder+at.x)/1.5, size*(alignedBorder+at.y)/1.5)
		if want := landmarks[at.landmark]; math.Hypot(x-want.X, y-want.Y) > 1e-9 {
			t.Errorf("landmark %d at %f, %f, want %f, %f", at.landmark, x, y, want.X, want.Y)
		}
	}
}
