package picture

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"
)

// TestDecode: a file that is cut short is refused.
func TestDecode(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, image.NewGray(image.Rect(0, 0, 64, 64)), nil); err != nil {
		t.Fatal(err)
	}
	good := out.Bytes()
	if img, err := Decode(good); err != nil || img.Bounds().Dx() != 64 {
		t.Error(img, err)
	}
	if img, err := Decode(good[:len(good)-8]); err == nil {
		t.Errorf("cut short: %v", img.Bounds())
	}
}
