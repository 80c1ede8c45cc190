package brand

import (
	"bytes"
	"image"
	_ "image/jpeg" // a format of uploads
	"image/png"

	"agegate/internal/rules/fault"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // a format of uploads
)

// MaxLogoBytes is the most that an uploaded logo may weigh.
const MaxLogoBytes = 256 << 10

const (
	maxPixels = 4 << 20 // decoded: 16 MiB
	// A logo is shown at most 160 by 40 CSS pixels; the sharpest screens have
	// three pixels for each.
	maxWidth, maxHeight = 480, 120
)

// What Logo refuses.
var (
	ErrLogoSize   = fault.New(fault.Invalid, "brand logo must be at most 256 KiB and 4 megapixels")
	ErrLogoFormat = fault.New(fault.Invalid, "brand logo must be a PNG, JPEG or WebP picture")
)

// decoding bounds how many pictures are decoded at once: each takes up to 16 MiB.
var decoding = make(chan struct{}, 2)

// Logo decodes an uploaded picture and returns it as a PNG of at most 480 by
// 120 pixels, which holds nothing of the upload but its pixels. It returns
// ErrLogoSize or ErrLogoFormat for a file that is too large or no PNG, JPEG or
// WebP. It waits while others are decoded.
func Logo(upload []byte) ([]byte, error) {
	if len(upload) > MaxLogoBytes {
		return nil, ErrLogoSize
	}
	// The size is read first: a small file may declare an enormous picture.
	header, format, err := image.DecodeConfig(bytes.NewReader(upload))
	switch {
	case err != nil, format != "png" && format != "jpeg" && format != "webp":
		return nil, ErrLogoFormat
	case header.Width <= 0 || header.Height <= 0 || header.Width > maxPixels/header.Height:
		return nil, ErrLogoSize
	}
	decoding <- struct{}{}
	defer func() { <-decoding }()
	picture, _, err := image.Decode(bytes.NewReader(upload))
	if err != nil {
		return nil, ErrLogoFormat
	}
	var encoded bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&encoded, fitted(picture)); err != nil {
		return nil, err
	}
	return encoded.Bytes(), nil
}

// fitted returns a copy of the picture, made smaller where it is too large.
func fitted(picture image.Image) image.Image {
	from := picture.Bounds()
	scale := min(1, float64(maxWidth)/float64(from.Dx()), float64(maxHeight)/float64(from.Dy()))
	to := image.Rect(0, 0, max(1, int(float64(from.Dx())*scale)), max(1, int(float64(from.Dy())*scale)))
	out := image.NewNRGBA(to)
	draw.CatmullRom.Scale(out, to, picture, from, draw.Src, nil)
	return out
}
