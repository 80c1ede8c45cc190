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
	rightBrow  = []int{70, 63, 105, 66, 107, 55, 65, 52, 53, 46}
	leftBrow   = []int{300, 293, 334, 296, 336, 285, 295, 282, 283, 276}
	rightLash  = []int{33, 246, 161, 160, 159, 158, 157, 173, 133}
	leftLash   = []int{263, 466, 388, 387, 386, 385, 384, 398, 362}
	rightHole  = []int{33, 7, 163, 144, 145, 153, 154, 155, 133, 173, 157, 158, 159, 160, 161, 246}
	leftHole   = []int{263, 249, 390, 373, 374, 380, 381, 382, 362, 398, 384, 385, 386, 387, 388, 466}
	browLine   = []int{70, 63, 105, 66, 107, 9, 336, 296, 334, 293, 300}
	hairLine   = []int{21, 54, 103, 67, 109, 10, 338, 297, 332, 284, 251}
	folds      = [][]int{{129, 203, 206, 216, 212}, {358, 423, 426, 436, 432}} // from the nose past the mouth
	bags       = [][]int{{226, 31, 228, 229, 230, 231, 232}, {446, 261, 448, 449, 450, 451, 452}}
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

// makeUp evens out and lightens the skin, darkens brows and lashes, and colours
// lids, lips and cheeks: each with a strength of its own.
func (s *shot) makeUp(random *rand.Rand) {
	s.retouch(between(random, 0, 0.7))
	s.lighten(between(random, 0, 0.25))
	dark := [3]float64{between(random, 20, 60), between(random, 15, 50), between(random, 15, 60)}
	brow, lid, lash := between(random, 0, 0.6), between(random, 0.1, 0.5), between(random, 0.4, 0.9)
	shadow := [3]float64{between(random, 30, 130), between(random, 20, 80), between(random, 30, 130)}
	for _, eye := range []struct{ brow, lid, lash []int }{
		{rightBrow, rightLid, rightLash}, {leftBrow, leftLid, leftLash},
	} {
		s.paint(s.polygon(eye.brow), func(_, _ int, cover float64) ([3]float64, float64) { return dark, cover * brow })
		s.paint(s.polygon(eye.lid), func(_, _ int, cover float64) ([3]float64, float64) { return shadow, cover * lid })
		s.stroke(s.line(eye.lash), s.width()*between(random, 0.008, 0.018), lash, dark)
	}
	red := [3]float64{between(random, 120, 200), between(random, 15, 60), between(random, 30, 90)}
	lips, inner := between(random, 0.35, 0.75), s.polygon(innerLips)
	s.paint(s.polygon(outerLips), func(x, y int, cover float64) ([3]float64, float64) {
		return red, cover * lips * (1 - float64(inner.AlphaAt(x, y).A)/255)
	})
	blush := between(random, 0, 0.3)
	size := s.width() * 0.16
	for _, cheek := range []int{rightCheek, leftCheek} {
		cx, cy := s.points[cheek].X, s.points[cheek].Y
		s.paintIn(s.img.Rect, func(x, y float64) float64 {
			return blush * max(0, 1-math.Hypot(x-cx, y-cy)/size)
		}, [3]float64{215, 90, 100})
	}
}

// skin is the area of the face without eyes, brows and lips.
func (s *shot) skin() *image.Alpha {
	mask := s.polygon(faceOval)
	for _, hole := range [][]int{rightHole, leftHole, rightBrow, leftBrow, outerLips} {
		for i, a := range s.polygon(hole).Pix {
			mask.Pix[i] = uint8(int(mask.Pix[i]) * (255 - int(a)) / 255) //nolint:gosec // at most 255
		}
	}
	return mask
}

// retouch blurs the skin by a share.
func (s *shot) retouch(share float64) {
	soft := s.copy()
	soft.coarsen(min(1, 36/s.width()))
	s.paint(s.skin(), func(x, y int, cover float64) ([3]float64, float64) {
		c := soft.img.RGBAAt(x, y)
		return [3]float64{float64(c.R), float64(c.G), float64(c.B)}, cover * share
	})
}

// lighten makes the skin paler by a share.
func (s *shot) lighten(share float64) {
	s.paint(s.skin(), func(_, _ int, cover float64) ([3]float64, float64) {
		return [3]float64{255, 235, 228}, cover * share
	})
}

