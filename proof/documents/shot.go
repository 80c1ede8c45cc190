package documents

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"

	"golang.org/x/image/math/f64"
)

// point is a place on a page, in mm, or in a frame, in pixels.
type point struct{ x, y float64 }

// draw returns a uniformly random value of the range.
func (b between) draw(random *rand.Rand) float64 { return b.low + (b.high-b.low)*random.Float64() }

// Shot renders one picture of the document, turned by roll degrees, and returns
// its JPEG. Pictures of the same document use the same document; light, hand and
// other things that differ between frames are drawn from random.
func (r *Renderer) Shot(c Content, ease Ease, roll float64, document, random *rand.Rand) ([]byte, error) {
	return r.shot(c, ease, roll, document, random, alteration{})
}

// alteration is what hides a part of a document from the camera. A nil function
// changes nothing.
type alteration struct {
	aim   func(v view, p *page) view // points the camera elsewhere
	cover func(frame *picture, v view, p *page)
}

func (r *Renderer) shot(c Content, ease Ease, roll float64, document, random *rand.Rand, a alteration) ([]byte, error) {
	p := r.page(c, ease.ink.draw(document), ease.guilloche.draw(document), document)
	v := p.view(ease, roll, random)
	if a.aim != nil {
		v = a.aim(v, p)
	}
	frame := v.take(p, table(random))
	light(frame, ease, v, p, random)
	if a.cover != nil {
		a.cover(frame, v, p)
	}
	return finish(frame, ease, random)
}

// view maps the frame to the page: a homography and a bend of the paper.
type view struct {
	toPage  f64.Mat3
	toFrame f64.Mat3
	bend    float64 // mm, positive downwards in the page's middle
	width   float64 // of the page, mm
}

// view draws a random view that shows the whole zone. The page is tilted about a
// random axis in front of a camera that is two and a half widths away.
func (p *page) view(ease Ease, roll float64, random *rand.Rand) view {
	tilt, axis := ease.tilt.draw(random)*math.Pi/180, random.Float64()*2*math.Pi
	pitch, bend := ease.pitch.draw(random), ease.bend.draw(random)
	if random.IntN(2) == 0 {
		bend = -bend
	}
	roll *= math.Pi / 180
	middle := point{(p.zone[0].x + p.zone[2].x) / 2, (p.zone[0].y + p.zone[2].y) / 2}
	distance := 2.5 * p.width
	// Rotation about the axis in the page's plane (Rodrigues), then roll.
	ux, uy := math.Cos(axis), math.Sin(axis)
	cos, sin := math.Cos(tilt), math.Sin(tilt)
	r00, r01 := cos+ux*ux*(1-cos), ux*uy*(1-cos)
	r11 := cos + uy*uy*(1-cos)
	r20, r21 := -uy*sin, ux*sin
	cr, sr := math.Cos(roll), math.Sin(roll)
	project := func(scale float64) f64.Mat3 {
		a, b := scale*(cr*r00-sr*r01), scale*(cr*r01-sr*r11)
		c, d := scale*(sr*r00+cr*r01), scale*(sr*r01+cr*r11)
		g, h := r20/distance, r21/distance
		m := f64.Mat3{a, b, 0, c, d, 0, g, h, 1}
		return multiply(m, f64.Mat3{1, 0, -middle.x, 0, 1, -middle.y, 0, 0, 1})
	}
	const margin = 24 // pixels around the zone
	scale := pitch / pitchMM
	for {
		m := project(scale)
		box := bounds(m, p.zone)
		freeX, freeY := Width-2*margin-(box[2]-box[0]), Height-2*margin-(box[3]-box[1])
		if freeX < 0 || freeY < 0 {
			scale *= 0.97
			continue
		}
		// The whole document is kept in the frame if it fits.
		whole := bounds(m, [4]point{{0, 0}, {p.width, 0}, {p.width, p.height}, {0, p.height}})
		dx := place(margin-box[0], margin-box[0]+freeX, -whole[0], Width-whole[2], random)
		dy := place(margin-box[1], margin-box[1]+freeY, -whole[1], Height-whole[3], random)
		m = multiply(f64.Mat3{1, 0, dx, 0, 1, dy, 0, 0, 1}, m)
		return view{toPage: invert(m), toFrame: m, bend: bend, width: p.width}
	}
}

// place draws an offset from the range that keeps the zone inside. If there is a
// narrower range that keeps the whole document inside, it uses that.
func place(low, high, keepLow, keepHigh float64, random *rand.Rand) float64 {
	if l, h := max(low, keepLow), min(high, keepHigh); l <= h {
		low, high = l, h
	} else {
		middle := min(max((keepLow+keepHigh)/2, low), high)
		low, high = middle, middle
	}
	return between{low, high}.draw(random)
}

