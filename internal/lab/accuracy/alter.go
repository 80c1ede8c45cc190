package accuracy

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"agegate/internal/check/age"
	"agegate/internal/check/vision"
	"agegate/internal/lab/picture"

	xdraw "golang.org/x/image/draw"
)

// shot is a frame that alterations change.
type shot struct {
	img    *image.RGBA
	inner  image.Rectangle // the picture within its grey border
	points []vision.Point  // the face's 468 landmarks
}

func (s *shot) copy() *shot {
	c := *s
	c.img = &image.RGBA{Pix: slices.Clone(s.img.Pix), Stride: s.img.Stride, Rect: s.img.Rect}
	return &c
}

// Alteration is one way in which a picture of the same face can differ.
type Alteration struct {
	Name  string
	apply func(s *shot, random *rand.Rand)
}

// Alterations are the changes that `agegate-lab eval --alter` measures, each on its
// own. Their strengths are drawn from the range found with real cameras, scanners
// and faces.
var Alterations = []Alteration{
	{"mirrored", func(s *shot, _ *rand.Rand) { s.mirror() }},
	{"grey", func(s *shot, _ *rand.Rand) { s.grey() }},
	{"scanned print", (*shot).scan},
	{"low resolution", func(s *shot, random *rand.Rand) { s.coarsen(between(random, 0.35, 0.6)) }},
	{"recompressed", func(s *shot, random *rand.Rand) { s.recompress(15 + random.IntN(25)) }},
	{"warm light", func(s *shot, random *rand.Rand) {
		s.relight(1, 1, [3]float64{between(random, 1.1, 1.3), 1, between(random, 0.65, 0.85)}, 0, random)
	}},
	{"dim light", func(s *shot, random *rand.Rand) {
		s.relight(between(random, 1.4, 1.9), 0.9, [3]float64{1, 1, 1}, between(random, 3, 8), random)
	}},
	{"side light", (*shot).sideLight},
	{"tight crop", (*shot).tighten},
	{"loose crop", (*shot).loosen},
	{"beard", (*shot).beard},
	{"glasses", (*shot).glasses},
	{"make-up", (*shot).makeUp},
	{"wrinkles", (*shot).wrinkles},
	{"glasses, beard and wrinkles", func(s *shot, random *rand.Rand) {
		s.wrinkles(random)
		s.beard(random)
		s.glasses(random)
	}},
	{"retouched skin", func(s *shot, random *rand.Rand) { s.retouch(between(random, 0.5, 0.9)) }},
	{"fringe", (*shot).fringe},
	{"hard side light", (*shot).hardLight},
	{"dense beard", (*shot).denseBeard},
	{"head scarf", (*shot).headScarf},
	{"little light", func(s *shot, random *rand.Rand) {
		s.relight(between(random, 2, 2.5), 0.9, [3]float64{1, 1, 1}, between(random, 3, 8), random)
	}},
}

func between(random *rand.Rand, low, high float64) float64 {
	return low + (high-low)*random.Float64()
}

// mirror flips the picture left to right. It does not move the landmarks.
func (s *shot) mirror() {
	draw.Draw(s.img, s.img.Rect, picture.Turned(s.img, 2), image.Point{}, draw.Src)
}

// loosen fills the border with the picture mirrored at its edge.
func (s *shot) loosen(random *rand.Rand) {
	for range 3 { // so that what follows is drawn as in the published measurements
		random.Uint64()
	}
	in := s.inner
	for y := range s.img.Rect.Dy() {
		for x := range s.img.Rect.Dx() {
			if !image.Pt(x, y).In(in) {
				s.img.SetRGBA(x, y, s.img.RGBAAt(reflected(x, in.Min.X, in.Max.X), reflected(y, in.Min.Y, in.Max.Y)))
			}
		}
	}
}

// reflected returns the place between low and high that is mirrored to v.
func reflected(v, low, high int) int {
	switch {
	case v < low:
		v = 2*low - 1 - v
	case v >= high:
		v = 2*high - 1 - v
	}
	return min(max(v, low), high-1)
}

// tighten cuts up to a tenth off each side of the picture.
func (s *shot) tighten(random *rand.Rand) {
	w, h := float64(s.inner.Dx()), float64(s.inner.Dy())
	cut := func(side float64) int { return int(side * between(random, 0.02, 0.1)) }
	keep := image.Rect(s.inner.Min.X+cut(w), s.inner.Min.Y+cut(h), s.inner.Max.X-cut(w), s.inner.Max.Y-cut(h))
	s.img, s.inner = picture.Paste(s.img.Rect, keep, s.img, keep), keep
}