// wrinkles draws lines on the forehead, between the brows, beside and below the
// eyes, and from the nose past the mouth.
func (s *shot) wrinkles(random *rand.Rand) {
	w := s.width()
	mark := func(line []point) {
		s.stroke(line, w*between(random, 0.008, 0.02), between(random, 0.25, 0.55), s.shadeAt(line[len(line)/2]))
	}
	for _, at := range []float64{0.3, 0.5, 0.7} {
		brows, hair := s.line(browLine), s.line(hairLine)
		for i := range brows {
			brows[i].x += at * (hair[i].x - brows[i].x)
			brows[i].y += at*(hair[i].y-brows[i].y) + w*between(random, -0.006, 0.006)
		}
		mark(brows[1 : len(brows)-1])
	}
	for _, i := range []int{107, 336} {
		p := s.points[i]
		mark([]point{{p.X, p.Y + 0.02*w}, {p.X, p.Y - 0.07*w}})
	}
	for _, line := range [][][]int{folds, bags} {
		for _, side := range line {
			mark(s.line(side))
		}
	}
	for _, eye := range [][2]int{{33, 133}, {263, 362}} {
		outer, inner := s.points[eye[0]], s.points[eye[1]]
		dx, dy := outer.X-inner.X, outer.Y-inner.Y
		for _, turn := range []float64{-0.45, 0, 0.45} {
			sin, cos := math.Sincos(turn)
			ux, uy := dx*cos-dy*sin, dx*sin+dy*cos
			mark([]point{{outer.X + 0.25*ux, outer.Y + 0.25*uy}, {outer.X + 0.65*ux, outer.Y + 0.65*uy}})
		}
	}
}

// shadeAt is the darkened colour of a place.
func (s *shot) shadeAt(p point) [3]float64 {
	c := s.img.RGBAAt(int(p.x), int(p.y))
	return [3]float64{0.45 * float64(c.R), 0.4 * float64(c.G), 0.38 * float64(c.B)}
}

// fringe draws strands of hair from the hair line over the brows.
func (s *shot) fringe(random *rand.Rand) {
	shade, low := between(random, 10, 70), between(random, -0.02, 0.06)
	hair, brows := s.line(hairLine), s.line(browLine)
	ends := make([]float64, s.img.Rect.Dx())
	for i := range ends {
		ends[i] = between(random, -0.03, 0.03)
	}
	up := s.width() * 0.12
	s.each(func(x, y int, pixel []uint8) {
		end := heightAt(brows, float64(x)) + (low+ends[x])*s.width()
		top := heightAt(hair, float64(x)) - up
		if !(float64(y) >= top && float64(y) <= end) { // also beside the lines, where they have no height
			return
		}
		tone := shade * (0.8 + 10*math.Abs(ends[x]))
		for c, share := range []float64{1, 0.85, 0.7} {
			pixel[c] = clampByte(0.08*float64(pixel[c]) + 0.92*tone*share)
		}
	})
}

// heightAt is a line's y at x, or NaN beside it.
func heightAt(line []point, x float64) float64 {
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		if a.x > b.x {
			a, b = b, a
		}
		if x >= a.x && x < b.x {
			return a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)
		}
	}
	return math.NaN()
}

// hardLight leaves one side of the face in shadow.
func (s *shot) hardLight(random *rand.Rand) {
	nose, w := s.points[1], s.width()
	side := 1.0
	if random.IntN(2) == 0 {
		side = -1
	}
	shadow, soft := between(random, 0.3, 0.6), between(random, 0.05, 0.25)
	s.each(func(x, _ int, pixel []uint8) {
		lit := 1 / (1 + math.Exp(-side*(float64(x)-nose.X)/(soft*w)))
		for c, v := range pixel {
			pixel[c] = clampByte(float64(v) * (shadow + (1.1-shadow)*lit))
		}
	})
}

type point struct{ x, y float64 }

// line is the landmarks as points.
func (s *shot) line(indices []int) []point {
	var line []point
	for _, i := range indices {
		line = append(line, point{s.points[i].X, s.points[i].Y})
	}
	return line
}

// stroke draws a soft line of the given width.
func (s *shot) stroke(line []point, width, opacity float64, colour [3]float64) {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range line {
		left, right = min(left, p.x), max(right, p.x)
		top, bottom = min(top, p.y), max(bottom, p.y)
	}
	box := image.Rect(int(left-2*width), int(top-2*width), int(right+2*width)+2, int(bottom+2*width)+2)
	s.paintIn(box.Intersect(s.img.Rect), func(x, y float64) float64 {
		return opacity * min(1, max(0, 1.25-distance(line, x, y)/width))
	}, colour)
}

// distance is how far a place is from a line.
func distance(line []point, x, y float64) float64 {
	nearest := math.Inf(1)
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		dx, dy := b.x-a.x, b.y-a.y
		t := ((x-a.x)*dx + (y-a.y)*dy) / max(dx*dx+dy*dy, 1e-9)
		t = min(max(t, 0), 1)
		nearest = min(nearest, math.Hypot(x-a.x-t*dx, y-a.y-t*dy))
	}
	return nearest
}
