package liveness

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"agegate/internal/check/vision"
)

// TestReliefOfPlanes: no relief is left of a plane under any projective map; a
// turning dome leaves some.
func TestReliefOfPlanes(t *testing.T) {
	grid := func(place func(x, y float64) vision.Point) *vision.Observation {
		o := &vision.Observation{Face: vision.Face{X: 300, Y: 200, Width: 100}}
		for i := range 81 {
			x, y := float64(i%9-4)*10, float64(i/9-4)*10
			o.Landmarks = append(o.Landmarks, place(x, y))
		}
		return o
	}
	level := grid(func(x, y float64) vision.Point { return vision.Point{X: 300 + x, Y: 200 + y} })
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, limit float64) float64 { return rapid.Float64Range(-limit, limit).Draw(t, name) }
		a, b, c, d := 1+number("a", 0.4), number("b", 0.3), number("c", 0.3), 1+number("d", 0.4)
		g, h, dx, dy := number("g", 0.003), number("h", 0.003), number("dx", 50), number("dy", 50)
		moved := grid(func(x, y float64) vision.Point {
			w := 1 + g*x + h*y
			return vision.Point{X: 300 + dx + (a*x+b*y)/w, Y: 200 + dy + (c*x+d*y)/w}
		})
		if r := relief(level, moved); r > 1e-6 {
			t.Fatalf("relief %g of a plane", r)
		}
	})
	sin, cos := math.Sincos(18 * math.Pi / 180)
	dome := grid(func(x, y float64) vision.Point {
		z := -math.Sqrt(6000-x*x-y*y) + 60
		return vision.Point{X: 300 + x*cos - z*sin, Y: 200 + y}
	})
	if r := relief(level, dome); r < 0.015 {
		t.Errorf("relief %g of a dome", r)
	}
}

// TestLikeness: 1 for the same face, 0 for unrelated ones, and no NaN for a face
// without features.
func TestLikeness(t *testing.T) {
	a, b, none := new(vision.Features), new(vision.Features), new(vision.Features)
	a.Whole.Descriptor[1] = 3
	b.Whole.Descriptor[5] = 1
	for _, row := range []struct {
		other *vision.Features
		want  float64
	}{{a, 1}, {b, 0}, {none, 0}} {
		if got := likeness(a, row.other); math.Abs(got-row.want) > 1e-9 {
			t.Errorf("likeness %v, want %v", got, row.want)
		}
	}
}
