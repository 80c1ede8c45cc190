package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // formats of scanners and phones
	"image/jpeg"
	_ "image/png" //
	"os"

	_ "golang.org/x/image/bmp"  // formats of scanners and phones
	_ "golang.org/x/image/tiff" //
	_ "golang.org/x/image/webp" //
)

// maxPixels bounds the decoded size of one picture.
const maxPixels = 100_000_000

// Errors of Decode. They continue the name of a file.
var (
	ErrNotAPicture = errors.New("is not a picture that can be read (JPEG, PNG, GIF, WebP, BMP or TIFF)")
	ErrTooLarge    = fmt.Errorf("is larger than %d megapixels", maxPixels/1_000_000)
)

// Open decodes the picture in a file, as Decode does. An error names the file.
func Open(path string) (image.Image, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	img, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return img, nil
}

// Decode decodes a file in any of these formats. image.Decode would use the fast decoder
// of frames; Decode does not, and refuses a JPEG that is cut short. It fails with
// ErrNotAPicture or ErrTooLarge.
func Decode(data []byte) (img image.Image, err error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil || config.Width < 1 || config.Height < 1:
		return nil, ErrNotAPicture
	case config.Width > maxPixels/config.Height:
		return nil, ErrTooLarge
	case bytes.HasPrefix(data, []byte{0xff, 0xd8}):
		img, err = jpeg.Decode(bytes.NewReader(data))
	default:
		img, _, err = image.Decode(bytes.NewReader(data))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotAPicture, err)
	}
	return img, nil
}

// Turned turns a picture upright by its EXIF orientation, 1 to 8.
func Turned(img image.Image, orientation int) image.Image {
	if orientation == 1 {
		return img
	}
	from := img.Bounds()
	w, h := from.Dx(), from.Dy()
	sideways := orientation >= 5
	size := image.Pt(w, h)
	if sideways {
		size = image.Pt(h, w)
	}
	out := image.NewRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			u, v := x, y // where this pixel comes from in the stored picture
			if sideways {
				u, v = y, x
			}
			if orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8 {
				u = w - 1 - u
			}
			if orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7 {
				v = h - 1 - v
			}
			out.Set(x, y, img.At(from.Min.X+u, from.Min.Y+v))
		}
	}
	return out
}