// coarsen keeps only a share of the resolution.
func (s *shot) coarsen(share float64) {
	size := s.img.Rect.Size()
	small := image.NewRGBA(image.Rect(0, 0, max(1, int(float64(size.X)*share)), max(1, int(float64(size.Y)*share))))
	xdraw.BiLinear.Scale(small, small.Rect, s.img, s.img.Rect, xdraw.Src, nil)
	xdraw.ApproxBiLinear.Scale(s.img, s.img.Rect, small, small.Rect, xdraw.Src, nil)
}

// recompress encodes and decodes the picture as a JPEG of the given quality.
func (s *shot) recompress(quality int) {
	var data bytes.Buffer
	if err := jpeg.Encode(&data, s.img, &jpeg.Options{Quality: quality}); err != nil {
		panic("accuracy: a picture in memory cannot be encoded: " + err.Error())
	}
	decoded, err := jpeg.Decode(&data)
	if err != nil {
		panic("accuracy: a JPEG of this program cannot be decoded: " + err.Error())
	}
	draw.Draw(s.img, s.img.Rect, decoded, image.Point{}, draw.Src)
}

// each calls change for every pixel.
func (s *shot) each(change func(x, y int, pixel []uint8)) {
	w := s.img.Rect.Dx()
	for i := 0; i < len(s.img.Pix); i += 4 {
		change(i/4%w, i/4/w, s.img.Pix[i:i+3])
	}
}

func (s *shot) grey() {
	s.each(func(_, _ int, pixel []uint8) {
		luma := lumaOf(pixel)
		pixel[0] = luma
		pixel[1] = luma
		pixel[2] = luma
	})
}

func lumaOf(pixel []uint8) uint8 {
	return uint8((299*int(pixel[0]) + 587*int(pixel[1]) + 114*int(pixel[2])) / 1000) //nolint:gosec // at most 255
}

// scan makes the picture look like an old print: grey or brownish, low in
// contrast, soft and grainy.
func (s *shot) scan(random *rand.Rand) {
	s.coarsen(between(random, 0.5, 0.9))
	black, white := between(random, 10, 60), between(random, 190, 250)
	brown, grain := between(random, 0, 0.15), between(random, 2, 9)
	colour := max(0, between(random, -0.5, 0.5)) // some colour may be left
	s.each(func(_, _ int, pixel []uint8) {
		luma := float64(lumaOf(pixel))
		speck := grain * random.NormFloat64()
		tint := [3]float64{1 + brown/2, 1, 1 - brown}
		for c, v := range pixel {
			tone := luma + colour*(float64(v)-luma)
			pixel[c] = clampByte((black+(white-black)*tone/255)*tint[c] + speck)
		}
	})
}

// sideLight shades the picture from one side to the other.
func (s *shot) sideLight(random *rand.Rand) {
	sin, cos := math.Sincos(between(random, 0, 2*math.Pi))
	strength := between(random, 0.3, 0.7)
	w, h := float64(s.img.Rect.Dx()), float64(s.img.Rect.Dy())
	s.each(func(x, y int, pixel []uint8) {
		light := 1 + strength*(cos*(float64(x)/w-0.5)+sin*(float64(y)/h-0.5))*1.6
		for c, v := range pixel {
			pixel[c] = clampByte(float64(v) * light)
		}
	})
}

// relight changes brightness by a gamma, contrast, and the colour of the light,
// and adds camera noise of the given deviation.
func (s *shot) relight(gamma, contrast float64, gains [3]float64, noise float64, random *rand.Rand) {
	var tones [256]float64
	for v := range tones {
		tones[v] = (255*math.Pow(float64(v)/255, gamma)-128)*contrast + 128
	}
	grey := true
	s.each(func(_, _ int, pixel []uint8) { grey = grey && pixel[0] == pixel[1] && pixel[1] == pixel[2] })
	s.each(func(_, _ int, pixel []uint8) {
		grain := 0.0
		if noise > 0 {
			grain = noise * random.NormFloat64()
		}
		for c, v := range pixel {
			tone := tones[v] + grain
			if !grey {
				tone *= gains[c]
			}
			pixel[c] = clampByte(tone)
		}
	})
}

func clampByte(v float64) uint8 { return uint8(min(max(v, 0), 255)) }

