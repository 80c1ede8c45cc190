package accuracy

import (
	"image"
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/image/vector"
)

// Landmarks by their index in MediaPipe's canonical face mesh. "Right" is the
// person's own right.
var (
	outerLips = []int{61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185}
	innerLips = []int{78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308, 415, 310, 311, 312, 13, 82, 81, 80, 191}
	beardEdge = []int{93, 132, 58, 172, 136, 150, 149, 176, 148, 152, 377, 400, 378, 379, 365, 397, 288, 361, 323, 410,
		327, 2, 98, 186}
	faceOval = []int{10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377, 152, 148,
		176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109}
	rightLid   = []int{33, 246, 161, 160, 159, 158, 157, 173, 133, 55, 65, 52, 53, 46}
	leftLid    = []int{263, 466, 388, 387, 386, 385, 384, 398, 362, 285, 295, 282, 283, 276}
	rightEye   = []int{33, 133, 159, 145}
	leftEye    = []int{263, 362, 386, 374}
	rightCheek = 50
	leftCheek  = 280
)

// beard darkens chin, jaw and upper lip with hair of random density.
func (s *shot) beard(random *rand.Rand) {
	lips := s.polygon(outerLips)
	hair := [3]float64{between(random, 15, 70), between(random, 12, 55), between(random, 10, 45)}
	density := between(random, 0.35, 0.75)
	s.paint(s.polygon(beardEdge), func(x, y int, cover float64) ([3]float64, float64) {
		strand := between(random, 0.5, 1.3)
		return hair, cover * density * strand * (1 - float64(lips.AlphaAt(x, y).A)/255)
	})
}

// denseBeard hides chin, jaw and upper lip under hair, and some of the lips.
func (s *shot) denseBeard(random *rand.Rand) {
	lips := s.polygon(outerLips)
	shade := between(random, 10, 60)
	s.paint(s.polygon(beardEdge), func(x, y int, cover float64) ([3]float64, float64) {
		hair := shade * between(random, 0.8, 1.2)
		return [3]float64{hair, 0.85 * hair, 0.7 * hair}, cover * 0.92 * (1 - 0.6*float64(lips.AlphaAt(x, y).A)/255)
	})
}

// headScarf draws folded cloth of one colour over hair, ears, neck, and the
// outermost tenth of the face.
func (s *shot) headScarf(random *rand.Rand) {
	cloth := [3]float64{between(random, 0, 230), between(random, 0, 230), between(random, 0, 230)}
	x0, y0 := s.centre(faceOval)
	tight := between(random, 0.86, 0.95)
	opening := &shot{img: s.img, points: slices.Clone(s.points)}
	for _, i := range faceOval {
		p := &opening.points[i]
		p.X, p.Y = x0+tight*(p.X-x0), y0+tight*(p.Y-y0)
	}
	face, width := opening.polygon(faceOval), s.width()
	for y := range s.img.Rect.Dy() {
		for x := range s.img.Rect.Dx() {
			dx, dy := (float64(x)-x0)/width/0.85, (float64(y)-y0)/width/1.15
			if dy > 0 {
				dx *= 0.7 // the scarf falls on the shoulders
			}
			if dx*dx+dy*dy > 1 && dy < 0.3 {
				continue
			}
			fold := 0.88 + 0.12*float64((x/9+y/13)%3)
			s.blend(x, y, [3]float64{cloth[0] * fold, cloth[1] * fold, cloth[2] * fold}, 1-float64(face.AlphaAt(x, y).A)/255)
		}
	}
}

// glasses draws a frame around both eyes, a bridge, and slightly dark lenses.
func (s *shot) glasses(random *rand.Rand) {
	rx, ry := s.centre(rightEye)
	lx, ly := s.centre(leftEye)
	apart := math.Hypot(lx-rx, ly-ry)
	radius, stroke := apart*between(random, 0.34, 0.44), apart*between(random, 0.02, 0.07)
	tall, tint := between(random, 0.7, 1), between(random, 0, 0.2)
	shade := between(random, 10, 80)
	s.paintIn(s.img.Rect, func(x, y float64) float64 {
		right := math.Hypot(x-rx, (y-ry)/tall)
		left := math.Hypot(x-lx, (y-ly)/tall)
		near := min(right, left)
		onBridge := math.Abs(y-(ry+ly)/2+0.1*apart) < stroke/2 && right > radius && left > radius && x > min(rx, lx) &&
			x < max(rx, lx)
		switch {
		case math.Abs(near-radius) < stroke/2 || onBridge:
			return 0.9
		case near < radius:
			return tint
		}
		return 0
	}, [3]float64{shade, shade * 0.9, shade * 0.8})
}

// width is the distance between the two sides of the face, in pixels.
func (s *shot) width() float64 {
	a, b := s.points[234], s.points[454]
	return math.Hypot(a.X-b.X, a.Y-b.Y)
}

func (s *shot) centre(indices []int) (x, y float64) {
	for _, i := range indices {
		x += s.points[i].X / float64(len(indices))
		y += s.points[i].Y / float64(len(indices))
	}
	return x, y
}

// polygon is the area that the landmarks enclose.
func (s *shot) polygon(indices []int) *image.Alpha {
	bounds := s.img.Bounds()
	area := vector.NewRasterizer(bounds.Dx(), bounds.Dy())
	for n, i := range indices {
		x, y := float32(s.points[i].X), float32(s.points[i].Y)
		if n == 0 {
			area.MoveTo(x, y)
		} else {
			area.LineTo(x, y)
		}
	}
	area.ClosePath()
	mask := image.NewAlpha(bounds)
	area.Draw(mask, bounds, image.Opaque, image.Point{})
	return mask
}

// paint blends a colour into the pixels that the mask covers; ink returns the
// colour and its opacity, 0 to 1.
func (s *shot) paint(mask *image.Alpha, ink func(x, y int, cover float64) ([3]float64, float64)) {
	for y := range s.img.Rect.Dy() {
		for x := range s.img.Rect.Dx() {
			if a := mask.AlphaAt(x, y).A; a > 0 {
				colour, opacity := ink(x, y, float64(a)/255)
				s.blend(x, y, colour, opacity)
			}
		}
	}
}

// paintIn blends one colour into a part of the picture, with the opacity of each place.
func (s *shot) paintIn(part image.Rectangle, opacity func(x, y float64) float64, colour [3]float64) {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if o := opacity(float64(x)+0.5, float64(y)+0.5); o > 0 {
				s.blend(x, y, colour, o)
			}
		}
	}
}

func (s *shot) blend(x, y int, colour [3]float64, opacity float64) {
	opacity = min(max(opacity, 0), 1)
	at := s.img.PixOffset(x, y)
	for c := range 3 {
		v := float64(s.img.Pix[at+c])
		s.img.Pix[at+c] = uint8(v + opacity*(colour[c]-v))
	}
}
