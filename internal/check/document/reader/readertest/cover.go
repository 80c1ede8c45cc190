// Package readertest hides parts of zones in pictures, for tests.
package readertest

import (
	"image"
	"image/color"
	"image/draw"

	"agegate/internal/check/document/reader"
)

// Cover returns a copy of a picture in which all lines of a zone are covered with
// one shade, from a share of its length to another, 0 to 1. The corners are those
// of a reader.Reading.
func Cover(img *image.Gray, corners [4]reader.Point, from, to float64, shade uint8) *image.Gray {
	out := image.NewGray(img.Rect)
	draw.Draw(out, out.Rect, img, img.Rect.Min, draw.Src)
	along := reader.Point{X: corners[1].X - corners[0].X, Y: corners[1].Y - corners[0].Y}
	down := reader.Point{X: corners[3].X - corners[0].X, Y: corners[3].Y - corners[0].Y}
	area := along.X*down.Y - along.Y*down.X
	const margin = 0.2 // of the zone's height, above and below
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			dx, dy := float64(x)-corners[0].X, float64(y)-corners[0].Y
			n, depth := (dx*down.Y-dy*down.X)/area, (along.X*dy-along.Y*dx)/area
			if n >= from && n < to && depth >= -margin && depth <= 1+margin {
				out.SetGray(x, y, color.Gray{Y: shade})
			}
		}
	}
	return out
}
