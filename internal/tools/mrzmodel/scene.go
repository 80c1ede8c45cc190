package main

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"strings"

	"agegate/internal/check/document/glyph"
	"agegate/internal/check/document/mrz"
)

// example is a cell with its class.
type example struct {
	cell  glyph.Cell
	class int
}

// sceneChars is the number of characters in a line of a scene.
const sceneChars = 10

// scene is a piece of a zone as a camera sees it.
type scene struct {
	img    *image.Gray
	pitch  float64 // pixels
	tall   float64 // height of a capital letter, pixels
	angle  float64 // of the line, in radians
	shear  float64
	middle float64 // middle of the picture, in both directions
	lines  [2][sceneChars]int
	other  bool    // the lines are in other fonts, or a pattern replaces them
	wide   float64 // width of the characters, relative to the usual width
	gap    float64 // from the first line to the second, in pitches
}

// newScene draws a scene.
func newScene(fonts *fontSet, random *rand.Rand) *scene {
	s := &scene{
		pitch: spread(random, 9, 28), angle: random.Float64() * 2 * math.Pi,
		shear: 0.12 * random.NormFloat64(), gap: spread(random, 1.5, 2.7), other: random.IntN(12) == 0,
		wide: spread(random, 0.88, 1.12),
	}
	s.tall = s.pitch * capital * spread(random, 0.72, 1.2)
	for l := range s.lines {
		for i := range s.lines[l] {
			s.lines[l][i] = pickChar(random)
		}
	}
	if s.other {
		for l := range s.lines {
			for i := range s.lines[l] {
				s.lines[l][i] = random.IntN(len(fonts.others))
			}
		}
	}
	var over func(x, y float64) float64
	if !s.other && random.IntN(12) == 0 {
		s.other, over = true, pattern(random)
		s.lines = [2][sceneChars]int{}
	}
	side := int(s.pitch*(sceneChars+3)) + 8
	s.middle = float64(side) / 2
	s.img = s.draw(fonts, side, over, random)
	return s
}

// pickChar draws a character, fillers more often than others.
func pickChar(random *rand.Rand) int {
	if random.IntN(8) == 0 {
		return len(mrz.Alphabet) - 1
	}
	return random.IntN(len(mrz.Alphabet))
}

func spread(random *rand.Rand, low, high float64) float64 { return low + (high-low)*random.Float64() }

// place returns the place in the picture of a place on the lines: n counts
// characters from the centre of the first one, v counts pitches down from the
// first line.
func (s *scene) place(n, v float64) glyph.Place {
	cos, sin := math.Cos(s.angle), math.Sin(s.angle)
	downX, downY := s.shear*cos-sin, s.shear*sin+cos
	along, down := (n-(sceneChars-1)/2.0)*s.pitch, v*s.pitch
	return glyph.Place{
		X: s.middle + along*cos + down*downX, Y: s.middle + along*sin + down*downY,
		AlongX: s.pitch * cos, AlongY: s.pitch * sin,
		DownX: s.tall * downX, DownY: s.tall * downY,
	}
}

// draw renders the lines, or the function over if it is not nil, as a camera
// would take them.
func (s *scene) draw(fonts *fontSet, side int, over func(x, y float64) float64, random *rand.Rand) *image.Gray {
	bold, soft := spread(random, 0.25, 0.75), spread(random, 0.1, 0.5)
	paper, contrast := spread(random, 90, 245), spread(random, 0.25, 0.97)
	back, worn := background(random), wear(random)
	pixels := make([]float32, side*side)
	cos, sin := math.Cos(s.angle), math.Sin(s.angle)
	ratio := s.pitch * capital / s.tall
	reach := 1.1 * (s.gap + 1) * s.pitch
	for y := range side {
		for x := range side {
			dx, dy := float64(x)+0.5-s.middle, float64(y)+0.5-s.middle
			shade := back(dx/s.pitch, dy/s.pitch)
			across := -dx*sin + dy*cos
			if over != nil {
				shade *= 1 - contrast*over(dx/s.pitch, dy/s.pitch)
			} else if math.Abs(across) < reach {
				var ink float32
				for sub := range 4 {
					ox, oy := dx+float64(sub&1)/2-0.25, dy+float64(sub>>1)/2-0.25
					v := -ox*sin + oy*cos
					u := ox*cos + oy*sin - s.shear*v
					ink += s.ink(fonts, u/s.pitch+(sceneChars-1)/2.0, v/s.pitch, ratio, float32(bold), float32(soft))
				}
				shade *= 1 - contrast*float64(ink)/4*worn(dx/s.pitch, dy/s.pitch)
			}
			pixels[y*side+x] = float32(paper * shade)
		}
	}
	scale := s.pitch / 18
	pixels = blur(pixels, side, scale*spread(random, 0.2, 1.7))
	if random.IntN(3) == 0 {
		pixels = smear(pixels, side, scale*spread(random, 0.5, 3.5), random.Float64()*math.Pi)
	}
	return finish(pixels, side, spread(random, 0, 13), random)
}

