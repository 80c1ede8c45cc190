package picture

import (
	"bytes"
	"image"
	"image/jpeg"
)

// Decode decodes a file in any format that the program imports. image.Decode would use
// the fast decoder of frames; Decode does not, and refuses a JPEG that is cut short.
func Decode(data []byte) (image.Image, error) {
	if bytes.HasPrefix(data, []byte{0xff, 0xd8}) {
		return jpeg.Decode(bytes.NewReader(data))
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	return img, err
}
