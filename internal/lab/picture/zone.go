package picture

import (
	"image"
	"image/draw"
	"math"
	"time"

	"agegate/internal/check/document/reader"

	xdraw "golang.org/x/image/draw"
)

// sides are lengths in pixels. The longer side of a picture is scaled to each of them
// in turn, until a valid zone is read.
var sides = []float64{1280, 1900, 900, 2700}

// largest is the maximum factor by which a small picture is enlarged.
const largest = 2.2

// Zone looks for a zone in a picture of any size, in several sizes. It takes longer than
// Read, which is meant for the frames of a camera.
func Zone(r *reader.Reader, img image.Image, now time.Time) (best reader.Reading) {
	grey := reader.Grey(img)
	longer := float64(max(grey.Rect.Dx(), grey.Rect.Dy()))
	last := 0.0
	for _, side := range sides {
		scale := min(side/longer, largest)
		if scale > 1 && scale < 1.15 || scale > 1 && longer >= 1280 {
			scale = 1
		}
		if scale == last {
			continue
		}
		last = scale
		reading := r.Read(resize(grey, scale), now)
		reading.Pitch /= scale
		for i := range reading.Corners {
			reading.Corners[i].X /= scale
			reading.Corners[i].Y /= scale
		}
		if reading.Better(best) {
			best = reading
		}
		if best.Valid {
			break
		}
	}
	return best
}

func resize(img *image.Gray, scale float64) *image.Gray {
	if scale == 1 {
		return img
	}
	size := img.Rect.Size()
	out := image.NewGray(image.Rect(0, 0, max(1, int(math.Round(float64(size.X)*scale))),
		max(1, int(math.Round(float64(size.Y)*scale)))))
	xdraw.BiLinear.Scale(out, out.Rect, img, img.Rect, draw.Src, nil)
	return out
}
