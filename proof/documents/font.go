package documents

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"os"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"golang.org/x/image/vector"
)

// FontFile is OCR-B with round ends, from Debian's package fonts-ocr-b. Its
// glyphs for 8 and < use an operator (flex1) that golang.org/x/image does not
// support.
const FontFile = "/usr/share/fonts/opentype/ocr-b/OCRB.otf"

// ocrb draws characters of the zone.
type ocrb struct {
	face *font.Face
	unit float64 // units per em of the font
}

func openFont() (*ocrb, error) {
	data, err := os.ReadFile(FontFile)
	if err != nil {
		return nil, fmt.Errorf("the font OCR-B is missing: install Debian's package fonts-ocr-b (`make deps`): %w", err)
	}
	face, err := font.ParseTTF(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return &ocrb{face, float64(face.Upem())}, nil
}

// advance is the width of every glyph, in ems. At ten characters per inch, one
// advance is 2.54 mm.
const advance = 0.723

// draw draws a character whose left edge and baseline are at x, y; pitch is the
// distance to the next character, in pixels.
func (f *ocrb) draw(img *image.RGBA, char rune, x, y, pitch float64, ink color.Color) {
	glyph, ok := f.face.NominalGlyph(char)
	if !ok {
		panic(fmt.Sprintf("documents: the font has no %q", char))
	}
	outline, ok := f.face.GlyphData(glyph).(font.GlyphOutline)
	if !ok {
		panic(fmt.Sprintf("documents: the font cannot draw %q", char))
	}
	scale := pitch / advance / f.unit
	left, top := int(x)-1, int(y-pitch/advance)
	size := image.Pt(int(pitch)+4, int(1.3*pitch/advance)+2)
	raster := vector.NewRasterizer(size.X, size.Y)
	at := func(p opentype.SegmentPoint) (float32, float32) {
		return float32(x + float64(p.X)*scale - float64(left)), float32(y - float64(p.Y)*scale - float64(top))
	}
	for _, s := range outline.Segments {
		ax, ay := at(s.Args[0])
		bx, by := at(s.Args[1])
		cx, cy := at(s.Args[2])
		switch s.Op {
		case opentype.SegmentOpMoveTo:
			raster.ClosePath()
			raster.MoveTo(ax, ay)
		case opentype.SegmentOpLineTo:
			raster.LineTo(ax, ay)
		case opentype.SegmentOpQuadTo:
			raster.QuadTo(ax, ay, bx, by)
		case opentype.SegmentOpCubeTo:
			raster.CubeTo(ax, ay, bx, by, cx, cy)
		}
	}
	raster.ClosePath()
	raster.Draw(img, image.Rectangle{Max: size}.Add(image.Pt(left, top)), image.NewUniform(ink), image.Point{})
}
