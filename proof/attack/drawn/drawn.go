// Package drawn draws faces that are no photographs: cartoons, shaded drawings and
// a rendered head. They are the faces of attacks in the attack range.
package drawn

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
)

// side is the width and height of every drawing, in pixels.
const side = 256

// rgb is a colour, 0 to 1.
type rgb [3]float64

// times returns the colour with another brightness.
func (c rgb) times(light float64) rgb { return rgb{c[0] * light, c[1] * light, c[2] * light} }

// mix returns the colour with a share of another.
func (c rgb) mix(other rgb, share float64) rgb {
	for i := range c {
		c[i] += share * (other[i] - c[i])
	}
	return c
}

func (c rgb) opaque() color.RGBA {
	level := func(v float64) uint8 { return uint8(255*min(max(v, 0), 1) + 0.5) }
	return color.RGBA{level(c[0]), level(c[1]), level(c[2]), 255}
}

// shape returns how far a place is outside of a shape; it is negative inside. All
// lengths are in widths of the drawing.
type shape func(x, y float64) float64

// oval is an ellipse.
func oval(x, y, across, down float64) shape {
	return func(u, v float64) float64 {
		return (math.Hypot((u-x)/across, (v-y)/down) - 1) * min(across, down)
	}
}

// arc is a line from one place to another that is bent down in its middle.
func arc(x0, y0, x1, y1, bend, width float64) shape {
	return func(u, v float64) float64 {
		t := min(max(((u-x0)*(x1-x0)+(v-y0)*(y1-y0))/((x1-x0)*(x1-x0)+(y1-y0)*(y1-y0)), 0), 1)
		return math.Hypot(u-x0-t*(x1-x0), v-y0-t*(y1-y0)-4*bend*t*(1-t)) - width/2
	}
}

// mirrored is a shape on both sides of the middle.
func mirrored(s shape) shape {
	return func(x, y float64) float64 { return s(0.5-math.Abs(x-0.5), y) }
}

// sheet is a drawing under way.
type sheet [side * side]rgb

// fill draws a shape with an edge of the given width.
func (s *sheet) fill(what shape, edge float64, colour func(x, y float64) rgb) {
	for i := range s {
		x, y := (float64(i%side)+0.5)/side, (float64(i/side)+0.5)/side
		if cover := min(max(0.5-what(x, y)/edge, 0), 1); cover > 0 {
			s[i] = s[i].mix(colour(x, y), cover)
		}
	}
}

func (s *sheet) picture() *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, side, side))
	for i, c := range s {
		img.SetRGBA(i%side, i/side, c.opaque())
	}
	return img
}

func plain(c rgb) func(x, y float64) rgb { return func(float64, float64) rgb { return c } }

// everywhere covers the whole sheet.
func everywhere(float64, float64) float64 { return -1 }

// crisp is the edge of a shape drawn with a pen.
const crisp = 1.2 / side

// tones of skin, hair, eyes and what else is drawn.
var (
	skins = []rgb{{.98, .84, .74}, {.93, .75, .62}, {.87, .67, .52}, {.72, .51, .37}, {.5, .34, .25}}
	hairs = []rgb{{.12, .1, .09}, {.3, .2, .13}, {.55, .38, .2}, {.85, .72, .42}, {.6, .58, .56}}
	eyes  = []rgb{{.25, .16, .1}, {.3, .45, .6}, {.35, .45, .3}}
	rooms = []rgb{{.75, .8, .85}, {.86, .82, .76}, {.35, .4, .45}, {.6, .7, .62}}
	dark  = rgb{.08, .06, .06}
	white = rgb{.97, .97, .96}
)

// look holds what differs between two drawings of one kind.
type look struct {
	skin, hair, eye, room            rgb
	wide, long                       float64 // of the face
	gap, eyesAt, size                float64 // of the eyes: from the middle, down, half the width
	mouthAt, mouth, smile, nose, lip float64
	fringe                           float64
}

func newLook(random *rand.Rand) look {
	between := func(low, high float64) float64 { return low + (high-low)*random.Float64() }
	pick := func(from []rgb) rgb { return from[random.IntN(len(from))] }
	return look{
		skin: pick(skins), hair: pick(hairs), eye: pick(eyes), room: pick(rooms),
		wide: between(0.21, 0.25), long: between(0.28, 0.32),
		gap: between(0.085, 0.105), eyesAt: between(0.455, 0.485), size: between(0.034, 0.046),
		mouthAt: between(0.665, 0.69), mouth: between(0.06, 0.085), smile: between(0.0, 0.025),
		nose: between(0.025, 0.04), lip: between(0.008, 0.016), fringe: between(0.28, 0.34),
	}
}