// ink returns how much of a place on the lines is covered.
func (s *scene) ink(fonts *fontSet, n, v, ratio float64, bold, soft float32) float32 {
	for l := range s.lines {
		w := (v - s.gap*float64(l)) * ratio
		if w < -0.9 || w > 0.9 {
			continue
		}
		i := int(math.Floor(n + 0.5))
		if i < 0 || i >= sceneChars {
			return 0
		}
		from := fonts.chars[s.lines[l][i]%len(fonts.chars)]
		if s.other {
			from = fonts.others[s.lines[l][i]]
		}
		mx, my := int((n-float64(i))/s.wide*master+masterSide/2), int(w*master+masterSide/2)
		return min(max((from[my*masterSide+mx]-bold)/soft+0.5, 0), 1)
	}
	return 0
}

// background returns what is printed under a zone: fading light, bands, and an
// edge. Places are in pitches from the middle; 1 is blank paper.
func background(random *rand.Rand) func(x, y float64) float64 {
	gx, gy := 0.04*random.NormFloat64(), 0.04*random.NormFloat64()
	var waves [3][4]float64
	for i := range waves {
		waves[i] = [4]float64{3 * random.NormFloat64(), 3 * random.NormFloat64(), random.Float64() * 2 * math.Pi,
			max(0, 0.06*random.NormFloat64())}
	}
	edge := 0.0
	angle := random.Float64() * 2 * math.Pi
	cut := spread(random, -4, 4)
	if random.IntN(4) == 0 {
		edge = spread(random, 0.1, 0.6)
	}
	cos, sin := math.Cos(angle), math.Sin(angle)
	return func(x, y float64) float64 {
		shade := 1 + gx*x + gy*y
		for _, w := range waves {
			if w[3] > 0 {
				shade -= w[3] * (1 + math.Sin(w[0]*x+w[1]*y+w[2]))
			}
		}
		if edge > 0 && x*cos+y*sin > cut {
			shade *= 1 - edge
		}
		return min(max(shade, 0.1), 1.1)
	}
}

// wear returns how much of the ink is left; in most scenes, all of it.
func wear(random *rand.Rand) func(x, y float64) float64 {
	if random.IntN(3) > 0 {
		return func(_, _ float64) float64 { return 1 }
	}
	loss := spread(random, 0.1, 0.5)
	ax, ay, bx, by := 4*random.NormFloat64(), 4*random.NormFloat64(), random.NormFloat64(), random.NormFloat64()
	return func(x, y float64) float64 {
		return 1 - loss*(0.5+0.5*math.Sin(ax*x+ay*y+2*math.Sin(bx*x+by*y)))
	}
}

// pattern returns something regular that is not text: dots in a lattice, bars of
// random widths, or waves. Places are in pitches; 1 is full ink.
func pattern(random *rand.Rand) func(x, y float64) float64 {
	angle := random.Float64() * 2 * math.Pi
	period := spread(random, 0.5, 1.6)
	hard := spread(random, 1, 6)
	cos, sin := math.Cos(angle), math.Sin(angle)
	ink := func(v float64) float64 { return min(max(0.5+hard*v, 0), 1) }
	k := 2 * math.Pi / period
	switch random.IntN(3) {
	case 0: // a lattice of three directions
		return func(x, y float64) float64 {
			u, v := x*cos+y*sin, y*cos-x*sin
			return ink((math.Cos(k*u) + math.Cos(k*(u/2+0.866*v)) + math.Cos(k*(u/2-0.866*v))) / 3)
		}
	case 1: // bars
		var widths [40]float64
		for i := range widths {
			widths[i] = float64(random.IntN(2))
		}
		module := spread(random, 0.1, 0.5)
		return func(x, y float64) float64 {
			i := int(math.Floor((x*cos + y*sin) / module))
			return widths[((i%40)+40)%40]
		}
	}
	bend := spread(random, 0, 1.5)
	return func(x, y float64) float64 {
		u, v := x*cos+y*sin, y*cos-x*sin
		return ink(math.Sin(k*u + bend*math.Sin(k*v*0.7)))
	}
}