// Altered is the report on a set's pictures with one alteration, to be compared
// with the report on the same pictures unaltered.
type Altered struct {
	Name      string  `json:"name"`       // of the Alteration; "as it is" for the unaltered pictures
	Measured  int     `json:"measured"`   // pictures that the page would count
	MAE       float64 `json:"mae"`        // years, over all ages
	Young     *Band   `json:"young"`      // the five ages below the target; nil without any
	FalsePass Passing `json:"false_pass"` // of the same ages
	Clear     Passing `json:"clear_pass"` // 7 to 17 years above the target
}

// Unaltered is the name of the report on the unaltered pictures.
const Unaltered = "as it is"

// EvaluateAltered processes every picture of a set unaltered and with each of
// Alterations, and reports the accuracy of the head's estimates.
func EvaluateAltered(
	ctx context.Context, analyzer vision.Analyzer, head age.Head, set []Picture, o Options, target int,
) ([]Altered, error) {
	names := []string{Unaltered}
	for _, a := range Alterations {
		names = append(names, a.Name)
	}
	found := map[string][]*Sample{} // by alteration and picture; nil where refused
	for _, name := range names {
		found[name] = make([]*Sample, len(set))
	}
	err := Each(ctx, len(set), o, func(ctx context.Context, i int) error {
		s, err := o.open(ctx, analyzer, set[i])
		if err != nil {
			return err
		}
		once := func(string) int { return 1 }
		return lookAltered(ctx, analyzer, s, i, once, func(altered string, _ int, f *vision.Features) {
			found[altered][i] = &Sample{Age: set[i].Age, Estimate: rounded(head.Estimate(f).Years)}
		})
	})
	var out []Altered
	for _, name := range names {
		out = append(out, alteredReport(name, found[name], target))
	}
	return out, err
}

// lookAltered looks at the picture with a number in its set: as it is and, if the page
// would count it, at as many copies with each of Alterations as draws says. It calls use
// with the features of each that the page would count.
func lookAltered(
	ctx context.Context, analyzer vision.Analyzer, s *shot, number int, draws func(altered string) int,
	use func(altered string, draw int, f *vision.Features),
) error {
	l, seen, err := look(ctx, analyzer, s.img)
	if err != nil || l.Features == nil {
		return err
	}
	use(Unaltered, 0, l.Features)
	s.points = seen.Landmarks
	random := rand.New(rand.NewPCG(1+uint64(number), 1)) //nolint:gosec // repeatable on purpose
	for _, a := range Alterations {
		for draw := range draws(a.Name) {
			as := s.copy()
			a.apply(as, random)
			if l, _, err = look(ctx, analyzer, as.img); err != nil {
				return err
			}
			if l.Features != nil {
				use(a.Name, draw, l.Features)
			}
		}
	}
	return nil
}

func alteredReport(name string, found []*Sample, target int) Altered {
	var samples []Sample
	for _, s := range found {
		if s != nil {
			samples = append(samples, *s)
		}
	}
	a := Altered{Name: name, Measured: len(samples), Young: bandOf(samples, target-5, target-1),
		FalsePass: passing(samples, target, target-5, target-1), Clear: passing(samples, target, target+7, target+17)}
	if len(samples) > 0 {
		a.MAE, _ = errorsOf(samples)
	}
	return a
}

// defaultMargin is the index of AGEGATE_AGE_MARGIN's default in Margins.
const defaultMargin = 2

// writeAltered prints the table as text, at the default margin.
func writeAltered(w io.Writer, all []Altered, target int) {
	young, older := span(target-5, target-1), span(target+7, target+17)
	fmt.Fprintf(w, "\nALTERED\tMEASURED\tMAE\tMAE %s\tBIAS %s\t%s PASS AT %d\t%s PASS\n", young, young, young,
		target+Margins[defaultMargin], older)
	for _, a := range all {
		fmt.Fprintf(w, "%s\t%d\t%.2f", a.Name, a.Measured, a.MAE)
		if a.Young == nil {
			fmt.Fprint(w, "\t-\t-")
		} else {
			fmt.Fprintf(w, "\t%.2f\t%+.2f", a.Young.MAE, a.Young.Bias)
		}
		for _, p := range []Passing{a.FalsePass, a.Clear} {
			fmt.Fprintf(w, "\t%s", p.Shares[defaultMargin])
		}
		fmt.Fprintln(w)
	}
}
