package documents

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/math/fixed"
)

// Other renders a picture without a machine-readable zone: in turn, a page of
// text in evenly spaced or typewriter letters, a form full of digits, and
// barcodes with their numbers.
func Other(i int, seed uint64) ([]byte, error) {
	random := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // repeatable on purpose
	p := &page{img: image.NewRGBA(image.Rect(0, 0, 105*perMM, 80*perMM)), width: 105, height: 80}
	p.zone = [4]point{{30, 30}, {75, 30}, {75, 50}, {30, 50}} // the part that every frame must show
	paint(p.img, random, 0.1*random.Float64())
	kinds := []func(*page, *rand.Rand) error{prose, typed, form, barcodes}
	if err := kinds[i%len(kinds)](p, random); err != nil {
		return nil, err
	}
	ease := Eases[random.IntN(len(Eases))]
	v := p.view(ease, 360*random.Float64(), random)
	frame := v.take(p, table(random))
	light(frame, ease, v, p, random)
	return finish(frame, ease, random)
}

func prose(p *page, random *rand.Rand) error {
	return letters(p, random, goregular.TTF, "etaoinshrdlucmfwypvbgkjqxz     ETAOINS,.", 2+3*random.Float64())
}

// typed is the hardest kind: evenly spaced letters and fillers in another font.
func typed(p *page, random *rand.Rand) error {
	return letters(p, random, gomono.TTF, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<<<<<<", 2.5+2*random.Float64())
}

func form(p *page, random *rand.Rand) error {
	return letters(p, random, gomono.TTF, "0123456789 0123456789 .,-/", 2+3*random.Float64())
}

// letters fills the page with lines of random letters.
func letters(p *page, random *rand.Rand, ttf []byte, from string, size float64) error {
	face, err := textFace(ttf, size*perMM)
	if err != nil {
		return err
	}
	spacing := size * (1.2 + random.Float64())
	for y := 2 * size; y < p.height; y += spacing {
		var text strings.Builder
		for range 120 {
			text.WriteByte(from[random.IntN(len(from))])
		}
		d := font.Drawer{Dst: p.img, Src: image.NewUniform(color.Gray{30}), Face: face, Dot: fixed.P(4*perMM, int(y*perMM))}
		d.DrawString(text.String())
	}
	return nil
}

// barcodes draws bars of random widths with digits below them.
func barcodes(p *page, random *rand.Rand) error {
	face, err := textFace(gomono.TTF, 3*perMM)
	if err != nil {
		return err
	}
	for y := 4.0; y < p.height-16; y += 20 {
		module := 0.25 + 0.5*random.Float64()
		for x := 5.0; x < p.width-8; {
			wide := module * float64(1+random.IntN(4))
			bar := image.Rect(int(x*perMM), int(y*perMM), int((x+wide)*perMM), int((y+10)*perMM))
			draw.Draw(p.img, bar, image.NewUniform(color.Gray{20}), image.Point{}, draw.Src)
			x += wide + module*float64(1+random.IntN(4))
		}
		d := font.Drawer{Dst: p.img, Src: image.Black, Face: face, Dot: fixed.P(10*perMM, int((y+13.5)*perMM))}
		d.DrawString(fmt.Sprintf("%013d  <<%09d<<<<", random.Int64N(1e13), random.IntN(1e9)))
	}
	return nil
}