func blur(from []float32, side int, sigma float64) []float32 {
	if sigma < 0.25 {
		return from
	}
	reach := int(math.Ceil(2.5 * sigma))
	kernel := make([]float32, 2*reach+1)
	var sum float32
	for i := range kernel {
		d := float64(i-reach) / sigma
		kernel[i] = float32(math.Exp(-d * d / 2))
		sum += kernel[i]
	}
	for _, step := range []int{1, side} {
		to := make([]float32, len(from))
		for i := range to {
			for k, weight := range kernel {
				at := min(max(i+(k-reach)*step, 0), len(from)-1)
				to[i] += weight / sum * from[at]
			}
		}
		from = to
	}
	return from
}

// smear blurs a picture by a movement of the given length in pixels and
// direction.
func smear(from []float32, side int, length, direction float64) []float32 {
	to := make([]float32, len(from))
	const taps = 5
	for t := range taps {
		d := length * (float64(t)/(taps-1) - 0.5)
		shift := int(math.Round(d*math.Sin(direction)))*side + int(math.Round(d*math.Cos(direction)))
		for i := range to {
			to[i] += from[min(max(i+shift, 0), len(from)-1)] / taps
		}
	}
	return to
}

// finish adds noise and, in most scenes, JPEG artefacts.
func finish(pixels []float32, side int, noise float64, random *rand.Rand) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, side, side))
	for i, v := range pixels {
		img.Pix[i] = uint8(min(max(float64(v)+noise*random.NormFloat64()+0.5, 0), 255))
	}
	if random.IntN(3) == 0 {
		return img
	}
	var data bytes.Buffer
	if jpeg.Encode(&data, img, &jpeg.Options{Quality: 40 + random.IntN(56)}) != nil {
		return img
	}
	if decoded, err := jpeg.Decode(&data); err == nil {
		if grey, ok := decoded.(*image.Gray); ok {
			return grey
		}
	}
	return img
}

// oneWay are the characters that are not characters when turned upside down.
const oneWay = "ACEFGJKLPQRTUVY347<"

// examples takes cells of the scene, about as precisely as a reader finds them:
// each character twice, and some junk.
func (s *scene) examples(random *rand.Rand, use func(example)) {
	var e example
	take := func(p glyph.Place, class int) {
		e.class = class
		glyph.Sample(s.img, p, &e.cell)
		use(e)
	}
	for i := range 4 * sceneChars {
		l, n := i%2, i/2%sceneChars
		p := s.jitter(float64(n)+0.07*random.NormFloat64(), s.gap*float64(l)+0.05*random.NormFloat64(), random)
		char := s.lines[l][n]
		if s.other {
			take(p, glyph.Junk)
			continue
		}
		take(p, char)
		if random.IntN(8) == 0 && strings.IndexByte(oneWay, mrz.Alphabet[char]) >= 0 {
			p.AlongX, p.AlongY, p.DownX, p.DownY = -p.AlongX, -p.AlongY, -p.DownX, -p.DownY
			take(p, glyph.Junk)
		}
	}
	for range 3 {
		s.junk(random, take)
	}
}

// junk takes cells without a character in the middle.
func (s *scene) junk(random *rand.Rand, take func(glyph.Place, int)) {
	// between two characters
	take(s.jitter(float64(random.IntN(sceneChars-1))+spread(random, 0.4, 0.6), 0.05*random.NormFloat64(), random),
		glyph.Junk)
	// above or below a line
	take(s.jitter(float64(random.IntN(sceneChars)), -spread(random, 0.55, 1.6), random), glyph.Junk)
	take(s.jitter(-spread(random, 0.9, 2), 0.1*random.NormFloat64(), random), glyph.Junk) // before the line
	p := s.jitter(float64(random.IntN(sceneChars)), 0, random)
	p.AlongX, p.AlongY, p.DownX, p.DownY = p.DownX, p.DownY, -p.AlongX, -p.AlongY // lying on its side
	take(p, glyph.Junk)
}

// jitter returns the place with a small error in size and angle.
func (s *scene) jitter(n, v float64, random *rand.Rand) glyph.Place {
	p := s.place(n, v)
	turn := 0.04 * random.NormFloat64()
	size, tall := 1+0.04*random.NormFloat64(), 1+0.08*random.NormFloat64()
	cos, sin := math.Cos(turn), math.Sin(turn)
	p.AlongX, p.AlongY = size*(p.AlongX*cos-p.AlongY*sin), size*(p.AlongX*sin+p.AlongY*cos)
	turn = 0.06 * random.NormFloat64()
	cos, sin = math.Cos(turn), math.Sin(turn)
	p.DownX, p.DownY = tall*(p.DownX*cos-p.DownY*sin), tall*(p.DownX*sin+p.DownY*cos)
	return p
}