func bounds(m f64.Mat3, corners [4]point) (box [4]float64) {
	box = [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, c := range corners {
		q := apply(m, c)
		box[0], box[1], box[2], box[3] = min(box[0], q.x), min(box[1], q.y), max(box[2], q.x), max(box[3], q.y)
	}
	return box
}

func apply(m f64.Mat3, p point) point {
	w := m[6]*p.x + m[7]*p.y + m[8]
	return point{(m[0]*p.x + m[1]*p.y + m[2]) / w, (m[3]*p.x + m[4]*p.y + m[5]) / w}
}

func multiply(a, b f64.Mat3) (m f64.Mat3) {
	for i := range 3 {
		for j := range 3 {
			m[3*i+j] = a[3*i]*b[j] + a[3*i+1]*b[3+j] + a[3*i+2]*b[6+j]
		}
	}
	return m
}

// invert returns the adjugate. It equals the inverse up to a factor, which does
// not change a homography.
func invert(m f64.Mat3) f64.Mat3 {
	return f64.Mat3{
		m[4]*m[8] - m[5]*m[7], m[2]*m[7] - m[1]*m[8], m[1]*m[5] - m[2]*m[4],
		m[5]*m[6] - m[3]*m[8], m[0]*m[8] - m[2]*m[6], m[2]*m[3] - m[0]*m[5],
		m[3]*m[7] - m[4]*m[6], m[1]*m[6] - m[0]*m[7], m[0]*m[4] - m[1]*m[3],
	}
}

// picture is a frame that is being rendered: three values of 0 to 255 per pixel.
type picture struct{ pix []float32 }

func (f *picture) at(x, y int) []float32 { return f.pix[3*(y*Width+x) : 3*(y*Width+x)+3] }

// take renders the page in front of a table, with four samples per pixel.
func (v view) take(p *page, table func(x, y float64) [3]float64) *picture {
	frame := &picture{make([]float32, 3*Width*Height)}
	for y := range Height {
		for x := range Width {
			out := frame.at(x, y)
			for _, sub := range [4]point{{0.25, 0.25}, {0.75, 0.25}, {0.25, 0.75}, {0.75, 0.75}} {
				at := point{float64(x) + sub.x, float64(y) + sub.y}
				q := v.onPage(apply(v.toPage, at))
				colour, ok := p.sample(q)
				if !ok {
					colour = table(at.x, at.y)
				}
				for i := range 3 {
					out[i] += float32(colour[i] / 4)
				}
			}
		}
	}
	return frame
}

// onPage corrects a place on the page for the bend.
func (v view) onPage(q point) point {
	return point{q.x, q.y - v.bend*math.Sin(math.Pi*min(max(q.x/v.width, 0), 1))}
}

// sample reads the page at a place in mm, with interpolation.
func (p *page) sample(q point) (colour [3]float64, ok bool) {
	x, y := q.x*perMM-0.5, q.y*perMM-0.5
	x0, y0 := int(math.Floor(x)), int(math.Floor(y))
	size := p.img.Rect.Size()
	if x0 < 0 || y0 < 0 || x0 >= size.X-1 || y0 >= size.Y-1 {
		return colour, false
	}
	fx, fy := x-float64(x0), y-float64(y0)
	at := p.img.PixOffset(x0, y0)
	upper, lower := p.img.Pix[at:at+8], p.img.Pix[at+p.img.Stride:at+p.img.Stride+8]
	for i := range 3 {
		top := float64(upper[i])*(1-fx) + float64(upper[i+4])*fx
		bottom := float64(lower[i])*(1-fx) + float64(lower[i+4])*fx
		colour[i] = top*(1-fy) + bottom*fy
	}
	return colour, true
}

// table returns the surface under the document: plain, grained like wood, or
// chequered like cloth.
func table(random *rand.Rand) func(x, y float64) [3]float64 {
	base := [3]float64{40 + 170*random.Float64(), 40 + 160*random.Float64(), 40 + 150*random.Float64()}
	kind, a, b := random.IntN(3), 0.02+0.2*random.Float64(), 0.02+0.05*random.Float64()
	return func(x, y float64) [3]float64 {
		shade := 1.0
		switch kind {
		case 1:
			shade = 0.85 + 0.15*math.Sin(a*y+3*math.Sin(b*x/3))
		case 2:
			shade = 0.8 + 0.2*math.Copysign(1, math.Sin(a*x)*math.Sin(a*y))
		}
		return [3]float64{base[0] * shade, base[1] * shade, base[2] * shade}
	}
}

// light darkens the frame towards one side, and adds a shadow and a reflection on
// the document.
func light(frame *picture, ease Ease, v view, p *page, random *rand.Rand) {
	direction, loss := random.Float64()*2*math.Pi, ease.gradient.draw(random)
	dx, dy := math.Cos(direction), math.Sin(direction)
	shadow := random.Float64() < ease.shadow
	angle, cut, depth, soft := random.Float64()*2*math.Pi, 300*(random.Float64()-0.5), 0.2+0.3*random.Float64(),
		4+20*random.Float64()
	glare := ease.glare.draw(random)
	spot := apply(v.toFrame, point{p.width * random.Float64(), p.height * random.Float64()})
	size := 40 + 80*random.Float64()
	for y := range Height {
		for x := range Width {
			fx, fy := float64(x)-Width/2, float64(y)-Height/2
			gain := 1 - loss*(0.5+(fx*dx+fy*dy)/Width)
			if shadow {
				gain *= 1 - depth/(1+math.Exp(-(fx*math.Cos(angle)+fy*math.Sin(angle)-cut)/soft))
			}
			shine := 0.0
			if glare > 0 {
				gx, gy := (float64(x)-spot.x)/size, (float64(y)-spot.y)/size
				if far := gx*gx + gy*gy; far < 25 {
					shine = glare * math.Exp(-far/2)
				}
			}
			out := frame.at(x, y)
			for i := range out {
				lit := float64(out[i]) * gain
				out[i] = float32(lit + (255-lit)*shine)
			}
		}
	}
}

// finish blurs the frame like lens and hand, adds noise and encodes it.
func finish(frame *picture, ease Ease, random *rand.Rand) ([]byte, error) {
	smooth(frame, ease.blur.draw(random))
	smear(frame, ease.motion.draw(random), random.Float64()*math.Pi)
	sigma := ease.noise.draw(random)
	img := image.NewRGBA(image.Rect(0, 0, Width, Height))
	for i := range Width * Height {
		noise := sigma * random.NormFloat64()
		for c := range 3 {
			img.Pix[4*i+c] = uint8(min(max(float64(frame.pix[3*i+c])+noise+0.5, 0), 255))
		}
		img.Pix[4*i+3] = 255
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, img, &jpeg.Options{Quality: int(ease.quality.draw(random))})
	return out.Bytes(), err
}

// smooth is a Gaussian of the given standard deviation.
func smooth(frame *picture, sigma float64) {
	if sigma < 0.2 {
		return
	}
	reach := int(math.Ceil(3 * sigma))
	kernel := make([]float32, 2*reach+1)
	var sum float32
	for i := range kernel {
		d := float64(i-reach) / sigma
		kernel[i] = float32(math.Exp(-d * d / 2))
		sum += kernel[i]
	}
	for i := range kernel {
		kernel[i] /= sum
	}
	along(frame, kernel, 1, 0)
	along(frame, kernel, 0, 1)
}

// smear applies a motion blur of a number of pixels in a direction.
func smear(frame *picture, length, direction float64) {
	if length < 0.5 {
		return
	}
	const taps = 5
	source := append([]float32(nil), frame.pix...)
	clear(frame.pix)
	for t := range taps {
		d := length * (float64(t)/(taps-1) - 0.5)
		shiftX, shiftY := d*math.Cos(direction), d*math.Sin(direction)
		x0, y0 := int(math.Floor(shiftX)), int(math.Floor(shiftY))
		fx, fy := float32(shiftX-float64(x0)), float32(shiftY-float64(y0))
		for y := range Height {
			y1, y2 := clampTo(y+y0, Height), clampTo(y+y0+1, Height)
			for x := range Width {
				x1, x2 := clampTo(x+x0, Width), clampTo(x+x0+1, Width)
				for c := range 3 {
					top := source[3*(y1*Width+x1)+c]*(1-fx) + source[3*(y1*Width+x2)+c]*fx
					bottom := source[3*(y2*Width+x1)+c]*(1-fx) + source[3*(y2*Width+x2)+c]*fx
					frame.pix[3*(y*Width+x)+c] += (top*(1-fy) + bottom*fy) / taps
				}
			}
		}
	}
}

// along convolves the frame in one direction.
func along(frame *picture, kernel []float32, dx, dy int) {
	reach := len(kernel) / 2
	source := append([]float32(nil), frame.pix...)
	for y := range Height {
		for x := range Width {
			var sum [3]float32
			inside := x >= reach && y >= reach && x < Width-reach && y < Height-reach
			for k, weight := range kernel {
				at := 3 * ((y+dy*(k-reach))*Width + x + dx*(k-reach))
				if !inside {
					at = 3 * (clampTo(y+dy*(k-reach), Height)*Width + clampTo(x+dx*(k-reach), Width))
				}
				sum[0] += weight * source[at]
				sum[1] += weight * source[at+1]
				sum[2] += weight * source[at+2]
			}
			copy(frame.at(x, y), sum[:])
		}
	}
}

func clampTo(i, n int) int { return min(max(i, 0), n-1) }