// Cartoon draws a face as comics do: outlines and flat colours.
func Cartoon(random *rand.Rand) *image.RGBA {
	l, s := newLook(random), new(sheet)
	pen, lips := 0.008+0.006*random.Float64(), l.skin.mix(rgb{.75, .25, .25}, 0.5)
	face := oval(0.5, 0.52, l.wide, l.long)
	outlined := func(what shape, c rgb) {
		s.fill(func(x, y float64) float64 { return what(x, y) - pen }, crisp, plain(dark))
		s.fill(what, crisp, plain(c))
	}
	s.fill(everywhere, crisp, plain(l.room))
	outlined(oval(0.5, 0.44, l.wide+0.04, l.long), l.hair)
	outlined(oval(0.5, 1.02, 0.4, 0.2), l.eye)
	outlined(oval(0.5, 0.82, 0.1, 0.1), l.skin.times(0.9))
	outlined(mirrored(oval(0.5-l.wide, 0.53, 0.03, 0.05)), l.skin)
	outlined(face, l.skin)
	s.fill(func(x, y float64) float64 { return max(face(x, y), y-l.fringe-0.06*math.Abs(x-0.42)) }, crisp, plain(l.hair))
	outlined(mirrored(oval(0.5-l.gap, l.eyesAt, l.size, l.size*0.55)), white)
	s.fill(mirrored(oval(0.5-l.gap, l.eyesAt, l.size*0.5, l.size*0.52)), crisp, plain(l.eye))
	s.fill(mirrored(oval(0.5-l.gap, l.eyesAt, l.size*0.25, l.size*0.25)), crisp, plain(dark))
	s.fill(mirrored(arc(0.455-l.gap, 0.41, 0.535-l.gap, 0.405, -0.015, 0.016)), crisp, plain(l.hair.times(0.7)))
	s.fill(mirrored(arc(0.485, 0.5, 0.5-l.nose, 0.585, 0, pen)), crisp, plain(l.skin.times(0.7)))
	s.fill(arc(0.5-l.nose, 0.585, 0.5+l.nose, 0.585, 0.012, pen), crisp, plain(l.skin.times(0.5)))
	s.fill(arc(0.5-l.mouth, l.mouthAt, 0.5+l.mouth, l.mouthAt, l.smile, 3*l.lip), crisp, plain(lips))
	s.fill(arc(0.5-l.mouth, l.mouthAt, 0.5+l.mouth, l.mouthAt, l.smile, pen*0.8), crisp, plain(dark.mix(lips, 0.3)))
	return s.picture()
}

// Thumb draws a face upon a thumb, with the soft shades of an airbrush.
func Thumb(random *rand.Rand) *image.RGBA {
	l, s := newLook(random), new(sheet)
	from := random.Float64() - 0.5 // the side that the light comes from
	shade := func(x, y float64) rgb {
		dx, dy := (x-0.5)/l.wide, (y-0.5)/(l.long+0.05)
		bulge := math.Sqrt(max(0, 1-0.8*dx*dx-0.35*dy*dy))
		return l.skin.times(0.5+0.5*bulge+0.12*from*dx).mix(rgb{.9, .35, .3}, 0.12*math.Abs(dx))
	}
	const soft = 0.03
	shadow := l.skin.times(0.62)
	body := func(x, y float64) float64 { // a thumb has no neck
		return min(oval(0.5, 0.46, l.wide, l.long)(x, y), max(math.Abs(x-0.5)-l.wide*0.97, 0.46-y))
	}
	s.fill(everywhere, crisp, func(_, y float64) rgb { return l.room.times(0.75 + 0.4*y) })
	s.fill(body, 0.012, shade)
	s.fill(mirrored(oval(0.5-l.gap, l.eyesAt-0.01, l.size*1.5, l.size)), 2*soft, plain(shadow))
	s.fill(mirrored(oval(0.5-l.gap, l.eyesAt, l.size, l.size*0.5)), 0.01, plain(white.times(0.92)))
	s.fill(mirrored(oval(0.5-l.gap, l.eyesAt, l.size*0.48, l.size*0.48)), 0.01, plain(l.eye))
	s.fill(mirrored(oval(0.5-l.gap, l.eyesAt, l.size*0.22, l.size*0.22)), 0.008, plain(dark))
	s.fill(mirrored(arc(0.455-l.gap, 0.415, 0.535-l.gap, 0.41, -0.015, 0.014)), 0.012, plain(l.hair))
	s.fill(arc(0.5+0.02*from, 0.48, 0.5+0.03*from, 0.58, 0, 0.01), soft, plain(l.skin.times(1.08)))
	s.fill(oval(0.5, 0.595, l.nose*1.3, 0.014), soft, plain(shadow))
	s.fill(mirrored(oval(0.5-l.nose*0.6, 0.59, 0.008, 0.005)), 0.008, plain(shadow.times(0.5)))
	s.fill(mirrored(oval(0.5-l.gap-0.02, 0.6, 0.035, 0.03)), 0.06, func(x, y float64) rgb {
		return shade(x, y).mix(rgb{.9, .4, .4}, 0.3)
	})
	s.fill(arc(0.5-l.mouth, l.mouthAt, 0.5+l.mouth, l.mouthAt, l.smile, 2.6*l.lip), 0.014,
		plain(l.skin.mix(rgb{.75, .2, .25}, 0.6)))
	s.fill(arc(0.5-l.mouth, l.mouthAt, 0.5+l.mouth, l.mouthAt, l.smile, 0.006), 0.008, plain(shadow.times(0.4)))
	return s.picture()
}
