package documents

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"

	"agegate/internal/check/document/mrz"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// layout is the layout of a kind of document, in mm (Doc 9303 parts 4 to 7).
type layout struct {
	width, height float64
	left          float64 // of the zone's first character
	bottom        between // from the last baseline to the lower edge
	spacing       between // from one line of the zone to the next
}

const pitchMM = 2.54 // width of the zone's characters: ten per inch

var layouts = map[mrz.Format]layout{
	mrz.TD1:  {85.6, 54, 4, between{3.5, 5}, between{4.2, 5.2}},
	mrz.TD2:  {105, 74, 4, between{5, 8}, between{4.2, 6.4}},
	mrz.TD3:  {125, 88, 6, between{5, 8}, between{4.2, 6.4}},
	mrz.MRVA: {120, 80, 4, between{5, 8}, between{4.2, 6.4}},
	mrz.MRVB: {105, 74, 4, between{5, 8}, between{4.2, 6.4}},
}

// perMM is the resolution of a drawn page, in pixels.
const perMM = 12

// page is a document lying flat.
type page struct {
	img           *image.RGBA
	width, height float64  // mm
	zone          [4]point // corners of the zone, mm
}

// Content is the text on a document.
type Content struct {
	Format   mrz.Format
	Lines    []string    // of the zone
	Portrait image.Image // nil for a grey figure
	Front    bool        // the side of a card that shows the portrait, without the zone
}

// Renderer draws documents. Only one goroutine may use it at a time.
type Renderer struct {
	zone        *ocrb
	small, bold font.Face
}

// NewRenderer reads the fonts; it fails if OCR-B is not installed.
func NewRenderer() (*Renderer, error) {
	zone, err := openFont()
	if err != nil {
		return nil, err
	}
	small, err := textFace(goregular.TTF, 2.6*perMM)
	if err != nil {
		return nil, err
	}
	bold, err := textFace(gobold.TTF, 4*perMM)
	return &Renderer{zone, small, bold}, err
}

func textFace(ttf []byte, size float64) (font.Face, error) {
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		return nil, err
	}
	return opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72})
}

// page draws a document with the given darkness of ink and contrast of the
// background's lines.
func (r *Renderer) page(c Content, ink, guilloche float64, random *rand.Rand) *page {
	form := layouts[c.Format]
	p := &page{img: image.NewRGBA(image.Rect(0, 0, int(form.width*perMM), int(form.height*perMM))), width: form.width,
		height: form.height}
	paint(p.img, random, guilloche)
	r.write(p.img, random)
	p.portrait(c.Portrait, random)
	if c.Front {
		p.zone = [4]point{{0, 0}, {form.width, 0}, {form.width, form.height}, {0, form.height}}
		return p
	}
	spacing, bottom := form.spacing.draw(random), form.height-form.bottom.draw(random)
	grey := uint8(255 * (1 - ink) * 0.7)
	black := color.RGBA{grey, grey, grey, 255}
	for l, line := range c.Lines {
		y := bottom - spacing*float64(len(c.Lines)-1-l)
		for i, char := range line {
			r.zone.draw(p.img, char, (form.left+pitchMM*float64(i))*perMM, y*perMM, pitchMM*perMM, black)
		}
	}
	right := form.left + pitchMM*float64(len(c.Lines[0]))
	top := bottom - spacing*float64(len(c.Lines)-1) - pitchMM
	p.zone = [4]point{{form.left, top}, {right, top}, {right, bottom}, {form.left, bottom}}
	return p
}

