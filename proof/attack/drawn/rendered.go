package drawn

import (
	"image"
	"math"
	"math/rand/v2"
)

// vector is a place or a direction: to the right, down and away from the camera.
type vector [3]float64

func (a vector) plus(b vector, times float64) vector {
	return vector{a[0] + times*b[0], a[1] + times*b[1], a[2] + times*b[2]}
}

func (a vector) dot(b vector) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func (a vector) unit() vector { return vector{}.plus(a, 1/math.Sqrt(a.dot(a))) }

// ball returns the distance of a place from an ellipsoid, roughly.
func ball(p, middle, radii vector) float64 {
	q := vector{(p[0] - middle[0]) / radii[0], (p[1] - middle[1]) / radii[1], (p[2] - middle[2]) / radii[2]}
	return (math.Sqrt(q.dot(q)) - 1) * min(radii[0], radii[1], radii[2])
}

// blend joins two distances with a rounded seam, or cuts the negative of one out of
// the other.
func blend(a, b, round float64) float64 {
	h := max(round-math.Abs(a-b), 0) / round
	return min(a, b) - h*h*round/4
}

// head is a head made of ellipsoids.
type head struct {
	look
	light  vector
	skinAt func(p vector) float64 // pattern of the skin's colour
}

// skinned returns the distance of a place from the skin.
func (h *head) skinned(p vector) float64 {
	m := vector{math.Abs(p[0]), p[1], p[2]}
	d := ball(p, vector{0, -0.06, 0.02}, vector{h.wide, 0.26, 0.27})                     // skull
	d = blend(d, ball(p, vector{0, 0.12, -0.04}, vector{h.wide * 0.78, 0.19, 0.2}), 0.1) // jaw
	d = blend(d, ball(p, vector{0, 0.33, 0.06}, vector{0.11, 0.25, 0.11}), 0.05)         // neck
	d = blend(d, ball(m, vector{0.12, 0.07, -0.15}, vector{0.06, 0.05, 0.05}), 0.06)     // cheek
	d = blend(d, ball(m, vector{h.wide + 0.01, 0.01, 0.03}, vector{0.03, 0.06, 0.03}), 0.02)
	d = -blend(-d, ball(m, vector{h.gap, h.eyesAt - 0.5, -0.265}, vector{0.06, 0.035, 0.04}), 0.06) // socket
	d = blend(d, ball(m, vector{h.gap, h.eyesAt - 0.56, -0.2}, vector{0.06, 0.02, 0.04}), 0.05)     // brow
	d = blend(d, ball(p, vector{0, 0.02, -0.25}, vector{0.025, 0.08, 0.04}), 0.04)                  // nose
	d = blend(d, ball(p, vector{0, 0.085, -0.275}, vector{h.nose, 0.025, 0.04}), 0.03)
	d = blend(d, ball(p, vector{0, h.mouthAt - 0.51, -0.222}, vector{h.mouth, h.lip * 1.3, 0.03}), 0.015)
	return blend(d, ball(p, vector{0, h.mouthAt - 0.482, -0.218}, vector{h.mouth * 0.8, h.lip * 1.5, 0.03}), 0.015)
}

// near returns the distance of a place from the head and the colour there.
func (h *head) near(p vector) (float64, rgb) {
	m := vector{math.Abs(p[0]), p[1], p[2]}
	d, colour := h.skinned(p), h.skin
	if d < 0.01 {
		colour = h.painted(p, m)
	}
	eye := vector{h.gap, h.eyesAt - 0.5, -0.185}
	if e := ball(m, eye, vector{h.size, h.size * 0.62, h.size}); e < d {
		d, colour = e, white
		switch r := math.Hypot(m[0]-eye[0], m[1]-eye[1]) / h.size; {
		case r < 0.2:
			colour = dark
		case r < 0.48:
			colour = h.eye
		}
	}
	hair := max(ball(p, vector{0, -0.08, 0.05}, vector{h.wide + 0.03, 0.29, 0.31}), p[1]+0.5-h.fringe-0.9*max(0, p[2]+0.1))
	if hair < d {
		d, colour = hair, h.hair.times(0.8+0.4*h.skinAt(vector{3 * p[0], 0.3 * p[1], 3 * p[2]}))
	}
	return d, colour
}

