// Package picture reads files of pictures, and finds the face in one. The gateway itself
// sees frames of cameras only.
package picture

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"

	"agegate/internal/check/vision"

	xdraw "golang.org/x/image/draw"
)

// Errors of Find.
var (
	ErrNoFace       = errors.New("no face was found")
	ErrSeveralFaces = errors.New("several faces were found")
)

const (
	frameSide    = 640 // longer side of the detector's input, pixels
	frameQuality = 92
	// closeUp is the side, in face widths, of the square that is cut out around a small
	// face. It is cut out if the picture shows the face in more detail than the frame
	// does.
	closeUp = 2.6
	// border is the width of a border, as a share of the longer side. It is added if a
	// tightly cut face is not found without it.
	border = 0.2
)

// Find returns the features of the one face in a picture, which may be rotated by
// quarter turns. A small face is first cut out at the picture's own resolution.
// It fails with ErrNoFace or ErrSeveralFaces, or if a model failed.
func Find(ctx context.Context, analyzer vision.Analyzer, img image.Image) (*vision.Features, error) {
	return find(ctx, analyzer, img, 4)
}

// FindUpright is Find for a picture that is known to be upright, and takes less
// than half of its time.
func FindUpright(ctx context.Context, analyzer vision.Analyzer, img image.Image) (*vision.Features, error) {
	return find(ctx, analyzer, img, 1)
}

func find(ctx context.Context, analyzer vision.Analyzer, img image.Image, turns int) (*vision.Features, error) {
	failure := ErrNoFace
	for _, edge := range []float64{0, border} {
		best, turn, err := upright(ctx, analyzer, img, edge, turns)
		if err != nil && !errors.Is(err, ErrNoFace) && !errors.Is(err, ErrSeveralFaces) {
			return nil, err
		}
		if err != nil {
			failure = err
			continue
		}
		if frame, scale := fit(quarter(img, turn), edge); !best.Resolved() && scale < 1 {
			face, margin := best.Face, edge/(1+2*edge)*float64(max(frame.Bounds().Dx(), frame.Bounds().Dy()))
			face.X, face.Y = face.X-margin, face.Y-margin
			closer, err := Look(ctx, analyzer, cut(quarter(img, turn), face, scale), frameQuality)
			if err != nil {
				return nil, err
			}
			if closer.Landmarks != nil {
				best = closer
			}
		}
		return analyzer.Views(ctx, best)
	}
	return nil, failure
}

// minPresence is the mesh model's probability below which a detection is not
// a face.
const minPresence = 0.5

// upright tries the picture in the given number of rotations by quarter turns, the first
// of which is none. It returns the rotation that shows a face best. The detector alone
// is not enough, because it also finds faces that are upside down.
func upright(
	ctx context.Context, analyzer vision.Analyzer, img image.Image, edge float64, turns int,
) (best *vision.Observation, turn int, err error) {
	err = ErrNoFace
	frame, _ := fit(img, edge)
	for t := range turns {
		seen, failed := Look(ctx, analyzer, quarter(frame, t), frameQuality)
		switch {
		case failed != nil:
			return nil, 0, failed
		case seen.Guidance == vision.GuidanceSeveralFaces:
			err = ErrSeveralFaces
		case seen.Landmarks != nil && seen.Presence >= minPresence && (best == nil || seen.Presence > best.Presence):
			best, turn = seen, t
		}
	}
	if best != nil {
		err = nil
	}
	return best, turn, err
}

// Look returns what the analyzer sees in a frame, encoded as JPEG of a quality.
func Look(
	ctx context.Context, analyzer vision.Analyzer, frame image.Image, quality int,
) (*vision.Observation, error) {
	var data bytes.Buffer
	if err := jpeg.Encode(&data, frame, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	return analyzer.Analyze(ctx, data.Bytes())
}

// fit scales a picture to a frame with a grey border; scale is the factor by
// which it was reduced.
func fit(img image.Image, edge float64) (frame image.Image, scale float64) {
	size := img.Bounds().Size()
	longer := float64(max(size.X, size.Y))
	scale = min(1, frameSide/(longer*(1+2*edge)))
	margin := int(edge * longer * scale)
	inner := image.Rect(0, 0, max(1, int(float64(size.X)*scale)),
		max(1, int(float64(size.Y)*scale))).Add(image.Pt(margin, margin))
	return Paste(image.Rect(0, 0, inner.Max.X+margin, inner.Max.Y+margin), inner, img, img.Bounds()), scale
}

// cut returns the surroundings of a face at the picture's own resolution, at
// most as large as a frame. The face is in pixels of a frame made with the
// given scale.
func cut(img image.Image, face vision.Face, scale float64) image.Image {
	half := closeUp * max(face.Width, face.Height) / scale / 2
	from := img.Bounds()
	square := image.Rect(int(face.X/scale-half), int(face.Y/scale-half), int(face.X/scale+half),
		int(face.Y/scale+half)).Add(from.Min).Intersect(from)
	side := min(frameSide/2, square.Dx(), square.Dy())
	to := image.Rect(0, 0, max(1, side*square.Dx()/max(1, min(square.Dx(), square.Dy()))),
		max(1, side*square.Dy()/max(1, min(square.Dx(), square.Dy()))))
	return Paste(to, to, img, square)
}

// Paste scales a part of a picture to the place inner of a grey frame.
func Paste(frame, inner image.Rectangle, img image.Image, part image.Rectangle) *image.RGBA {
	out := image.NewRGBA(frame)
	draw.Draw(out, frame, image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	if inner.Size() == part.Size() {
		draw.Draw(out, inner, img, part.Min, draw.Over)
	} else {
		xdraw.CatmullRom.Scale(out, inner, img, part, draw.Over, nil)
	}
	return out
}

// quarter rotates a picture clockwise by quarter turns, fewer than four.
func quarter(img image.Image, turns int) image.Image { return Turned(img, []int{1, 6, 3, 8}[turns]) }