// paint fills the page with a pale colour and interwoven lines.
func paint(img *image.RGBA, random *rand.Rand, guilloche float64) {
	base := [3]float64{225 + 25*random.Float64(), 225 + 25*random.Float64(), 220 + 25*random.Float64()}
	var waves [3][4]float64
	for i := range waves {
		waves[i] = [4]float64{(random.Float64() - 0.5) * 0.5, (random.Float64() - 0.5) * 0.5, 20 + 40*random.Float64(),
			0.01 + 0.03*random.Float64()}
	}
	size := img.Rect.Size()
	for y := range size.Y {
		for x := range size.X {
			fx, fy := float64(x), float64(y)
			var lines float64
			for _, w := range waves {
				// A sine wave along a line that another sine wave bends: fine
				// lines.
				s := math.Sin(w[0]*fx + w[1]*fy + w[2]/10*math.Sin(w[3]*(fx-fy)))
				lines += s * s * s * s * s * s
			}
			dark := 1 - guilloche*min(lines, 1)
			at := img.PixOffset(x, y)
			img.Pix[at], img.Pix[at+1], img.Pix[at+2], img.Pix[at+3] = uint8(base[0]*dark), uint8(base[1]*dark),
				uint8(base[2]*(0.7+0.3*dark)), 255
		}
	}
}

// write writes words above the zone, as on a real document.
func (r *Renderer) write(img *image.RGBA, random *rand.Rand) {
	words := func(n int) string {
		var text []byte
		for range n {
			text = append(text, "ABCDEFGHIJKLMNOPRSTUVWZ abcdefghijklmnoprstuvw 0123456789./"[random.IntN(59)])
		}
		return string(text)
	}
	dark := image.NewUniform(color.RGBA{40, 40, 70, 255})
	label(img, r.bold, dark, words(18), 0.35, 0.1)
	for row := range 5 {
		y := 0.2 + 0.09*float64(row)
		label(img, r.small, dark, words(8+random.IntN(10)), 0.36, y)
		label(img, r.small, dark, words(6+random.IntN(14)), 0.66, y)
	}
}

// label writes text from a point given as fractions of the image.
func label(img *image.RGBA, face font.Face, ink image.Image, text string, x, y float64) {
	size := img.Rect.Size()
	d := font.Drawer{Dst: img, Src: ink, Face: face, Dot: fixed.P(int(x*float64(size.X)), int(y*float64(size.Y)))}
	d.DrawString(text)
}

// portrait places the picture of the holder, or a grey figure.
func (p *page) portrait(face image.Image, random *rand.Rand) {
	size := p.img.Rect.Size()
	place := image.Rect(size.X*5/100, size.Y*12/100, size.X*31/100, size.Y*64/100)
	if face != nil {
		xdraw.CatmullRom.Scale(p.img, place, face, upright(face.Bounds(), place.Size()), draw.Src, nil)
		return
	}
	draw.Draw(p.img, place, image.NewUniform(color.Gray{uint8(170 + 50*random.Float64())}), image.Point{}, draw.Src)
	skin := uint8(90 + 120*random.Float64())
	cx, cy, w := float64(place.Min.X+place.Max.X)/2, float64(place.Min.Y)+0.45*float64(place.Dy()),
		0.28*float64(place.Dx())
	for y := place.Min.Y; y < place.Max.Y; y++ {
		for x := place.Min.X; x < place.Max.X; x++ {
			dx, dy := (float64(x)-cx)/w, (float64(y)-cy)/(1.4*w)
			bx, by := (float64(x)-cx)/(1.7*w), (float64(y)-cy-3.1*w)/(1.5*w)
			if dx*dx+dy*dy < 1 || bx*bx+by*by < 1 {
				p.img.SetRGBA(x, y, color.RGBA{skin, skin - skin/8, skin - skin/5, 255})
			}
		}
	}
}

// upright returns the middle part of a picture, in the proportions of another, so
// that a face is not distorted.
func upright(from image.Rectangle, form image.Point) image.Rectangle {
	width := min(from.Dx(), from.Dy()*form.X/form.Y)
	height := min(from.Dy(), from.Dx()*form.Y/form.X)
	at := from.Min.Add(from.Size().Sub(image.Pt(width, height)).Div(2))
	return image.Rectangle{Min: at, Max: at.Add(image.Pt(width, height))}
}