// painted is the colour of the skin, the lips and the brows.
func (h *head) painted(p, m vector) rgb {
	c := h.skin.times(0.94 + 0.12*h.skinAt(p))
	red := math.Exp(-((m[0]-0.11)*(m[0]-0.11) + (p[1]-0.08)*(p[1]-0.08)) / 0.004)
	c = c.mix(rgb{.85, .4, .35}, 0.18*red)
	lips := math.Hypot(p[0]/h.mouth, (p[1]-h.mouthAt+0.497)/(2.4*h.lip))
	c = c.mix(rgb{.7, .3, .3}, 0.55*min(max((1.15-lips)/0.3, 0), 1))
	brow := math.Hypot((m[0]-h.gap)/0.05, (p[1]-h.eyesAt+0.565-0.3*math.Abs(m[0]-h.gap))/0.011)
	return c.mix(h.hair, min(max((1.2-brow)/0.4, 0), 1)*0.85)
}

// Rendered renders a head like the ones in games: shaded, with a glossy, spotted
// skin.
func Rendered(random *rand.Rand) *image.RGBA { return rendered(random).picture() }

func rendered(random *rand.Rand) *sheet {
	h := &head{look: newLook(random), light: vector{random.Float64()*1.6 - 0.8, -0.7, -1}.unit(), skinAt: pattern(random)}
	s := new(sheet)
	for i := range s {
		s[i] = h.seen((float64(i%side)+0.5)/side-0.5, (float64(i/side)+0.5)/side-0.5)
	}
	return s
}

// seen follows the ray of a place of the picture and returns the colour that it
// meets.
func (h *head) seen(x, y float64) rgb {
	ray, at := vector{0.35 * x, 0.35 * y, 1}.unit(), vector{0.62 * x, 0.62 * y, -1}
	for range 60 {
		d, colour := h.near(at)
		if d < 0.0008 {
			return h.lit(at, ray, colour)
		}
		if at = at.plus(ray, 0.8*d); at[2] > 0.5 {
			break
		}
	}
	return h.room.times(0.95 + 0.3*y)
}

// lit returns the light that comes from a place of the head.
func (h *head) lit(at, ray vector, colour rgb) rgb {
	distance := func(p vector) float64 { d, _ := h.near(p); return d }
	const step = 0.002
	var normal vector
	for i := range normal {
		var by vector
		by[i] = step
		normal[i] = distance(at.plus(by, 1)) - distance(at.plus(by, -1))
	}
	normal = normal.unit()
	open := min(max(distance(at.plus(normal, 0.05))/0.05, 0), 1) // how little is around the place
	diffuse := max(normal.dot(h.light), 0)
	gloss := math.Pow(max(normal.dot(h.light.plus(ray, -1).unit()), 0), 24)
	return colour.times((0.35+0.15*-normal[1])*(0.4+0.6*open)+0.65*diffuse).mix(white, 0.16*gloss*open)
}

// pattern returns a random pattern of blotches and spots in several sizes, about 0
// to 1.
func pattern(random *rand.Rand) func(p vector) float64 {
	var waves [24][4]float64
	for i := range waves {
		size := 12 * math.Pow(1.22, float64(i))
		for j := range 3 {
			waves[i][j] = size * random.NormFloat64()
		}
		waves[i][3] = 2 * math.Pi * random.Float64()
	}
	return func(p vector) float64 {
		var sum float64
		for _, w := range waves {
			sum += math.Sin(p.dot(vector{w[0], w[1], w[2]}) + w[3])
		}
		return 0.5 + sum/math.Sqrt(float64(len(waves)))/3
	}
}
