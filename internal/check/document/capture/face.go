package capture

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math"

	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/vision"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

// outline is the place of a machine-readable zone in a picture.
type outline struct {
	format  mrz.Format
	corners [4]reader.Point // as in reader.Reading
}

// frameSide is the longer side of the picture in which the portrait is looked for, in pixels.
const frameSide = 512

// part is a rectangle on a document, in mm from the upper left corner of its zone.
type part struct{ left, top, right, bottom float64 }

// portraits are the places where documents carry the portrait next to the zone, with some margin (Doc 9303 parts 4 and
// 6: zone V). Other faces, such as a second, pale portrait, are to the right of it.
var portraits = map[mrz.Format]part{
	mrz.TD3: {-9, -72, 56, 3},
	mrz.TD2: {-8, -60, 50, 3},
}

// Limits of a portrait.
const (
	pitchMM    = 2.54 // distance of the zone's characters: ten to the inch
	minWidth   = 8.0  // width of the face, mm
	maxWidth   = 45.0
	minPixels  = 56.0 // width of the face in the frame, pixels; a smaller face says little about the person
	minPresent = 0.5  // the mesh model's probability of a face
	maxOutside = 0.1  // share of the part that may lie outside of the frame
)

// samePortrait is the minimum similarity of one portrait in two frames. Similarity is
// the cosine of the descriptors by which package liveness compares faces.
const samePortrait = 0.8

// faceBeside looks for the portrait on the side of the document that shows the zone. If
// it finds none, it returns nil, and a hint if it knows the reason.
func faceBeside(
	ctx context.Context, analyzer vision.Analyzer, img image.Image, r outline,
) (*vision.Features, Hint, error) {
	c := r.corners
	alongX, alongY := (c[1].X-c[0].X+c[2].X-c[3].X)/2, (c[1].Y-c[0].Y+c[2].Y-c[3].Y)/2
	mm := math.Hypot(alongX, alongY) / (pitchMM * float64(r.format.Length())) // pixels per millimetre
	sin, cos := math.Sincos(math.Atan2(alongY, alongX))
	p := portraits[r.format]
	place := func(x, y float64) (float64, float64) {
		return c[0].X + mm*(x*cos-y*sin), c[0].Y + mm*(x*sin+y*cos)
	}
	if outside(img.Bounds().Size(), p, place) > maxOutside {
		return nil, Further, nil
	}
	scale := frameSide / max(p.right-p.left, p.bottom-p.top) // of the cut picture, pixels per millimetre
	frame := cut(img, p, place, mm, sin, cos, scale)
	o, err := look(ctx, analyzer, frame)
	if err != nil {
		return nil, NoHint, err
	}
	if o.Landmarks == nil || o.Presence < minPresent || o.Face.Width < minWidth*scale || o.Face.Width > maxWidth*scale {
		return nil, HoldStill, nil
	}
	if o.Face.Width/scale*mm < minPixels {
		return nil, Closer, nil
	}
	f, err := analyzer.Views(ctx, o)
	return f, NoHint, err
}

// outside returns the share of a part's corners and edge middles that lie outside the frame.
func outside(size image.Point, p part, place func(x, y float64) (float64, float64)) float64 {
	const steps = 8
	missed := 0
	for i := range steps {
		for k := range steps {
			x, y := place(p.left+(p.right-p.left)*(float64(i)+0.5)/steps, p.top+(p.bottom-p.top)*(float64(k)+0.5)/steps)
			if x < 0 || y < 0 || x >= float64(size.X) || y >= float64(size.Y) {
				missed++
			}
		}
	}
	return float64(missed) / steps / steps
}

// cut renders a part of the document upright.
func cut(
	img image.Image, p part, place func(x, y float64) (float64, float64), mm, sin, cos, scale float64,
) image.Image {
	frame := grey(image.Rect(0, 0, int(scale*(p.right-p.left)), int(scale*(p.bottom-p.top))))
	x, y := place(p.left, p.top)
	k := scale / mm
	at := img.Bounds().Min
	x, y = x+float64(at.X), y+float64(at.Y)
	toFrame := f64.Aff3{k * cos, k * sin, -k * (cos*x + sin*y), -k * sin, k * cos, k * (sin*x - cos*y)}
	xdraw.BiLinear.Transform(frame, toFrame, img, img.Bounds(), draw.Src, nil)
	return frame
}

func grey(r image.Rectangle) *image.RGBA {
	frame := image.NewRGBA(r)
	draw.Draw(frame, r, image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	return frame
}

// faceAlone looks for the portrait on a side without a zone. The side is rotated
// clockwise by the given number of quarter turns first.
func faceAlone(
	ctx context.Context, analyzer vision.Analyzer, img image.Image, turn int,
) (*vision.Features, Hint, error) {
	size := img.Bounds().Size()
	k := min(1, 1.25*frameSide/float64(max(size.X, size.Y)))
	w, h := k*float64(size.X), k*float64(size.Y)
	at := img.Bounds().Min
	x, y := float64(at.X), float64(at.Y)
	var toFrame f64.Aff3
	frame := image.Rect(0, 0, max(1, int(w)), max(1, int(h)))
	switch turn {
	case 0:
		toFrame = f64.Aff3{k, 0, -k * x, 0, k, -k * y}
	case 1:
		toFrame = f64.Aff3{0, -k, h + k*y, k, 0, -k * x}
		frame = image.Rect(0, 0, max(1, int(h)), max(1, int(w)))
	case 2:
		toFrame = f64.Aff3{-k, 0, w + k*x, 0, -k, h + k*y}
	default:
		toFrame = f64.Aff3{0, k, -k * y, -k, 0, w + k*x}
		frame = image.Rect(0, 0, max(1, int(h)), max(1, int(w)))
	}
	picture := grey(frame)
	xdraw.BiLinear.Transform(picture, toFrame, img, img.Bounds(), draw.Src, nil)
	o, err := look(ctx, analyzer, picture)
	if err != nil || o.Landmarks == nil || o.Presence < minPresent {
		return nil, TurnOver, err
	}
	if o.Face.Width/k < minPixels || o.Face.Width < minPixels {
		return nil, Closer, nil
	}
	f, err := analyzer.Views(ctx, o)
	return f, NoHint, err
}

func look(ctx context.Context, analyzer vision.Analyzer, frame image.Image) (*vision.Observation, error) {
	const quality = 92
	var data bytes.Buffer
	if err := jpeg.Encode(&data, frame, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	return analyzer.Analyze(ctx, data.Bytes())
}

// quarters returns the number of clockwise quarter turns that bring the zone upright.
func quarters(r outline) int {
	c := r.corners
	angle := math.Atan2(c[1].Y-c[0].Y, c[1].X-c[0].X)
	return int(math.Round(-angle/(math.Pi/2))+4) % 4
}
