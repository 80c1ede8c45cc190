package documents

import (
	"image"
	"image/draw"
	"math"
	"math/rand/v2"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

// Held is a document, or a picture of one, held by hand in front of a phone's
// camera, above a table. Many goroutines may draw it at the same time.
type Held struct {
	page  *page // its picture has heldPerMM pixels per millimetre
	table [3]uint8
}

// heldPerMM is the resolution of a held document: about the resolution of frames.
const heldPerMM = 6

// Hold draws the document with the print of the given ease.
func (r *Renderer) Hold(c Content, ease Ease, random *rand.Rand) *Held {
	p := r.page(c, ease.ink.draw(random), ease.guilloche.draw(random), random)
	return held(p.img, p.width, p.height, random)
}

// Photograph returns a picture of the document, printed in the size of the
// original, whose zone has the given pitch in the picture. The background is
// another surface.
func (h *Held) Photograph(img *image.RGBA, pitch float64, random *rand.Rand) *Held {
	size := img.Rect.Size()
	return held(img, float64(size.X)*pitchMM/pitch, float64(size.Y)*pitchMM/pitch, random)
}

func held(img *image.RGBA, width, height float64, random *rand.Rand) *Held {
	paper := image.NewRGBA(image.Rect(0, 0, int(width*heldPerMM), int(height*heldPerMM)))
	xdraw.CatmullRom.Scale(paper, paper.Rect, img, img.Rect, draw.Src, nil)
	shade := table(random)(0, 0)
	return &Held{&page{img: paper, width: width, height: height},
		[3]uint8{uint8(shade[0]), uint8(shade[1]), uint8(shade[2])}}
}

// Pose is how a document is held.
type Pose struct {
	Roll      float64 // degrees, clockwise
	Left, Top float64 // tilt in degrees, positive if the left or the upper edge is nearer than the opposite one
	Pitch     float64 // from one character of the zone to the next in the middle of the document, in pixels
	X, Y      float64 // offset of the document's middle from the frame's middle, in pixels
}

// focal is the focal length divided by the frame's width, for a phone with a view
// of about 60 degrees.
const focal = 0.87

// Draw renders a frame of the given size, without noise.
func (h *Held) Draw(at Pose, size image.Point) *image.RGBA {
	m, paper := h.page.held(at, size).toPage, h.page.img
	right, bottom := float64(paper.Rect.Dx()-1), float64(paper.Rect.Dy()-1)
	frame := image.NewRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		fy := float64(y) + 0.5
		to := frame.Pix[y*frame.Stride:]
		for x := range size.X {
			fx := float64(x) + 0.5
			w := heldPerMM / (m[6]*fx + m[7]*fy + m[8])
			u, v := (m[0]*fx+m[1]*fy+m[2])*w-0.5, (m[3]*fx+m[4]*fy+m[5])*w-0.5
			out := to[4*x : 4*x+4]
			out[3] = 255
			if u < 0 || v < 0 || u >= right || v >= bottom {
				copy(out, h.table[:])
				continue
			}
			a, b := int(u), int(v)
			wu, wv := uint32((u-float64(a))*256), uint32((v-float64(b))*256)
			upper := paper.Pix[b*paper.Stride+4*a:]
			lower := upper[paper.Stride:]
			for i := range 3 {
				top := uint32(upper[i])*(256-wu) + uint32(upper[i+4])*wu
				below := uint32(lower[i])*(256-wu) + uint32(lower[i+4])*wu
				out[i] = uint8((top*(256-wv) + below*wv) >> 16) //nolint:gosec // a mean of bytes
			}
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
