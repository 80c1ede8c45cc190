package main

import (
	"fmt"
	"image"
	"os"
	"path/filepath"

	"agegate/internal/check/document/mrz"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// fontName is OCR-B with sharp ends. The measurements use the font with round
// ends, which the training does not see. golang.org/x/image can draw all of its
// characters.
const fontName = "OCRBS.otf"

// master is the pitch, in pixels, at which each character is drawn once. Each
// master is three pitches wide and high, with its character in the middle.
const (
	master     = 48
	masterSide = 3 * master
	capital    = 0.986 // height of a capital letter of OCR-B, in pitches
	advance    = 0.723 // pitch of OCR-B, in ems
)

// fontSet holds the masters: the share of each pixel that ink covers, slightly
// softened, so that another threshold makes the strokes bolder or lighter.
type fontSet struct {
	chars  [len(mrz.Alphabet)][]float32
	others [][]float32 // characters of other fonts
}

// openFont reads OCR-B.
func openFont() (*fontSet, error) {
	path := filepath.Join("/usr/share/fonts/opentype/ocr-b", fontName)
	data, err := os.ReadFile(path) //nolint:gosec // a constant
	if err != nil {
		return nil, fmt.Errorf("the font OCR-B is missing: install Debian's package fonts-ocr-b (`make deps`): %w", err)
	}
	return newFontSet(data)
}

// newFontSet draws the masters of a font's characters.
func newFontSet(data []byte) (*fontSet, error) {
	set := new(fontSet)
	chars, err := draw(data, mrz.Alphabet, master/advance, capital*master)
	if err != nil {
		return nil, err
	}
	copy(set.chars[:], chars)
	for _, other := range [][]byte{goregular.TTF, gobold.TTF, gomono.TTF} {
		for _, size := range []float64{0.9, 1.2, 1.5} {
			chars, err := draw(other, "ABDEGHKMNRSTabdeghkmnprstuvy0123456789./-&%()|", size*master, 0.72*size*master)
			if err != nil {
				return nil, err
			}
			set.others = append(set.others, chars...)
		}
	}
	return set, nil
}

// draw draws each character so that the middle of a capital letter of the given
// height is in the middle of the master.
func draw(ttf []byte, text string, size, height float64) ([][]float32, error) {
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		return nil, err
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		return nil, err
	}
	var masters [][]float32
	for _, char := range text {
		wide, ok := face.GlyphAdvance(char)
		if !ok {
			return nil, fmt.Errorf("the font has no %q", char)
		}
		img := image.NewAlpha(image.Rect(0, 0, masterSide, masterSide))
		d := font.Drawer{Dst: img, Src: image.Opaque, Face: face, Dot: fixed.Point26_6{
			X: fixed.I(masterSide)/2 - wide/2,
			Y: fixed.I(masterSide)/2 + fixed.Int26_6(height/2*64),
		}}
		d.DrawString(string(char))
		masters = append(masters, soften(img))
	}
	return masters, nil
}

// soften blurs a drawing with a tent of five pixels in both directions.
func soften(img *image.Alpha) []float32 {
	kernel := [5]float32{1.0 / 9, 2.0 / 9, 3.0 / 9, 2.0 / 9, 1.0 / 9}
	from := make([]float32, masterSide*masterSide)
	for i, v := range img.Pix {
		from[i] = float32(v) / 255
	}
	for _, step := range []int{1, masterSide} {
		to := make([]float32, len(from))
		for i := 2 * step; i < len(from)-2*step; i++ {
			for k, weight := range kernel {
				to[i] += weight * from[i+(k-2)*step]
			}
		}
		from = to
	}
	return from
}
