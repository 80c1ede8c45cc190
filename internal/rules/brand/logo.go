package brand

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"agegate/internal/rules/fault"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// MaxLogoBytes is the maximum size of an uploaded logo, in bytes.
const MaxLogoBytes = 256 << 10

const (
	maxPixels = 4 << 20 // decoded: 16 MiB
	// A logo is shown at most 160 by 40 CSS pixels; the sharpest screens have
	// three pixels for each.
	maxWidth, maxHeight = 480, 120
)

// The errors of Logo.
var (
	ErrLogoSize   = fault.New(fault.Invalid, "brand logo must be at most 256 KiB and 4 megapixels")
	ErrLogoFormat = fault.New(fault.Invalid, "brand logo must be a PNG, JPEG or WebP picture")
)

// maxScans is the maximum number of scans in a JPEG; programs write about ten.
// Each scan takes only a few bytes but needs a pass over the whole picture: a
// file of the maximum size with as many scans as possible took 21 seconds.
const maxScans = 32

// decoders has the formats of uploads. image.Decode could use another decoder that
// some package registers, with other limits.
var decoders = map[string]func(io.Reader) (image.Image, error){"png": png.Decode, "jpeg": jpeg.Decode,
	"webp": webp.Decode}

// Logo decodes an uploaded picture and returns it as a PNG of at most 480 by
// 120 pixels, which holds nothing of the upload but its pixels. It returns
// ErrLogoSize or ErrLogoFormat for a file that is too large or no PNG, JPEG or
// WebP. It takes up to 16 MiB and some tenths of a second, so the caller bounds how
// many run at once.
func Logo(upload []byte) ([]byte, error) {
	if len(upload) > MaxLogoBytes {
		return nil, ErrLogoSize
	}
	// The size is read first: a small file may declare a huge picture.
	header, format, err := image.DecodeConfig(bytes.NewReader(upload))
	switch {
	case err != nil, decoders[format] == nil:
		return nil, ErrLogoFormat
	case format == "jpeg" && scans(upload) > maxScans:
		return nil, ErrLogoFormat
	case header.Width <= 0 || header.Height <= 0 || header.Width > maxPixels/header.Height:
		return nil, ErrLogoSize
	}
	picture, err := decoders[format](bytes.NewReader(upload))
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

// scans returns an upper limit for the number of scans in a JPEG. In compressed data,
// 0xff is followed by zero or by a marker. Other occurrences are only in comments and
// similar parts, such as a camera's small preview.
func scans(jpeg []byte) int { return bytes.Count(jpeg, []byte{0xff, 0xda}) }

// fitted returns a copy of the picture, scaled down if it is too large.
func fitted(picture image.Image) image.Image {
	from := picture.Bounds()
	scale := min(1, float64(maxWidth)/float64(from.Dx()), float64(maxHeight)/float64(from.Dy()))
	to := image.Rect(0, 0, max(1, int(float64(from.Dx())*scale)), max(1, int(float64(from.Dy())*scale)))
	out := image.NewNRGBA(to)
	draw.CatmullRom.Scale(out, to, picture, from, draw.Src, nil)
	return out
}
