package puppet

import (
	"image"
	"math"

	"agegate/internal/check/vision"

	xdraw "golang.org/x/image/draw"
)

// Pose is the direction of the head and its place in the frame.
type Pose struct {
	Yaw, Pitch, Roll float64 // degrees, as in vision.Pose: to the person's left, up, clockwise in the picture
	X, Y             float64 // of the face's centre, in pixels of the frame
	Width            float64 // of the face, in pixels of the frame
	Shut             float64 // how far the eyes are shut, 0 to 1
}

// distance of the camera, in widths of the face: an arm's length.
const distance = 3.5

// Surface returns how far a point of the picture lies behind the middle of the
// face, and how much it follows a turn of the head. x and y are relative to the
// middle of the face. All lengths are in face widths.
type Surface func(v vertex, x, y float64) (depth, follow float64)

// The surfaces on which a picture can be.
var (
	// Solid is a head in front of a background that does not move.
	Solid Surface = func(v vertex, _, _ float64) (float64, float64) { return v.z - turningDepth, v.follow }
	// Flat is a print or a screen.
	Flat Surface = func(vertex, float64, float64) (float64, float64) { return 0, 1 }
	// Bent is a print curved around a vertical axis, as one would hold it in
	// front of one's face.
	Bent Surface = func(_ vertex, x, _ float64) (float64, float64) {
		const radius = 1.2
		return radius - math.Sqrt(max(0.1, radius*radius-x*x)), 1
	}
)

// Draw draws the picture on a surface over the frame's content.
func (h *Head) Draw(frame *image.RGBA, s Surface, p Pose) { h.draw(frame, s, p, nil) }

// DrawFace draws only the face, cut out along an oval.
func (h *Head) DrawFace(frame *image.RGBA, s Surface, p Pose) {
	h.draw(frame, s, p, func(u, v float64) float64 {
		x, y := (u-h.centre.X)/(0.62*h.width), (v-h.centre.Y)/(0.8*h.width)
		return smooth((1 - math.Hypot(x, y)) / 0.08)
	})
}

// Backdrop fills the frame with the background of the head.
func (h *Head) Backdrop(frame *image.RGBA) {
	size := frame.Bounds().Size()
	ready, ok := h.backdrops.Load(size)
	if !ok {
		large := image.NewRGBA(frame.Bounds())
		xdraw.BiLinear.Scale(large, large.Bounds(), h.backdrop, h.backdrop.Bounds(), xdraw.Src, nil)
		ready, _ = h.backdrops.LoadOrStore(size, large)
	}
	copy(frame.Pix, ready.(*image.RGBA).Pix) //nolint:forcetypeassert // nothing else is stored
}

// corner is a vertex on the frame: position, depth, and place in the texture.
type corner struct{ x, y, z, u, v float64 }

func (h *Head) draw(frame *image.RGBA, s Surface, p Pose, stencil func(u, v float64) float64) {
	corners := make([]corner, len(h.vertices))
	for i, v := range h.vertices {
		corners[i] = h.place(v, s, p)
	}
	size := frame.Bounds().Size()
	canvas := &canvas{frame: frame, texture: h.texture, stencil: stencil, eyes: h.eyes, shut: p.Shut,
		depth: make([]float32, size.X*size.Y)}
	for row := range gridSide - 1 {
		for column := range gridSide - 1 {
			a := row*gridSide + column
			b, c, d := a+1, a+gridSide, a+gridSide+1
			canvas.triangle(corners[a], corners[b], corners[c])
			canvas.triangle(corners[b], corners[d], corners[c])
		}
	}
}

// place turns a vertex about the head's centre and projects it. The picture
// already has the perspective of the head at rest, so perspective is applied only
// to what the turn changes.
func (h *Head) place(v vertex, s Surface, p Pose) corner {
	x, y := v.x-h.centre.X, v.y-h.centre.Y
	z, follow := s(v, x/h.width, y/h.width)
	z *= h.width
	sinYaw, cosYaw := math.Sincos(p.Yaw * follow * math.Pi / 180)
	sinPitch, cosPitch := math.Sincos(p.Pitch * follow * math.Pi / 180)
	// z grows away from the camera. At a turn to the person's left the nose, at
	// negative z, moves to larger x.
	tx, tz := x*cosYaw-z*sinYaw, x*sinYaw+z*cosYaw
	ty, tz := y*cosPitch+tz*sinPitch, tz*cosPitch-y*sinPitch
	near := distance * h.width
	enlarge := (near + z) / (near + tz)
	tx, ty = tx*enlarge, ty*enlarge
	sinRoll, cosRoll := math.Sincos(p.Roll * math.Pi / 180)
	scale := p.Width / h.width
	return corner{
		x: p.X + scale*(tx*cosRoll-ty*sinRoll), y: p.Y + scale*(tx*sinRoll+ty*cosRoll),
		z: near + tz, u: v.x, v: v.y,
	}
}

