package documents

import (
	"image"
	"image/draw"
	"math"
	"math/rand/v2"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

// Held is a document, or a picture of one, that a hand holds before a phone's
// camera, above a table.
type Held struct {
	page  *page
	table func(x, y float64) [3]float64
}

// Hold draws the document with the print of the given ease.
func (r *Renderer) Hold(c Content, ease Ease, random *rand.Rand) *Held {
	p := r.page(c, ease.ink.draw(random), ease.guilloche.draw(random), random)
	return &Held{p, table(random)}
}

// Photograph is a picture of the document, printed in the size of the original,
// which has the given pitch in the picture. A surface of its own lies behind.
func (h *Held) Photograph(img *image.RGBA, pitch float64, random *rand.Rand) *Held {
	const mm = pitchMM * perMM
	size := img.Rect.Size()
	width, height := float64(size.X)*mm/pitch, float64(size.Y)*mm/pitch
	paper := image.NewRGBA(image.Rect(0, 0, int(width), int(height)))
	xdraw.CatmullRom.Scale(paper, paper.Rect, img, img.Rect, draw.Src, nil)
	return &Held{&page{img: paper, width: width / perMM, height: height / perMM}, table(random)}
}

// Pose is how a document is held.
type Pose struct {
	Roll      float64 // degrees, clockwise
	Left, Top float64 // degrees by which the left and the upper edge are nearer than those across
	Pitch     float64 // from a character of the zone to the next, in pixels, in the document's middle
	X, Y      float64 // of the document's middle from the frame's, in pixels
}

// focal is the focal length over the frame's width: a phone's, with some 60
// degrees of view.
const focal = 0.87

// Draw renders a frame of the given size, without noise.
func (h *Held) Draw(at Pose, size image.Point) *image.RGBA {
	v := h.page.held(at, size)
	frame := image.NewRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			var sum [3]float64
			for _, sub := range [2]point{{0.25, 0.3}, {0.75, 0.7}} {
				place := point{float64(x) + sub.x, float64(y) + sub.y}
				colour, ok := h.page.sample(apply(v.toPage, place))
				if !ok {
					colour = h.table(place.x, place.y)
				}
				for i := range sum {
					sum[i] += colour[i] / 2
				}
			}
			to := frame.Pix[frame.PixOffset(x, y):]
			to[0], to[1], to[2], to[3] = uint8(sum[0]), uint8(sum[1]), uint8(sum[2]), 255
		}
	}
	return frame
}

// held is the view of a page in a pose.
func (p *page) held(at Pose, size image.Point) view {
	scale := at.Pitch / pitchMM
	distance := focal * float64(size.X) / scale
	left, top := at.Left*math.Pi/180, at.Top*math.Pi/180
	angle := math.Hypot(left, top)
	ux, uy := 1.0, 0.0
	if angle > 0 {
		ux, uy = top/angle, -left/angle
	}
	cos, sin := math.Cos(angle), math.Sin(angle)
	r00, r01, r11 := cos+ux*ux*(1-cos), ux*uy*(1-cos), cos+uy*uy*(1-cos)
	cr, sr := math.Cos(at.Roll*math.Pi/180), math.Sin(at.Roll*math.Pi/180)
	m := f64.Mat3{
		scale * (cr*r00 - sr*r01), scale * (cr*r01 - sr*r11), 0,
		scale * (sr*r00 + cr*r01), scale * (sr*r01 + cr*r11), 0,
		-uy * sin / distance, ux * sin / distance, 1,
	}
	m = multiply(m, f64.Mat3{1, 0, -p.width / 2, 0, 1, -p.height / 2, 0, 0, 1})
	m = multiply(f64.Mat3{1, 0, float64(size.X)/2 + at.X, 0, 1, float64(size.Y)/2 + at.Y, 0, 0, 1}, m)
	return view{toPage: invert(m), toFrame: m, width: p.width}
}
