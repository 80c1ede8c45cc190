package reader

import (
	"image"
	"image/draw"
)

// Grey returns the brightness of a picture, with its origin at the upper left
// corner. It shares the memory of a decoded JPEG.
func Grey(img image.Image) *image.Gray {
	switch img := img.(type) {
	case *image.Gray:
		if img.Rect.Min == (image.Point{}) {
			return img
		}
	case *image.YCbCr:
		if img.Rect.Min == (image.Point{}) {
			return &image.Gray{Pix: img.Y, Stride: img.YStride, Rect: img.Rect}
		}
	}
	from := img.Bounds()
	grey := image.NewGray(image.Rectangle{Max: from.Size()})
	draw.Draw(grey, grey.Rect, image.White, image.Point{}, draw.Src) // white behind transparent pixels
	draw.Draw(grey, grey.Rect, img, from.Min, draw.Over)
	return grey
}