// canvas draws textured triangles; nearer ones cover the others.
type canvas struct {
	frame, texture *image.RGBA
	stencil        func(u, v float64) float64 // opacity; nil for full opacity everywhere
	eyes           [2]vision.Point
	shut           float64
	depth          []float32 // 1/z of what is drawn at each pixel; 0 for nothing
}

func (c *canvas) triangle(p, q, r corner) {
	area := (q.x-p.x)*(r.y-p.y) - (r.x-p.x)*(q.y-p.y)
	if area <= 0 { // the triangle faces away
		return
	}
	size := c.frame.Bounds().Size()
	left, right := max(int(min(p.x, q.x, r.x)), 0), min(int(max(p.x, q.x, r.x))+1, size.X)
	top, bottom := max(int(min(p.y, q.y, r.y)), 0), min(int(max(p.y, q.y, r.y))+1, size.Y)
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			fx, fy := float64(x)+0.5, float64(y)+0.5
			b := ((fx-p.x)*(r.y-p.y) - (r.x-p.x)*(fy-p.y)) / area
			g := ((q.x-p.x)*(fy-p.y) - (fx-p.x)*(q.y-p.y)) / area
			a := 1 - b - g
			if a < 0 || b < 0 || g < 0 {
				continue
			}
			nearness := float32(1 / (a*p.z + b*q.z + g*r.z))
			if at := y*size.X + x; nearness >= c.depth[at] {
				c.depth[at] = nearness
				c.paint(x, y, a*p.u+b*q.u+g*r.u, a*p.v+b*q.v+g*r.v)
			}
		}
	}
}

// feather is the width of the picture's faded edge, in texture pixels.
const feather = 14.0

// paint blends the texture at u, v over the pixel.
func (c *canvas) paint(x, y int, u, v float64) {
	size := c.texture.Bounds().Size()
	alpha := smooth(min(u, v, float64(size.X)-u, float64(size.Y)-v) / feather)
	if c.shut > 0 {
		v = c.lid(u, v)
	}
	if c.stencil != nil {
		alpha *= c.stencil(u, v)
	}
	r, g, b := sample(c.texture, u-0.5, v-0.5)
	under := c.frame.Pix[y*c.frame.Stride+4*x:]
	for i, over := range [3]float64{r, g, b} {
		under[i] = uint8(alpha*over + (1-alpha)*float64(under[i]) + 0.5)
	}
	under[3] = 255
}

// lid draws the skin above an eye down over it: it returns the row of the texture
// to show at a place.
func (c *canvas) lid(u, v float64) float64 {
	for _, e := range c.eyes {
		x, y := (u-e.X)/e.Z, (v-e.Y)/e.Z
		// the skin's upper end at the brow, its lower end below the lower lid, and the edge of the open upper lid
		const above, under, open = -1.1, 0.42, -0.36
		if math.Abs(x) > 1.25 || y < above || y > under {
			continue
		}
		edge := open + c.shut*smooth((1.25-math.Abs(x))/0.4)*(under-0.06-open)
		if y < edge {
			y = above + (y-above)*(open-above)/(edge-above)
		} else {
			y = open + (y-edge)*(under-open)/(under-edge)
			if c.shut > 0.9 {
				y = max(y, under-0.1)
			}
		}
		return e.Y + y*e.Z
	}
	return v
}

// sample interpolates the four texels around a position.
func sample(t *image.RGBA, u, v float64) (r, g, b float64) {
	size := t.Bounds().Size()
	u, v = min(max(u, 0), float64(size.X-1)), min(max(v, 0), float64(size.Y-1))
	x, y := min(int(u), size.X-2), min(int(v), size.Y-2)
	wx, wy := u-float64(x), v-float64(y)
	at := y*t.Stride + 4*x
	channel := func(i int) float64 {
		top := float64(t.Pix[at+i])*(1-wx) + float64(t.Pix[at+4+i])*wx
		bottom := float64(t.Pix[at+t.Stride+i])*(1-wx) + float64(t.Pix[at+t.Stride+4+i])*wx
		return top*(1-wy) + bottom*wy
	}
	return channel(0), channel(1), channel(2)
}
